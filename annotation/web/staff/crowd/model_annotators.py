"""The page of a campaign's model annotators: people's verdicts on their boxes, adding one, and training one
now."""

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotation.campaigns import model_annotators
from annotation.campaigns.training import model_addresses, training_records
from annotation.common.roles import RESEARCHER
from annotation.jobs.registry import every_job_kind
from annotation.models import Campaign
from annotation.protocol.answer_times import DRAWING_SECONDS, LOOKING_SECONDS
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import model_kinds
from annotation.selectors.model_annotators.reports import model_annotator_reports
from annotation.selectors.model_annotators.saving_report import model_annotator_saving
from annotation.selectors.workers.trust_labels import WORKER_STATE_LABELS
from annotation.web.common.access import for_roles_on
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, act_form, campaign_frame


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def model_annotator_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List the model annotators of a campaign, the newest first."""
    settings = settings_of(campaign.settings).model_annotator
    reports = model_annotator_reports(campaign)
    saving = model_annotator_saving(campaign, reports)
    addresses = model_addresses.address_states(campaign)
    return render(
        request,
        "annotation/staff/model_annotators.html",
        campaign_frame(
            request,
            campaign,
            "workers",
            model_annotators=[
                (
                    report,
                    WORKER_STATE_LABELS.get(report.state, report.state),
                    source_in_words(report.source),
                    addresses.get(report.name),
                )
                for report in reports
            ],
            settings=settings,
            saving=saving if any(report.judged for report in reports) else None,
            drawing_seconds=DRAWING_SECONDS,
            saved_rows=list(zip(LOOKING_SECONDS, saving.shares, strict=True)),
            answers=bool(model_kinds(campaign.kinds)),
            finished=training_records.count_training_images(campaign),
            can_train=model_annotators.TRAIN_JOB in every_job_kind(),
            add=act_form(request, "add_model_annotator", ids="new-%s"),
        ),
    )


def source_in_words(source: str) -> str:
    """Return the source of a model annotator's last training, which is stored in English, in the reader's
    language."""
    if match := re.fullmatch(r"(\d+) finished images(?:, from proposer (\S+) on)?", source):
        images, proposer = int(match[1]), match[2]
        images_text = ngettext("%(number)s finished image", "%(number)s finished images", images) % {
            "number": number_format(images, force_grouping=True)
        }
        if not proposer:
            return images_text
        return _("%(images)s, from proposer %(proposer)s on") % {"images": images_text, "proposer": proposer}
    if match := re.fullmatch(r"(proposer|file) (.+)", source):
        what = _("proposer %(name)s") if match[1] == "proposer" else _("file %(name)s")
        return what % {"name": match[2]}
    return source
