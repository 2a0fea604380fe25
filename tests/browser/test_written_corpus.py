"""From sixty photographs to a published corpus of three hundred reviewed captions, on pages only, and the
chain of annotation begun on it.

Every process of the product runs (`tests/complete.py`). Five people join by a link; what they write is sent
as their pages send it, in a loop, since how a sentence is typed is tested elsewhere (`test_caption_page`).
"""

from __future__ import annotations

import io
import zipfile
from itertools import cycle

import pytest
from playwright.sync_api import Page, expect

from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from tests.browser.test_walk import (
    Walk,
    at_step,
    downloaded,
    go_on,
    invites,
    people,
    walk,
)
from tests.walking import captioned_pictures

#: Photographs, captions of each, and rejected ones.
PICTURES, CAPTIONS, REJECTED = 60, 5, 2
#: Seconds that a manager may need, with the review of every caption.
WHOLE = 40 * 60
#: Seconds of looking at a caption with its picture: as long as judging a pair takes.
LOOK = 4.0
#: Writes sentences until there are no more tasks; returns their number.
_WRITE = """async ([campaign, kind, name]) => {
  const page = new DOMParser().parseFromString(await (await fetch("/account/")).text(), "text/html");
  const token = page.querySelector("[name=csrfmiddlewaretoken]").value;
  const headers = {"Content-Type": "application/json", "X-CSRFToken": token};
  const call = async (path, data) =>
    (await fetch(path, {method: "POST", headers, body: JSON.stringify(data)})).json();
  let number = 0, task = await call("/api/tasks/next", {campaign, kind});
  for (; task.id; number += 1) {
    const text = `${name} writes sentence number ${number} about this picture.`;
    const answer = {answer: "written", text, token: `${name}-${task.id}`, seconds: 20, next: true};
    const answered = await call(`/api/assignments/${task.id}/answer`, answer);
    if (!answered.next) throw new Error(JSON.stringify(answered));
    task = answered.next;
  }
  return number;
}"""

__all__ = ["walk"]  # a fixture


@pytest.mark.slow
def test_photographs_become_a_corpus_of_reviewed_captions_by_page_alone(walk: Walk) -> None:
    _boss, ada = people(walk)
    adds_photographs(walk, ada)
    opens_writing(ada)
    writers = [walk.person(f"writer-{number}") for number in range(CAPTIONS)]
    invites(ada, "writing", *writers)
    written = [
        writer.evaluate(_WRITE, ["writing", CAPTION_WRITING, name])
        for writer, name in zip(writers, ("Ann", "Bob", "Cem", "Dana", "Eve"), strict=True)
    ]
    assert sum(written) == PICTURES * CAPTIONS
    replaced = reviews(walk, ada, writers)
    assert replaced == REJECTED
    publishes(walk, ada)
    effort = walk.people["ada"]
    acts = {what: number for what, number in effort.acts.items() if what != "letter"}
    seconds = effort.seconds + LOOK * PICTURES * CAPTIONS
    looking = LOOK * PICTURES * CAPTIONS
    print(f"{acts}; a person would take {seconds / 60:.1f} min, {looking / 60:.0f} of them to look")
    assert seconds < WHOLE


def adds_photographs(walk: Walk, ada: Page) -> None:
    """Send the pictures in one archive, without any caption."""
    pictures = captioned_pictures(walk.folder / "drawn")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number, picture in zip(range(PICTURES), cycle(pictures), strict=False):
            archive.writestr(f"{number:03}-{picture.name}", picture.content)
    file = walk.folder / "photographs.zip"
    file.write_bytes(out.getvalue())
    ada.get_by_role("link", name="Add a corpus").click()
    ada.get_by_label("Name of the corpus").fill("photographs")
    ada.locator("#files").set_input_files(file)
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_role("button", name="Import", exact=True)).to_be_visible()
    walk.picture(ada, "photographs")
    ada.get_by_role("button", name="Import", exact=True).click()
    ada.wait_for_url("**/corpora/photographs/")


def opens_writing(ada: Page) -> None:
    """Open a campaign in which five people describe each picture."""
    ada.get_by_role("link", name="Campaigns", exact=True).click()
    ada.get_by_role("link", name="Open a campaign").click()
    ada.get_by_role("button", name="Begin").click()
    at_step(ada, "Corpus")
    ada.get_by_label("Name", exact=True).fill("writing")
    go_on(ada, "Questions")
    ada.locator("input[name=tasks][value=captions]").check(force=True)
    go_on(ada, "Pay")
    go_on(ada, "Entry test")
    ada.locator("input[name=entry][value=none]").check(force=True)
    go_on(ada, "Votes and stop rules")
    go_on(ada, "Preview")
    ada.locator("a.go").click()
    at_step(ada, "Check and open")
    ada.locator("#pilot").uncheck()
    ada.get_by_role("button", name="Open the campaign").click()
    expect(ada.locator(".heading .state")).to_have_text("open")


def reviews(walk: Walk, ada: Page, writers: list[Page]) -> int:
    """Reject two captions by key, let somebody else write in their place, and accept all others page by page;
    return the number of captions that were written again."""
    ada.get_by_role("link", name="Answers", exact=True).click()
    ada.get_by_label("State").select_option("undecided")
    ada.get_by_role("button", name="Show", exact=True).click()
    walk.picture(ada, "answers")
    ada.wait_for_load_state("load")
    ada.keyboard.press("j")
    for _ in range(REJECTED):
        # After a decision the next answer has the focus.
        expect(ada.locator("[data-answer]:focus")).to_have_count(1)
        ada.keyboard.press("r")
        expect(ada.locator("[data-reject] input:focus")).to_have_count(1)
        ada.keyboard.type("This is not in the picture.")
        ada.keyboard.press("Enter")
        expect(ada.get_by_role("status")).to_contain_text("1 answer reviewed. 1 worker gets the reason.")
    # Nobody writes two captions of a picture: a sixth person replaces them.
    extra = walk.person("writer-6")
    invites(ada, "writing", extra)
    again: int = extra.evaluate(_WRITE, ["writing", CAPTION_WRITING, "Finn"])
    ada.get_by_role("link", name="Answers", exact=True).click()
    ada.get_by_label("State").select_option("undecided")
    ada.get_by_role("button", name="Show", exact=True).click()
    while ada.locator("[data-answer]").count():
        ada.get_by_label("Choose all on this page").check()
        ada.get_by_role("button", name="Accept those chosen").click()
        expect(ada.get_by_role("status")).to_contain_text("reviewed")
    walk.picture(ada, "reviewed")
    informed = [writer for writer in (*writers, extra) if _rejection(walk, writer)]
    assert 1 <= len(informed) <= REJECTED
    return again


def _rejection(walk: Walk, writer: Page) -> bool:
    """Whether a writer reads why sentences were rejected; a reply is sent with each message."""
    writer.goto("/tasks/")
    messages = writer.locator(".researcher-message")
    number = messages.count()
    for left in range(number, 0, -1):
        expect(messages).to_have_count(left)
        message = messages.first
        expect(message).to_contain_text("This is not in the picture.")
        message.get_by_text("Reply", exact=True).click()
        message.get_by_label("Your reply").fill("It is, behind the tree.")
        walk.picture(writer, "rejection")
        message.get_by_role("button", name="Send reply").click()
    expect(messages).to_have_count(0)
    return number > 0


def publishes(walk: Walk, ada: Page) -> None:
    """Publish the accepted captions, export them, and open the chain's campaign on them."""
    ada.get_by_role("link", name="Jobs and exports").click()
    ada.get_by_label("Name of the new corpus").fill("described")
    ada.get_by_label("Captions of an image").fill(str(CAPTIONS))
    ada.get_by_label("Reviewed").check()
    ada.get_by_role("button", name="Publish", exact=True).click()
    expect(ada.get_by_role("row").filter(has_text="described")).to_contain_text("done")
    ada.goto("/corpora/described/")
    expect(ada.locator("#main")).to_contain_text(f"{PICTURES} images")
    walk.picture(ada, "described")
    ada.goto("/operations/export_dataset/?corpus=described")
    ada.get_by_label("Format").select_option("csv")
    ada.get_by_role("button", name="Export a corpus with a layer").click()
    with zipfile.ZipFile(
        io.BytesIO(downloaded(ada, ada.get_by_role("link", name="Download", exact=True)))
    ) as archive:
        card = archive.read("README.md").decode()
        rows = archive.read("captions.csv").decode().splitlines()
    assert len(rows) == 1 + PICTURES * CAPTIONS and not any("behind the tree" in row for row in rows)
    assert "The campaign “writing” (captions) asked the questions below" in card
    assert "6 people worked under pseudonyms" in card
    ada.get_by_role("link", name="Campaigns", exact=True).click()
    ada.get_by_role("link", name="Open a campaign").click()
    ada.get_by_role("button", name="Begin").click()
    at_step(ada, "Corpus")
    expect(ada.locator("select[name=corpus]")).to_contain_text("described")
