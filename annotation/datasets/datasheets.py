"""The card of an export: README.md for people, datasheet.json with its figures for programs.

Its sections are those of Gebru et al. (2021), "Datasheets for datasets", as far as the server knows the
answers; it lists what it cannot know, so that the owner of the dataset adds it. It is in English, whatever
the language of the request, and equal rows make equal bytes.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from django.utils import translation

from annotation.formats.base import Format, Written
from annotation.formats.names import DATASHEET_FIGURES
from annotation.selectors.export_exclusions import missing_from_export

CARD = "README.md"
#: The basis of pay, in English.
_PAID_BY = {
    "item": "by the answer",
    "hour": "by the hour of work",
    "none": "nothing; people worked without pay, or were paid elsewhere",
}
#: Maximum number of listed labels of a layer.
_LABELS = 20
_MADE_BY = {
    "import": "It was imported with the corpus. How its authors made it, this server does not know.",
    "gold": "It is the truth of a generated corpus: a program drew the scenes and knows what is in them.",
    "simulation": "It was simulated: no person answered anything. Use it to try things out, not as data.",
    "campaign": "People made it here, by answering one small question at a time.",
}


def add_card(
    figures: dict[str, Any],
    written: Written,
    *,
    writer: Format,
    out: Path,
    with_pictures: bool,
    before: str = "",
) -> None:
    """Write the card of an export to its folder `out`, with a text `before` its sections."""
    with translation.override("en"):
        lacks = missing_from_export(written.excluded)
    export = {
        "format": writer.key,
        "pictures": with_pictures,
        "counts": dict(sorted(written.counts.items())),
        "excluded": dict(sorted(written.excluded.items())),
        "notes": list(written.notes),
    }
    figures = {**figures, "export": export}
    corpus = figures["corpus"]
    front = writer.front_matter(corpus["name"], corpus["licence"], written)
    files = {
        CARD: front + before + card_text(figures, lacks, writer.loading),
        DATASHEET_FIGURES: json.dumps(figures, ensure_ascii=False, indent=1) + "\n",
    }
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")
        written.files.append(out / name)


def card_text(figures: Mapping[str, Any], lacks: list[str], loading: str) -> str:
    """Return the card in Markdown; `lacks` are sentences about what the files do not contain, `loading` is
    Python that loads them."""
    corpus, layer, campaign = figures["corpus"], figures["layer"], figures["campaign"]
    parts: list[tuple[str, Iterator[str]]] = [
        *([("Loading", iter(["```python", loading, "```"]))] if loading else []),
        ("Motivation", _motivation()),
        ("Composition", _composition(corpus, layer, figures["export"], lacks)),
        ("Collection", _collection(layer, campaign)),
    ]
    if campaign is not None and not campaign["simulated"]:
        parts.append(("People and pay", _people(campaign)))
    if campaign is not None:
        parts += [
            ("Agreement", _agreement(campaign["questions"])),
            ("Settings and instructions", _versions(campaign)),
        ]
    parts += [
        ("Uses and limits", _limits(layer, campaign, figures["export"])),
        ("Distribution", _distribution(corpus, figures["export"])),
        ("Maintenance", _maintenance(corpus)),
    ]
    title = corpus["name"] if layer is None else f"{corpus['name']}, layer {layer['name']}"
    if _is_simulated(layer, campaign):
        title += " (simulated)"
    head = [
        f"# Datasheet: {_escape(title)}",
        "",
        "The sections follow Gebru et al., *Datasheets for datasets* (2021).",
        f"Every figure is in `{DATASHEET_FIGURES}` beside this file.",
    ]
    lines = [*head]
    for name, body in parts:
        lines += ["", f"## {name}", "", *body]
    return "\n".join(lines) + "\n"


def _motivation() -> Iterator[str]:
    yield "*The server does not know why the dataset was made, nor who paid for it: say so here.*"


def _composition(
    corpus: Mapping[str, Any], layer: Mapping[str, Any] | None, export: Mapping[str, Any], lacks: list[str]
) -> Iterator[str]:
    yield (
        f"- {_many(corpus['exported_images'], 'image')} of the corpus “{_escape(corpus['name'])}”, which has "
        f"{_many(corpus['images'], 'image')} and {_many(corpus['captions'], 'caption')}. "
        f"{_many(corpus['with_picture'], 'image')} {_have(corpus['with_picture'])} a picture on the server."
    )
    if corpus["turned"]:
        yield (
            f"- {_many(corpus['turned'], 'picture')} {_were(corpus['turned'])} turned upright, as the EXIF "
            "data of the files said. Sizes and boxes are of the upright pictures, which have no EXIF data."
        )
    splits = {name: n for name, n in corpus["splits"].items() if name}
    if splits:
        yield f"- Splits: {', '.join(f'{name} ({n:,})' for name, n in splits.items())}."
    if layer is not None:
        yield (
            f"- The layer “{_escape(layer['name'])}” covers {_many(layer['images'], 'image')}, with "
            f"{_many(layer['mentions'], 'mention')}, {_many(layer['chains'], 'chain')} and "
            f"{_boxes(layer['boxes'])}."
        )
        if labels := layer["labels"]:
            named = ", ".join(f"{_escape(label)} ({n:,})" for label, n in islice(labels.items(), _LABELS))
            more = f", and {len(labels) - _LABELS:,} more" if len(labels) > _LABELS else ""
            yield f"- {_many(len(labels), 'label')} from another tool, of so many chains: {named}{more}."
        if layer["model_boxes"]:
            yield (
                f"- A model annotator drew {_boxes(layer['model_boxes'])} "
                f"({_percent(layer['model_share'])}); people judged whether they are good."
            )
    yield f"- {'Pictures are in the export.' if export['pictures'] else 'Pictures are not in the export.'}"
    if export["counts"]:
        yield f"- In the files: {', '.join(f'{n:,} {word}' for word, n in export['counts'].items())}."
    yield from (f"- {sentence}" for sentence in lacks)
    yield (
        "- Captions are what people wrote, and pictures may show people. The server looks for neither "
        "personal nor offensive content."
    )


def _collection(layer: Mapping[str, Any] | None, campaign: Mapping[str, Any] | None) -> Iterator[str]:
    if layer is None and campaign is None:
        yield "The export holds the corpus alone: nothing in it was annotated here."
        return
    source = layer["source"] if layer is not None else "campaign"
    source = "simulation" if _is_simulated(layer, campaign) else source
    if layer is not None and "file" in layer["settings"] and source == "import":
        file, kind = layer["settings"]["file"], layer["settings"]["format"]
        came = f"It was imported from “{_escape(file)}” ({kind})."
        yield f"{came} How its authors made it, this server does not know."
    else:
        yield _MADE_BY.get(source, f"Its source is “{_escape(source)}”.")
    if campaign is None:
        return
    yield ""
    began, ended = campaign["first_answer"], campaign["last_answer"]
    when = f" from {began} to {ended}" if began and ended else ""
    yield (
        f"The campaign “{_escape(campaign['name'])}” ({campaign['tasks']}) asked the questions below{when}. "
        f"It is {campaign['state']} now. Answers of model annotators are counted apart."
    )
    yield ""
    rows = [
        [
            kind,
            f"{row['answers']:,}",
            f"{row['control_answers']:,}",
            f"{row['test_answers']:,}",
            f"{row['double_checks']:,}",
            f"{row['model_answers']:,}",
            "–" if row["seconds_an_answer"] is None else f"{row['seconds_an_answer']:.1f}",
        ]
        for kind, row in campaign["questions"].items()
    ]
    yield from _table(
        [
            *("question", "answers", "of these to control items", "in tests", "double checks"),
            *("by model annotators", "seconds an answer"),
        ],
        rows,
    )
    yield ""
    yield (
        f"{_many(campaign['withdrawn_answers'], 'answer')} {_were(campaign['withdrawn_answers'])} withdrawn. "
        f"{_many(campaign['reviewers'], 'reviewer')} made {_many(campaign['rulings'], 'ruling')}, which "
        f"stand above answers."
    )
    for annotator in campaign["model_annotators"]:
        yield (
            f"\nThe model annotator “{_escape(annotator['name'])}” (version {annotator['version']}) "
            f"answered too. Source of its boxes: {_escape(annotator['source'])}."
        )


def _people(campaign: Mapping[str, Any]) -> Iterator[str]:
    people, cost = campaign["people"], campaign["cost"]
    yield (
        f"{_many(people['workers'], 'person')} worked under pseudonyms. No names, addresses or ids are in "
        f"the export."
    )
    if people["by_source"]:
        came = ", ".join(f"{name} {n:,}" for name, n in people["by_source"].items())
        yield f"Where they came from: {came}."
    if people["by_country"]:
        counts = ", ".join(f"{country} {n:,}" for country, n in people["by_country"].items())
        yield f"Their countries (ISO 3166), as they or their platforms said: {counts}."
    yield ""
    rows = [
        [
            kind,
            f"{row['test_items']:,}",
            f"{row['control_items']:,}",
            "yes" if row["accuracy_is_measured"] else "no",
            ", ".join(f"{n:,} {name}" for name, n in row["workers_by_trust"].items()) or "–",
        ]
        for kind, row in campaign["questions"].items()
    ]
    yield from _table(
        ["question", "test items", "control items", "accuracy is measured", "workers by trust state"], rows
    )
    yield ""
    basis = _PAID_BY.get(cost["basis"], cost["basis"])
    yield f"Pay: {basis}." if cost["basis"] == "none" else f"Pay was reckoned {basis}, in {cost['currency']}."
    if cost["basis"] == "item" and cost["per_item"]:
        rates = ", ".join(f"{kind} {amount}" for kind, amount in cost["per_item"].items())
        yield f"An answer earns: {rates}."
    if cost["basis"] == "hour":
        yield f"An hour earns {cost['hourly']}."
    worked = f"People worked {cost['hours']:,.1f} hours"
    if cost["basis"] != "none":
        yield f"Earned: {cost['earned']}; paid: {cost['paid']}."
        if cost["earned_an_hour"] is not None:
            worked += f", which earned {Decimal(cost['earned_an_hour']):.2f} an hour"
    yield f"{worked}."


def _agreement(questions: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "A second person was asked the questions that were drawn, by their keys, when they opened, whatever "
        "the first answered; the first two answers are compared, weighted by one over the chance of the draw."
        " Kappa falls as one answer prevails: it stands beside the share of each. Intervals are at 95 %."
    )
    yield ""
    rows = []
    for kind, figures in questions.items():
        agreement = figures["agreement"]
        if agreement is None or not agreement["pairs"]:
            why = "nobody was asked twice"
            if figures["written_in_own_words"]:
                why = "answers are texts"
            elif figures["ticked_on_pages"]:
                why = "answers are ticks on a page, which this sheet does not compare"
            drawn = agreement["drawn"] if agreement else 0
            rows.append([kind, f"{drawn:,}", "0", f"{drawn:,}", "–", f"– ({why})", "–", "–"])
            continue
        shares = (f"{answer} {share['value']:.0%}" for answer, share in agreement["answers"].items())
        rows.append(
            [
                kind,
                f"{agreement['drawn']:,}",
                f"{agreement['pairs']:,}",
                f"{agreement['waiting'] + agreement['lacking']:,}",
                _interval(agreement["equal"], percent=True),
                "undefined (all gave one answer)"
                if agreement["kappa"] is None
                else _interval(agreement["kappa"], percent=False),
                ", ".join(shares),
                "–" if agreement["mean_iou"] is None else _interval(agreement["mean_iou"], percent=False),
            ]
        )
    heads = ["question", "drawn", "pairs", "no second answer", "same answer", "kappa"]
    yield from _table([*heads, "share of each answer", "mean IoU of boxes"], rows)


def _versions(campaign: Mapping[str, Any]) -> Iterator[str]:
    versions = ", ".join(
        f"version {v['version']} (since {v['since']}, {_many(v['images'], 'image')} opened under it)"
        for v in campaign["settings"]
    )
    yield f"Settings: {versions}."
    texts = ", ".join(
        f"{version['text']} version {version['version']} (since {version['since']})"
        for version in campaign["instructions"]
    )
    yield f"Instructions: {texts or 'the built-in ones of this release'}."
    yield f"Each setting of each version is in `{DATASHEET_FIGURES}`."


def _is_simulated(layer: Mapping[str, Any] | None, campaign: Mapping[str, Any] | None) -> bool:
    """Whether simulated workers gave the answers in an export."""
    of_simulation = layer is not None and layer["source"] == "simulation"
    return of_simulation or (campaign is not None and campaign["simulated"])


def _limits(
    layer: Mapping[str, Any] | None, campaign: Mapping[str, Any] | None, export: Mapping[str, Any]
) -> Iterator[str]:
    limits = [_escape(note) for note in export["notes"]]
    if _is_simulated(layer, campaign):
        limits.append("The answers are simulated: they say nothing about people, and nobody was paid.")
    if layer is not None and layer["model_boxes"]:
        limits.append(
            "Boxes that a model annotator drew and people accepted may be closer to its own predictions than "
            "boxes that people draw: exclude them where you evaluate a detector that was trained likewise."
        )
    if campaign is not None:
        unmeasured = [
            kind for kind, figures in campaign["questions"].items() if not figures["accuracy_is_measured"]
        ]
        if unmeasured:
            limits.append(f"How right answers are is not measured for: {', '.join(unmeasured)}.")
        of = {kind: figures["agreement"] for kind, figures in campaign["questions"].items()}
        alone = [kind for kind, figures in of.items() if figures is None or not figures["pairs"]]
        if alone:
            limits.append(f"No agreement is known for: {', '.join(alone)}.")
    if layer is not None and layer["images"] < export["counts"].get("images", 0):
        limits.append(
            "Images that the layer does not cover were not looked at: nothing is marked there, and that says "
            "nothing about them."
        )
    limits.append(
        "Workers are a crowd, not a sample of any population; captions and categories carry their views."
    )
    yield from (f"- {limit}" for limit in limits)


def _distribution(corpus: Mapping[str, Any], export: Mapping[str, Any]) -> Iterator[str]:
    yield f"- Format: {export['format']}."
    if corpus["licence"]:
        yield f"- Licence: {_escape(corpus['licence'])}."
    else:
        yield "- Licence: not recorded. Ask the owner of the corpus before you pass anything on."
    came = f"“{_escape(corpus['source'])}” ({corpus['format']}) on {corpus['imported']}"
    yield f"- The corpus was imported from {came}."
    for added in corpus["added"]:
        what = [f"{added['images']} images were added"] if added["images"] else []
        what += [f"{added['captioned']} images got captions"] if added["captioned"] else []
        yield f"- {', and '.join(what)} later, from “{_escape(added['source'])}”."
    if corpus["digest"]:
        yield f"- SHA-256 over all records that were read: `{corpus['digest']}`."


def _maintenance(corpus: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "Export again for the newest state: equal answers make equal files. If somebody in a picture "
        "objects, the picture is withdrawn on the server, and new exports are without it. Copies that were "
        "handed out still hold it."
    )
    yield "*Add who looks after the dataset, and how to reach them.*"


def _table(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _interval(estimate: Mapping[str, Any], *, percent: bool) -> str:
    def as_text(value: float) -> str:
        return f"{100 * value:.1f} %" if percent else f"{value:.3f}"

    return f"{as_text(estimate['value'])} ({as_text(estimate['low'])} to {as_text(estimate['high'])})"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _many(number: int, word: str) -> str:
    plural = "people" if word == "person" else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def _boxes(number: int) -> str:
    return f"{number:,} {'box' if number == 1 else 'boxes'}"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _escape(text: str) -> str:
    """Return foreign text on one line, with Markdown escaped."""
    return "".join(
        f"\\{character}" if character in "\\`*_[]<>|#" else character for character in " ".join(text.split())
    )
