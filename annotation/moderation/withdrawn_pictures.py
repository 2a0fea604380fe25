"""Withdraw a picture, for example because a person in it objects: delete it and everything that shows it.

The picture is identified by its bytes, so it is removed from every corpus that has it: its file and its
thumbnail, the tasks that show it, the leases on them, control items about it, and exports that may contain
it. Captions, answers and layers stay. Its questions are not asked again: the open image stores in
`state["withdrawn"]` a list of keys of tasks, or "*" for all. The name is recorded first, in a list that a
restored backup is compared with. At the end, with the campaigns and the images locked, tasks that were opened
meanwhile are ended, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import OperationContext, result_of
from annotation.common.roles import ADMIN, RESEARCHER, REVIEWER, WHOLE_SERVER
from annotation.datasets import archives
from annotation.datasets.contents.images import ImageRequest
from annotation.images import pictures, withdrawn
from annotation.models import Account, Campaign, Control, Corpus, Image, Item, Job, OpenImage, Task
from annotation.moderation.control_items import lock_campaigns
from annotation.protocol.kinds import is_page
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import image_state, leases
from annotation.selectors.corpora import CORPORA
from phrasebox.errors import PhraseboxError

#: The key for all tasks of an open image.
ALL_TASKS = image_state.ALL_WITHDRAWN


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawPictureRequest(ImageRequest):
    """This is irreversible: the picture's file and thumbnail are deleted, with open tasks that show it,
    control items about it, and exports of its corpora. Every corpus that has the same picture loses it.
    Captions and answers stay. A restored backup withdraws it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureWithdrawal:
    """What was removed with a picture: the numbers of its images, and of open tasks, leases, control items
    and exports. `corpora` are those of its corpora that you may see; there are `others`."""

    corpora: tuple[str, ...]
    others: int
    images: int
    tasks: int
    leases: int
    controls: int
    exports: int


@dataclass(frozen=True, slots=True)
class WithdrawnPicture:
    """What withdrawing a picture removed: from which corpora, the number of images, of open tasks, leases,
    control items and exports."""

    picture: str
    corpora: list[str]
    images: int
    tasks: int
    leases: int
    controls: int
    exports: int


def withdraw_picture(*, image: Image, actor: Account | None = None) -> WithdrawnPicture:
    """Withdraw the picture of an image, from every corpus that has it; repeat it after an interruption.

    Raises PhraseboxError if it has none.
    """
    if not image.picture:
        raise PhraseboxError(
            _("image “%(image)s” has no picture: nothing to withdraw") % {"image": image.key}
        )
    withdrawn.note_withdrawn(image.picture)
    return _withdraw(image.picture, actor)


def withdraw_named_picture(request: WithdrawPictureRequest, context: OperationContext) -> PictureWithdrawal:
    """Withdraw a picture. Raises CannotWithdraw."""
    image = request.image_row()
    if context.actor is not None and (why := why_picture_kept(context.actor, image)):
        raise PhraseboxError(why)
    done = withdraw_picture(image=image, actor=context.actor)
    visible = CORPORA.rows(context.actor, REVIEWER, RESEARCHER).filter(name__in=done.corpora)
    corpora = tuple(visible.order_by("name").values_list("name", flat=True))
    return result_of(PictureWithdrawal, done, corpora=corpora, others=len(done.corpora) - len(corpora))


def why_picture_kept(account: Account, image: Image) -> str:
    """Return why this account may not withdraw the picture of an image from every corpus that has it: it is
    no researcher of one of them; "" if it may."""
    if not image.picture or account.has_role(ADMIN, on=WHOLE_SERVER):
        return ""
    having = Corpus.objects.filter(images__picture=image.picture).distinct()
    if all(account.has_role(RESEARCHER, on=corpus.scope) for corpus in having):
        return ""
    return _("Corpora of others have the same picture: ask an admin to withdraw it.")


def withdraw_again(*, actor: Account | None = None) -> list[WithdrawnPicture]:
    """Withdraw every picture of the list that still exists: a restored backup contained it, or its withdrawal
    was interrupted."""
    listed = withdrawn.withdrawn_pictures()
    in_use = Image.objects.filter(picture__in=listed).values_list("picture", flat=True)
    files = [name for name in listed if pictures.picture_path(name).is_file()]
    return [_withdraw(name, actor) for name in sorted({*in_use, *files})]


def _withdraw(name: str, actor: Account | None) -> WithdrawnPicture:
    rows = list(Image.objects.filter(picture=name).select_related("corpus").order_by("pk"))
    corpora = sorted({row.corpus.name for row in rows})
    done = _close(rows)
    exports = _remove_exports(corpora)
    pictures.discard_picture(name)
    # Last, and in one transaction: the rows determine what is left to do, so after a kill all of it is
    # repeated.
    with database.writing():
        # Campaigns, then images, in the same order as opening locks them: images opened before are included,
        # and later openings find no picture.
        lock_campaigns(_over(rows).values_list("pk", flat=True))
        ids = [row.pk for row in rows]
        list(Image.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk").values_list("pk"))
        since = _close(rows)
        for row in rows:
            if Image.objects.filter(pk=row.pk, picture=name).update(picture=""):
                corpus = row.corpus.name
                record(actor=actor, act="withdraw_picture", corpus=corpus, image=row.key, picture=name)
    tasks, ended, controls = (count + other_count for count, other_count in zip(done, since, strict=True))
    return WithdrawnPicture(name, corpora, len(rows), tasks, ended, controls, exports)


def _over(rows: Iterable[Image]) -> QuerySet[Campaign]:
    """Return the campaigns over the corpora of these images."""
    return Campaign.objects.filter(corpus__in={row.corpus_id for row in rows}).order_by("pk")


def _close(rows: Sequence[Image]) -> tuple[int, int, int]:
    """End all tasks that show these images, and retire control items about them; return the numbers of open
    tasks, of leases on them, and of items. Finished ones stay as they are."""
    tasks = ended = controls = 0
    campaigns = list(_over(rows))
    pictures: dict[int, set[str]] = {}
    for campaign in campaigns:
        for number, keys in _open_images_with(campaign, rows):
            pictures.setdefault(number, set()).update(keys)
    # In the order of their ids, the order of all locks.
    for number, keys in sorted(pictures.items()):
        closed = _close_tasks(number, keys)
        tasks, ended = tasks + closed[0], ended + closed[1]
    for campaign in campaigns:
        for row in rows:
            if row.corpus_id == campaign.corpus_id:
                controls += _retire_controls(campaign, row)
    return tasks, ended, controls


def _open_images_with(campaign: Campaign, rows: Sequence[Image]) -> Iterator[tuple[int, set[str]]]:
    """Yield the open images (their ids) of a campaign whose tasks show images, with the keys of these
    tasks."""
    for row in rows:
        if row.corpus_id != campaign.corpus_id:
            continue
        opened = OpenImage.objects.filter(campaign=campaign, image=row)
        for number in opened.values_list("pk", flat=True):
            yield number, {ALL_TASKS}
        if any(map(is_page, campaign.kinds)):
            # Pages show several images, and belong to one of them.
            items = Item.objects.filter(task__campaign=campaign, content__image=row.pk)
            for number, key in items.values_list("task__image", "task__key"):
                yield number, {key}


def _close_tasks(number: int, keys: set[str]) -> tuple[int, int]:
    """End tasks of an open image for good; return how many were open, and the leases on them."""
    with database.writing():
        row = OpenImage.objects.select_for_update().get(pk=number)
        mine = Task.objects.filter(image=row, state=Task.OPEN)
        tasks = (mine if ALL_TASKS in keys else mine.filter(key__in=keys)).count()
        known = set(row.state.get("withdrawn", ()))
        if (keys <= known or ALL_TASKS in known) and not tasks:
            return 0, 0
        row.state["withdrawn"] = sorted(known | keys)
        OpenImage.objects.filter(pk=number).update(state=row.state)
        image_state.refold_image(number)
        ended = leases.return_leases_of(image=number, keys=None if ALL_TASKS in keys else sorted(keys))
    return tasks, ended


def _retire_controls(campaign: Campaign, image: Image) -> int:
    """Remove control items about an image from the pools, and end their leases."""
    with database.writing():
        rows = Control.objects.filter(campaign=campaign, image=image)
        leases.return_leases_of_controls(rows.values_list("pk", flat=True))
        retired = rows.filter(active=True).update(active=False)
        if retired:
            raise_revision(campaign)
    return retired


def _remove_exports(corpora: Iterable[str]) -> int:
    """Remove the archives of exports of these corpora, including those of jobs that are about to end; return
    their number."""
    of_them = Q(arguments__corpus__in=list(corpora)) | Q(campaign__corpus__name__in=list(corpora))
    jobs = Job.objects.filter(of_them, kind__in=("export_dataset", "export_campaign"))
    paths: list[Any] = [job.result.get("path", "") for job in jobs.filter(state=Job.DONE)]
    for job in jobs.filter(state__in=Job.LIVE):
        paths += archives.archives_of_job(job.pk)
    return sum(archives.remove_archive(str(path)) for path in paths if path)
