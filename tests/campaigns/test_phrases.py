"""Phrases marked by hand: which questions campaigns then ask, and when phrases cannot be marked."""

from __future__ import annotations

import pytest

from annotation import campaigns
from annotation.campaigns.phrases import (
    BY_CHUNKER,
    BY_HAND,
    FROM_LAYER,
    drop_marks,
    mark_phrases,
    phrases_of,
)
from annotation.models import AuditEntry, Corpus, Image, OpenImage
from phrasebox.errors import PhraseboxError
from tests.factories import a_corpus, an_image

pytestmark = pytest.mark.django_db
GERMAN = ("Ein Hund läuft über die Wiese .", "Zwei Kinder im Park .")


@pytest.fixture
def meadow() -> Corpus:
    return a_corpus("wiese", [an_image(f"{n}", *GERMAN, layered=False) for n in range(2)])


def image(corpus: Corpus, key: str = "0") -> Image:
    return Image.objects.select_related("corpus").get(corpus=corpus, key=key)


def opened(corpus: Corpus, name: str = "quay", *, images: int | None = None) -> None:
    settings = {"boxes": "always"}
    campaigns.open_campaign(campaigns.CampaignPlan(name, corpus.name, "entities", settings, images=images))


def questions_of(name: str = "quay") -> dict[str, list[list[int]]]:
    """Return image -> the positions that a campaign asks about."""
    rows = OpenImage.objects.filter(campaign__name=name).values_list("image__key", "mentions")
    return {key: [mention[:3] for mention in mentions] for key, mentions in rows}


def test_a_campaign_asks_about_the_phrases_that_were_marked(meadow: Corpus):
    assert phrases_of(image(meadow)).source == BY_CHUNKER
    assert mark_phrases(image=image(meadow), spans=[(1, 0, 2), (0, 4, 6), (0, 0, 2)])
    result = phrases_of(image(meadow))
    assert result.source == BY_HAND and result.blocked == ""
    assert [mention.text for mention in result.mentions] == ["Ein Hund", "die Wiese", "Zwei Kinder"]
    mark_phrases(image=image(meadow, "1"), spans=[])
    opened(meadow)
    assert questions_of() == {"0": [[0, 0, 2], [0, 4, 6], [1, 0, 2]], "1": []}


def test_phrases_that_a_campaign_asks_about_are_marked_again_once_it_is_closed(meadow: Corpus):
    mark_phrases(image=image(meadow), spans=[(0, 0, 2)])
    opened(meadow, images=1)
    for act in (lambda row: mark_phrases(image=row, spans=[(0, 0, 1)]), lambda row: drop_marks(image=row)):
        with pytest.raises(
            PhraseboxError, match="Campaign “quay” asks about the phrases of this image already"
        ):
            act(image(meadow))
    # The campaign has not opened the other one.
    assert mark_phrases(image=image(meadow, "1"), spans=[(1, 3, 4)])
    campaigns.close_campaign(campaign=campaigns.campaign_named("quay"), reason="done")
    assert mark_phrases(image=image(meadow), spans=[(0, 4, 6)])
    assert questions_of() == {"0": [[0, 0, 2]]}
    opened(meadow, "later")
    assert questions_of("later") == {"0": [[0, 4, 6]], "1": [[1, 3, 4]]}


def test_phrases_that_came_with_a_corpus_are_not_marked():
    corpus = a_corpus("hund", [an_image("0", "[/EN#1/animals Ein Hund] läuft .")])
    result = phrases_of(image(corpus))
    assert result.source == FROM_LAYER and [mention.text for mention in result.mentions] == ["Ein Hund"]
    with pytest.raises(PhraseboxError, match="came with it, in its layer “import”"):
        mark_phrases(image=image(corpus), spans=[])


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(2, 0, 1)], "There is no caption 3: the image has 2."),
        ([(1, 3, 6)], "Caption 2 has 5 words: words 4 to 6 are no phrase of it."),
        ([(1, 2, 2)], "Caption 2 has 5 words: words 3 to 2 are no phrase of it."),
        ([(0, 0, 3), (0, 2, 4)], "Two phrases of caption 1 have a word in common"),
    ],
)
def test_what_is_no_phrase_is_refused_and_nothing_kept(meadow: Corpus, spans, message: str):
    with pytest.raises(PhraseboxError) as caught:
        mark_phrases(image=image(meadow), spans=spans)
    assert message in str(caught.value) and phrases_of(image(meadow)).source == BY_CHUNKER


def test_each_change_is_a_line_of_the_audit_and_marks_can_be_dropped(meadow: Corpus):
    row = image(meadow)
    assert mark_phrases(image=row, spans=[(0, 0, 2)]) and not mark_phrases(image=row, spans=[(0, 0, 2)])
    assert drop_marks(image=row) and not drop_marks(image=row)
    assert phrases_of(row).source == BY_CHUNKER
    lines = AuditEntry.objects.filter(act="mark_phrases").order_by("pk").values_list("about", flat=True)
    assert list(lines) == [{"corpus": "wiese", "image": "0", "phrases": n} for n in (1, None)]


def test_phrases_marked_while_a_campaign_opens_are_asked_about_as_they_are_then(
    meadow: Corpus, monkeypatch: pytest.MonkeyPatch
):
    from annotation.campaigns import opening

    read = opening.mentions_of

    def marked_meanwhile(record):
        monkeypatch.setattr(opening, "mentions_of", read)
        result = read(record)
        mark_phrases(image=image(meadow), spans=[(0, 4, 6)])
        return result

    monkeypatch.setattr(opening, "mentions_of", marked_meanwhile)
    opened(meadow, images=1)
    assert questions_of() == {"0": [[0, 4, 6]]}
