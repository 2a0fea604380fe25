"""The pages of batches: selected by address, with their cost before launch, launched, monitored, frozen."""

from __future__ import annotations

import json
import re
from html import unescape
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.http import urlencode

from annotation import jobs
from annotation.campaigns import close_campaign
from annotation.models import Campaign, Job, Judgment, TrustState
from annotation.moderation.worker_status import (
    reinstate_worker,
    restore_worker_answers,
    withdraw_worker_answers,
)
from evaluation.models import Batch, QrelsSnapshot
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.stamps import answers_at_end
from evaluation.services.judgments.freezing import freeze_qrels
from tests.evaluation.database.pooled_world import UNTESTED, crowd, two_systems
from tests.web.staff import press

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = '[trust]\nqualification = false\n[pay]\nbasis = "item"\nper_item = {relevance = 0.2}\n'
FORM = "application/x-www-form-urlencoded"
BATCHES, BUILD = "/evaluation/batches/", "/evaluation/new-batch/"


@pytest.fixture
def pooled_runs(data_dir: Path, tmp_path: Path, db: None) -> list[str]:
    return two_systems(tmp_path)


def chosen(names: list[str], **also: str) -> list[tuple[str, str]]:
    fields = {"chosen": "1", "corpus": "quay", "tasks": "relevance", "depth": "4", "threshold": "0.25"}
    fields |= {"judges": "3", "known_from": "dev", "campaign_settings": SETTINGS} | also
    return [*fields.items(), *(("runs", name) for name in names)]


def look(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def done(job: Job) -> Job:
    assert jobs.run_queued_job(job.pk) == Job.DONE
    return Job.objects.get(pk=job.pk)


def test_a_builder_offers_the_runs_of_a_corpus_and_finds_them_by_name(ada: Client, pooled_runs) -> None:
    assert "Choose runs" in look(ada, BUILD)
    page = look(ada, f"{BUILD}?corpus=quay")
    assert all(name in page for name in pooled_runs) and "Size and cost" not in page
    # Ticked runs remain, whatever the filter is.
    result = look(ada, f"{BUILD}?{urlencode([*chosen(['blunt-search']), ('find', 'sharp'), ('look', '1')])}")
    assert "sharp-search" in result and "blunt-search" in result and "blunt-annotation" not in result
    assert "Size and cost" not in result


def test_an_address_tells_what_its_batch_comes_to_and_writes_nothing(ada: Client, pooled_runs) -> None:
    planned_batch = plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=4, campaign_settings=UNTESTED))
    page = look(ada, f"{BUILD}?{urlencode(chosen(pooled_runs))}")
    assert f"of the {planned_batch.pooled_pairs} pooled pairs" in page
    assert f"{planned_batch.price.answers} answers, 3 judges each" in page
    assert f"{planned_batch.price.answers * 0.2:.2f} USD" in page
    assert f"{planned_batch.originals} originals, {planned_batch.filtered} filtered pairs" in page
    assert f"Pages lack {planned_batch.filling.missing} captions: there are too few filtered pairs" in page
    assert "or use smaller pages" in page
    assert "Only one direction" not in page and not Batch.objects.exists()
    text = ada.get(f"{BUILD}?{urlencode(chosen(pooled_runs))}").content.decode()
    # Settings from the TOML, and defaults.
    assert 'name="campaign_settings.pay.per_item.relevance" value="0.2"' in text
    assert 'name="campaign_settings.trust.window" value="20"' in text
    whole = look(ada, f"{BUILD}?{urlencode(chosen(pooled_runs[:1], threshold='0', known_from=''))}")
    assert "Only one direction of sharp is pooled" in whole and "0 filtered pairs" in whole
    assert "every judge counts" in whole and "With a filter, filtered pairs fill them" in whole
    fewer = chosen(pooled_runs, campaign_settings=f"{SETTINGS}[page]\nimages = 2\ncaptions = 1\n")
    assert "Pages lack" not in look(ada, f"{BUILD}?{urlencode(fewer)}")


@pytest.mark.parametrize(
    ("also", "says"),
    [
        ({"depth": "0"}, "Expected 1 or more"),
        ({"depth": "101"}, "Expected 100 or less"),
        ({"threshold": "seven"}, "Expected a number"),
        ({"threshold": "7"}, "Expected 1.0 or less"),
        ({"known_from": "test"}, "make control items from another"),
        ({"campaign_settings": "[pay"}, "This is not valid TOML"),
        ({"campaign_settings": f"a = {20_000 * '['}"}, "This is not valid TOML"),
        ({"campaign_settings": "answers = 3"}, "answers"),
        ({"judges": "many"}, "Expected a whole number"),
        ({"tasks": "boxes"}, "Expected one of: 'relevance'"),
        ({"strategy": "best"}, "Expected one of: 'move_to_front'"),
    ],
)
def test_what_cannot_be_is_said_beside_what_was_chosen(ada: Client, pooled_runs, also, says) -> None:
    address = f"{BUILD}?{urlencode(chosen(pooled_runs, **also))}"
    page = look(ada, address)
    assert says in page and "The campaign gets the same name" not in page
    assert ada.get(address).content.decode().count(
        ' checked></span></td><th scope="row"><label for="run-'
    ) == len(pooled_runs)


@pytest.mark.parametrize(
    ("also", "status"), [({"threshold": "nan"}, 400), ({"campaign_settings": "odd = inf"}, 400)]
)
def test_what_no_job_can_hold_is_refused_and_not_asked_for(ada: Client, pooled_runs, also, status) -> None:
    answer = ada.post(BUILD, urlencode([*chosen(pooled_runs, **also), ("name", "first")]), FORM)
    assert answer.status_code == status and not Job.objects.exists()


def test_a_trial_with_simulated_workers_is_asked_for_as_one(ada: Client, pooled_runs) -> None:
    expected = chosen(pooled_runs, simulated="1")
    page = ada.get(f"{BUILD}?{urlencode(expected)}").content.decode()
    assert re.search(r'<input type="checkbox" name="simulated"[^>]* checked>', page)
    ada.post(BUILD, urlencode([*expected, ("name", "trial")]), FORM)
    assert Job.objects.get().arguments["simulated"] is True


def test_a_batch_is_launched_as_a_job_watched_and_frozen(ada: Client, pooled_runs) -> None:
    answer = ada.post(BUILD, urlencode([*chosen(pooled_runs), ("name", "first")]), FORM)
    assert answer["Location"] == BATCHES
    opening = Job.objects.get()
    assert opening.kind == "open_batch" and not Batch.objects.exists()
    assert "Opening the batch." in look(ada, BATCHES)
    done(opening)
    page = ada.get(BATCHES).content.decode()
    assert page.count(f'href="{BATCHES}first/"') == 2  # its line, and that of its job
    batch = Batch.objects.get()
    assert batch.campaign.state == Campaign.OPEN and str(batch.campaign.created_by) == "ada"
    again = ada.post(BUILD, urlencode([*chosen(pooled_runs), ("name", "first")]), FORM)
    assert again.status_code == 400 and "choose another name" in again.content.decode()
    assert ">Launch<" in again.content.decode(), "what was chosen can be launched under another name"
    nothing = ada.post(BUILD, urlencode([*chosen([]), ("name", "second")]), FORM)
    assert nothing.status_code == 400 and "Runs: Expected at least 1." in nothing.content.decode()

    early = look(ada, f"{BATCHES}first/")
    assert f"{3 * batch.numbers['task_count']} answers are still to come" in early
    assert "No valid judgments yet" in early
    assert f"Pages lack {batch.numbers['missing']} captions" in early and batch.numbers["missing"]
    assert f"{batch.numbers['task_count']} pages with {batch.numbers['fillers']} filtered pairs" in early
    crowd(batch.campaign, {"perfect": 4, "always_yes": 2})
    bad = look(ada, f"{BATCHES}first/?fresh=1")
    judgments = Judgment.objects.filter(worker__pseudonym__contains="always", image__isnull=False)
    assert f"{judgments.count()} of their answers are left out" in bad and "no: answers left out" in bad
    assert f"This costs about {judgments.count() * 0.2:.2f} USD" in bad
    assert "2 judges do not count" in look(ada, BATCHES)
    press(ada, f"{BATCHES}first/", "Reassign")
    done(Job.objects.get(kind="reassign_pages"))
    assert not judgments.filter(withdrawn=False).exists()
    crowd(batch.campaign, {"perfect": 4}, seed=2)
    late = look(ada, f"{BATCHES}first/?fresh=1")
    assert "All pairs are judged and can be frozen" in late and "no: answers withdrawn" in late
    assert "not count" not in look(ada, BATCHES)
    # A worker with correct control items can be discarded too.
    assert late.count("no: answers withdrawn") == 2
    sharp = (
        Judgment.objects.filter(worker__pseudonym__contains="perfect", withdrawn=False).earliest("pk").worker
    )
    withdraw_worker_answers(campaign=batch.campaign, worker=sharp.pk)
    assert look(ada, f"{BATCHES}first/?fresh=1").count("no: answers withdrawn") == 3
    people = ada.get("/api/v1/batches/first").json()["status"]["people"]
    excluded = {judge: person["withdrawn"] or bool(person["unused"]) for judge, person in people.items()}
    assert excluded[sharp.pseudonym] and False in excluded.values()
    restore_worker_answers(campaign=batch.campaign, worker=sharp.pk)

    press(ada, f"{BATCHES}first/", "Collect and freeze", qrels="pooled", rule="majority")
    done(Job.objects.get(kind="settle_batch"))
    frozen = look(ada, f"{BATCHES}first/?fresh=1")
    assert "Frozen as pooled, version 1" in frozen and QrelsSnapshot.objects.get().rule == "majority"
    assert "pooled:1" in look(ada, BATCHES)
    # The linked page receives its arguments: the qrels and the runs are selected there.
    page = ada.get(f"{BATCHES}first/").content.decode()
    for route in ("compare", "new-report"):
        (address,) = re.findall(rf'href="(/evaluation/{route}/\?[^"]+)"', page)
        onward = ada.get(unescape(address)).content.decode()
        assert onward.count("checked") >= len(pooled_runs) and "selected>pooled" in onward


def test_reinstated_judges_are_named_and_count_by_a_button(ada: Client, pooled_runs) -> None:
    batch = launch(
        plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=2, campaign_settings=UNTESTED)), "first"
    ).batch
    crowd(batch.campaign, {"perfect": 4})
    collect("first")
    freeze_qrels(name="pooled", corpus="quay", judgments="first")
    assert "Frozen as pooled, version 1" in look(ada, f"{BATCHES}first/")
    row = TrustState.objects.filter(items__gt=0).select_related("worker")[0]
    TrustState.objects.filter(pk=row.pk).update(state="suspended")
    reinstate_worker(campaign=batch.campaign, worker=row.worker_id)
    judge = row.worker.pseudonym
    page = look(ada, f"{BATCHES}first/")
    assert f"{judge} was suspended by the trust rules and then reinstated" in page
    assert "before the suspension do not count" in page
    assert "Answers were added or withdrawn after" in page and "yes, since they were reinstated" in page
    for button, says in (
        ("Count them", "by request"),
        ("Do not count them", "before the suspension do not count"),
    ):
        press(ada, f"{BATCHES}first/", button)
        done(Job.objects.filter(kind="collect_judgments").latest("pk"))
        assert says in look(ada, f"{BATCHES}first/")
    assert "The collected judgments are not frozen yet" in look(ada, f"{BATCHES}first/")


def test_the_page_of_a_closed_batch_leads_to_a_new_one(ada: Client, pooled_runs) -> None:
    batch = launch(
        plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=2, campaign_settings=UNTESTED)), "first"
    ).batch
    assert f"{3 * batch.numbers['task_count']} answers are still to come" in look(ada, f"{BATCHES}first/")
    close_campaign(campaign=batch.campaign)
    page = look(ada, f"{BATCHES}first/")
    assert "0 answers; none still to come" in page
    assert f"{batch.numbers['selected']} pairs of this batch lack answers" in page
    row = f"closed {batch.numbers['selected']} 0 – –"
    assert row in look(ada, BATCHES), "nothing comes, and how much is judged is said on its page alone"
    (again,) = re.findall(
        r'href="(/evaluation/new-batch/\?chosen[^"]+)"', ada.get(f"{BATCHES}first/").content.decode()
    )
    assert ada.get(unescape(again)).content.decode().count(
        ' checked></span></td><th scope="row"><label for="run-'
    ) == len(pooled_runs)


def test_a_batch_in_rounds_is_asked_more_by_a_button(ada: Client, pooled_runs) -> None:
    fields = chosen(pooled_runs, strategy="move_to_front", rounds="2")
    page = look(ada, f"{BUILD}?{urlencode(fields)}")
    assert "in the first round, of" in page and "use rounds for five systems or more" in page
    ada.post(BUILD, urlencode([*fields, ("name", "first")]), FORM)
    done(Job.objects.get())
    batch = Batch.objects.get()
    assert batch.strategy == "move_to_front" and batch.numbers["selected"] < batch.numbers["askable"]
    assert "Open the next round" not in look(ada, f"{BATCHES}first/")
    crowd(batch.campaign, {"perfect": 5})
    answered = look(ada, f"{BATCHES}first/?fresh=1")
    assert "Round 1 is complete" in answered and "You can already freeze the judgments so far" in answered
    press(ada, f"{BATCHES}first/", "Open the next round")
    done(Job.objects.get(kind="next_round"))
    assert "pairs in 2 rounds" in look(ada, f"{BATCHES}first/?fresh=1")


def test_a_batch_whose_answers_changed_after_its_end_says_so_and_can_be_asked_more(
    ada: Client, pooled_runs
) -> None:
    chosen_runs = BatchRequest(
        corpus="quay",
        runs=pooled_runs,
        depth=4,
        campaign_settings=UNTESTED,
        strategy="move_to_front",
        rounds=2,
    )
    batch = launch(plan(chosen_runs), "first").batch
    crowd(batch.campaign, {"perfect": 5})
    ends = {"ended": "stable", "tau": 0.97, "answers": answers_at_end(batch)}
    Batch.objects.update(rounds=batch.rounds | ends)
    page = look(ada, f"{BATCHES}first/?fresh=1")
    assert "τ 0.97 with the last rankings; ended: the order of the systems is stable" in page
    assert "Open the next round" not in page and "answers have changed" not in page
    Judgment.objects.filter(pk=Judgment.objects.earliest("pk").pk).update(withdrawn=True)
    page = look(ada, f"{BATCHES}first/?fresh=1")
    assert "no longer ended: answers have changed since" in page and "τ 0.97" not in page
    assert "The rounds had ended, but answers have changed since." in page and "Open the next round" in page


def test_acts_that_cannot_be_are_said_on_the_page(ada: Client, pooled_runs) -> None:
    launch(plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=4, campaign_settings=UNTESTED)), "first")
    for fields, says in (
        ({"qrels": "a b"}, "This is no valid name"),
        ({"qrels": "q", "rule": "mode"}, "There is no rule “mode” here; known: "),
    ):
        answer = ada.post("/operations/settle_batch/", {"batch": "first", **fields})
        assert answer.status_code == 400 and says in answer.content.decode()
    assert not Job.objects.exists()
    assert ada.get(f"{BATCHES}nobody/").status_code == 404


def test_long_lists_of_batches_go_on_by_key(ada: Client, pooled_runs, monkeypatch) -> None:
    monkeypatch.setattr("evaluation.web.batches._PAGE", 2)
    for number in range(3):
        chosen_runs = pooled_runs[number : number + 1]
        launch(
            plan(
                BatchRequest(corpus="quay", runs=chosen_runs, depth=2, campaign_settings=UNTESTED, reuse=[])
            ),
            f"b{number}",
        )
    first = ada.get(BATCHES).content.decode()
    assert "b2" in first and "b0/" not in first
    (later,) = re.findall(r'rel="next" href="([^"]+)"', first)
    rest = ada.get(f"{BATCHES}{unescape(later)}").content.decode()
    assert "b0/" in rest and "b2/" not in rest and 'rel="next"' not in rest


def test_list_page_api_and_command_say_one_number_of_answers_and_of_pairs(ada: Client, pooled_runs) -> None:
    batch = launch(
        plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=2, campaign_settings=UNTESTED)), "first"
    ).batch

    def check(state: str) -> None:
        output = StringIO()
        call_command("batch_status", "first", "--json", stdout=output)
        command = json.loads(output.getvalue())["status"]
        page = look(ada, f"{BATCHES}first/?fresh=1")
        api = ada.get("/api/v1/batches/first").json()["status"]
        names = ("state", "answers_to_come", "judged", "short")
        assert [api[name] for name in names] == [command[name] for name in names]
        requested, coming, judged = (
            command["numbers"]["selected"],
            command["answers_to_come"],
            command["judged"],
        )
        assert command["state"] == state and judged + command["short"] == requested
        assert f"{state} {requested} {coming} " in look(ada, BATCHES)
        assert f"{judged} of {requested} have {batch.judges} answers" in page
        assert (f"{coming} answers are still to come" in page) == bool(coming)
        assert ("none still to come" in page) == (not coming)
        assert (f"{command['short']} pairs of this batch lack answers" in page) == (
            state == "closed" and command["short"] > 0
        )

    check("open")
    crowd(batch.campaign, {"perfect": 4})
    check("open")
    withdraw_worker_answers(
        campaign=batch.campaign,
        worker=Judgment.objects.filter(image__isnull=False).order_by("pk")[0].worker_id,
    )
    check("open")
    close_campaign(campaign=batch.campaign)
    check("closed")
