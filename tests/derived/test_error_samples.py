"""Error analysis: the same seed draws the same mentions, people judge them, and rates have intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.common.operations import Invalid, OperationContext, read_request
from annotation.common.roles import REVIEWER
from annotation.datasets.contents import error_samples
from annotation.datasets.contents.error_samples import ErrorRates, ErrorSampleSummary
from annotation.models import Corpus, ErrorSample, Layer, SampledMention
from phrasebox.agreement.shares import wilson
from phrasebox.registry import UnknownName
from tests.web import world
from tests.web.staff import words
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return world.corpus(tmp_path, images=4)


def draw(corpus: Corpus, **fields: Any) -> ErrorSampleSummary:
    request = read_request(error_samples.DrawErrorSampleRequest, {"corpus": corpus.name, **fields})
    return error_samples.draw_error_sample(request, OperationContext())


def judge(corpus: Corpus, mention: SampledMention, **verdicts: str) -> None:
    names = {"corpus": corpus.name, "sample": mention.sample_id, "mention": mention.position}
    usual = {"chunk": "right", "chain": "right", **({"boxes": "right"} if mention.visual else {})}
    request = read_request(error_samples.JudgeSampledMentionRequest, {**names, **usual, **verdicts})
    error_samples.judge_sampled_mention(request, OperationContext())


def rates(corpus: Corpus, sample: int) -> ErrorRates:
    request = read_request(error_samples.ErrorSampleRequest, {"corpus": corpus.name, "sample": sample})
    return error_samples.error_rates(request, OperationContext())


def drawn(sample: int) -> list[tuple[Any, ...]]:
    mentions = SampledMention.objects.filter(sample=sample).order_by("position")
    return list(mentions.values_list("image__key", "caption__number", "start", "end"))


def test_a_seed_draws_the_same_mentions_each_time(corpus: Corpus) -> None:
    first, again, other = draw(corpus, size=9), draw(corpus, size=9), draw(corpus, size=9, seed=2)
    assert drawn(first.number) == drawn(again.number) and len(set(drawn(first.number))) == 9
    assert drawn(first.number) != drawn(other.number)
    everything = draw(corpus, size=2_000)
    assert everything.mentions == Layer.objects.get().mentions.count() == 4 * 7
    with pytest.raises(UnknownName, match="no_such"):
        draw(corpus, layer="no_such")


def test_rates_are_those_of_the_verdicts_with_intervals_over_images(corpus: Corpus) -> None:
    sample = draw(corpus, size=2_000)
    mentions = list(SampledMention.objects.filter(sample=sample.number).select_related("image"))
    assert rates(corpus, sample.number).rates["chunk"].rate is None
    for mention in mentions:
        wrong = {"chunk": "span"} if mention.image.key == "scene-0" else {}
        wrong |= {"boxes": "missing"} if mention.visual and mention.start == 0 else {}
        judge(corpus, mention, **wrong)
    result = rates(corpus, sample.number)
    chunk, chain, boxes = (result.rates[part] for part in ("chunk", "chain", "boxes"))
    assert (chunk.items, chunk.images, chunk.errors, chunk.rate, chunk.kinds) == (28, 4, 7, 0.25, {"span": 7})
    # All errors are of one image: 28 mentions say less than 28 independent ones, and no more than 4 images.
    low, high = wilson(7, 28)
    assert chunk.low < low < 0.25 < high < chunk.high
    assert (chain.errors, chain.rate, chain.low) == (0, 0.0, 0.0) and chain.high > wilson(0, 28)[1]
    # A mention that is not visual has no boxes.
    assert boxes.items == 24 and boxes.kinds == {"missing": boxes.errors} and boxes.errors == 8
    with pytest.raises(Invalid, match="boxes"):
        judge(corpus, next(mention for mention in mentions if not mention.visual), boxes="right")


def test_the_figures_are_a_command_and_a_table(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    sample = draw(corpus, size=5)
    for mention in SampledMention.objects.filter(sample=sample.number):
        judge(corpus, mention, chain="split")
    Layer.objects.update(version=7)
    call_command("error_rates", corpus.name, sample.number, json=True)
    figures = json.loads(capsys.readouterr().out)
    assert figures["changed"] and figures["rates"]["chain"]["kinds"] == {"split": 5}
    call_command("error_rates", corpus.name, sample.number, latex=True)
    text = capsys.readouterr().out
    assert "100.0" in text and "with the seed 1" in text and "has changed since" in text


def test_a_sample_is_judged_on_its_pages(corpus: Corpus) -> None:
    client = signed_in("rita", REVIEWER)
    address = reverse("error_samples", args=[corpus.name])
    form_data = {"corpus": corpus.name, "layer": "import", "size": 2, "seed": 3, "next": address}
    page = client.post(reverse("operation", args=["draw_error_sample"]), form_data, follow=True)
    assert "2 mentions are drawn." in words(page)
    sample = ErrorSample.objects.get()
    for mention in sample.mentions.order_by("position"):
        following = reverse("error_sample_next", args=[corpus.name, sample.pk])
        page = client.get(following, follow=True)
        expected = " ".join(mention.caption.words[mention.start : mention.end])
        assert f"{mention.position} of 2" in words(page) and f"“{expected}”" in words(page)
        _save(client, corpus, mention, following)
    page = client.get(following, follow=True)
    assert page.redirect_chain[-1][0] == address
    assert "2 of 2 mentions are judged." in words(page) and "Rates of errors" in words(page)
    query: dict[str, Any] = {"corpus": corpus.name, "sample": sample.pk}
    page = client.get(reverse("operation", args=["error_rates"]), query)
    assert "Rates of errors" in words(page) and "CSV" in words(page)
    table = reverse("operation_tables", args=["error_rates", "latex"])
    assert "\\begin{tabular}" in client.get(table, query).content.decode()
    assert client.get(table, {**query, "sample": 99}).status_code == 404
    assert client.get(reverse("operation", args=["error_rates"]), {**query, "sample": 99}).status_code == 400
    missing = reverse("sampled_mention", args=[corpus.name, sample.pk, 3])
    assert client.get(missing).status_code == 404


def _save(client: Client, corpus: Corpus, mention: SampledMention, following: str) -> None:
    form_data = {"corpus": corpus.name, "sample": mention.sample_id, "mention": mention.position}
    verdicts = {"chunk": "right", "chain": "split", **({"boxes": "extra"} if mention.visual else {})}
    answer = client.post(
        reverse("operation", args=["judge_sampled_mention"]), {**form_data, **verdicts, "next": following}
    )
    assert answer.status_code == 302
    mention.refresh_from_db()
    assert (mention.chunk, mention.chain) == ("right", "split") and mention.judged_by is not None
