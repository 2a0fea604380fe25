"""From an empty database to the LaTeX of a report, on pages only: the whole product, as a lab would use it.

PostgreSQL, Redis, the web server, Celery's worker and its clock are separate processes (`tests/complete.py`):
the test uses no database, and reads everything from a page or a downloaded file.

    python -m pytest tests/browser/test_walk.py --screenshots FOLDER

stores screenshots in a folder. They show real photographs if available: screenshots for the docs are taken
with `REAL_DATA_DIR=none`, from generated pictures.
"""

from __future__ import annotations

import io
import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from annotation.protocol import questions as q
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.practice import PRACTICE
from tests.browser.at_work import WORKING, read, unfold_edges, wait_for_task
from tests.browser.conftest import Open, pages_of
from tests.browser.effort import Effort
from tests.browser.profiles import Profiles
from tests.browser.test_from_nothing import key_of, make_account, type_box
from tests.browser.test_practice import gold, ready
from tests.complete import CompleteProduct
from tests.walking import PASSWORD, SOUND, captioned_pictures, own_first, packed, ranked, sound

#: Number of images of the campaign.
IMAGES = 2
#: Pay of an answer by the draft's suggestion, and of a page of a batch by ours.
EARNS = {q.BOX_DRAWING: Decimal("0.10")}
USUALLY, A_PAGE = Decimal("0.02"), Decimal("0.25")
#: Settings of the batch: it pays, and trusted annotators need no practice.
BATCH_SETTINGS = f"""
[pay]
basis = "item"
[pay.per_item]
relevance = {A_PAGE}
[trust]
qualification = false
"""
#: Corners of the drawn box, as shares of the picture.
FROM, TO = (0.2, 0.2), (0.7, 0.8)
#: Seconds that a researcher may need in total.
WHOLE_WALK = 15 * 60
#: Loads also what the page would load after scrolling.
ALL_PICTURES = """Promise.all([...document.images].map(each => {
    each.loading = "eager";
    return each.decode().catch(() => null);
})).then(() => null)"""
#: Returns the answer to the question on the page.
Choose = Callable[[Page], str]


@dataclass
class Walk:
    """The state of the walk: users and their pages, answers, and the folder of screenshots."""

    product: CompleteProduct
    open_page: Open
    folder: Path
    pictures: Path
    answers: Counter[str] = field(default_factory=Counter)
    people: dict[str, Effort] = field(default_factory=dict)
    pages: dict[Page, Effort] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def person(self, name: str) -> Page:
        """Open a page of a new user, whose actions are counted."""
        page = self.open_page(alone=True)
        self.people[name] = self.pages[page] = Effort()
        self.people[name].watch(page)
        return page

    @property
    def minutes(self) -> float:
        """Return the total time in minutes, if nobody works in parallel."""
        return sum(effort.seconds for effort in self.people.values()) / 60

    def answered(self, page: Page, kind: str, number: int = 1) -> None:
        """Record that `number` questions of a kind were viewed and answered on a page."""
        self.pages[page].answers[kind] += number

    def picture(self, page: Page, name: str) -> None:
        """Take a screenshot of the whole page, once everything is loaded."""
        page.wait_for_load_state("load")
        page.evaluate(ALL_PICTURES)
        page.screenshot(path=self.pictures / f"{next(self.numbers):02}-{name}.png", full_page=True)


@pytest.fixture
def walk(
    complete: CompleteProduct, profiles: Profiles, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Walk]:
    pictures = request.config.getoption("--screenshots") or tmp_path / "screenshots"
    pictures.mkdir(parents=True, exist_ok=True)
    with pages_of(profiles, complete.url) as open_page:
        yield Walk(complete, open_page, tmp_path, pictures)


@pytest.mark.slow
def test_a_lab_goes_from_an_empty_database_to_the_latex_of_a_report_by_page_alone(walk: Walk) -> None:
    """It costs more than a test may: a lab's first weeks, with every process that the product has."""
    boss, ada = people(walk)
    files = captioned_pictures(walk.folder / "drawn")
    archive = walk.folder / "pictures.zip"
    archive.write_bytes(packed(files))
    corpus_of(walk, ada, archive)
    open_a_campaign(walk, ada)
    ann, bob = walk.person("ann"), walk.person("bob")
    invites(ada, "people", ann, bob)
    works(walk, ada, ann, bob)
    rules(walk, boss)
    suspends_and_pays(walk, ada, bob)
    exports(walk, ada)
    systems(walk, ada, sound(files))
    batch(walk, ada, ann, bob)
    report(walk, ada)
    text = ", ".join(f"{name} {effort.seconds / 60:.1f} min" for name, effort in walk.people.items())
    print(f"A person would take: {text}; all together, one after the other, {walk.minutes:.1f} min")
    # The researcher who opens campaigns and compares systems needs less than a quarter of an hour.
    assert walk.people["ada"].seconds < WHOLE_WALK, text


def people(walk: Walk) -> tuple[Page, Page]:
    """Make the first account with the link that the server printed, and a researcher with an invitation."""
    boss = walk.person("boss")
    boss.goto(walk.product.first_account)
    walk.picture(boss, "first-account")
    make_account(boss, boss.url, "boss")
    ada = invited(walk, boss, "ada", "researcher", "")
    walk.picture(boss, "roles")
    walk.picture(ada, "first-steps")
    return boss, ada


def invited(walk: Walk, boss: Page, name: str, role: str, scope: str) -> Page:
    """Accept an admin's invitation, for a corpus or the server (""); return the user's page."""
    boss.get_by_role("link", name="People", exact=True).click()
    boss.get_by_role("link", name="Roles and invitations").click()
    form = boss.get_by_role("form", name="Invite somebody")
    form.get_by_label("Email").fill(f"{name}@example.org")
    form.get_by_label("Role").select_option(role)
    if scope:
        form.get_by_label("Corpus").select_option(scope)
    form.get_by_role("button", name="Invite").click()
    confirms(boss, boss.get_by_text("Invitation created"))
    row = boss.get_by_role("row").filter(has_text=f"{name}@example.org")
    address = row.locator(".link .code").inner_text()
    page = walk.person(name)
    make_account(page, address, name)
    return page


def confirms(page: Page, done: Locator) -> None:
    """Enter the password if the page asks for it, until the action is `done`."""
    field = page.get_by_label("Your password")
    expect(done.or_(field).first).to_be_visible()
    if field.is_visible():
        field.fill(PASSWORD)
        page.get_by_role("button", name="Confirm and continue").click()
        expect(done.first).to_be_visible()


def corpus_of(walk: Walk, ada: Page, archive: Path) -> None:
    """Send forty pictures; problems of three are listed, and the others are imported."""
    ada.get_by_role("link", name="Add a corpus").click()
    ada.get_by_label("Name of the corpus").fill("pictures")
    ada.locator("#files").set_input_files(archive)
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_role("heading", name="3 problems", exact=True)).to_be_visible()
    expect(ada.locator("#main")).to_contain_text(f"{SOUND} images are sound, with {2 * SOUND} captions")
    problems = ada.locator("table.problems tbody tr")
    expect(problems.filter(has_text="corrupt picture")).to_have_count(2)
    expect(problems.filter(has_text="no caption")).to_have_count(1)
    walk.picture(ada, "problems")
    ada.get_by_role("button", name="Import, skipping these 3").click()
    ada.wait_for_url("**/corpora/pictures/")
    expect(ada.locator("#main")).to_contain_text(f"{SOUND} images")
    walk.picture(ada, "corpus")


def open_a_campaign(walk: Walk, ada: Page) -> None:
    """Complete the seven steps of a draft, with a test marked on the grid."""
    ada.get_by_role("link", name="Campaigns", exact=True).click()
    ada.get_by_role("link", name="Open a campaign").click()
    ada.get_by_role("button", name="Begin").click()
    at_step(ada, "Corpus")
    ada.get_by_label("Name", exact=True).fill("people")
    ada.get_by_text("Only some of the images").click()
    ada.get_by_label("Images at most").fill(str(IMAGES))
    go_on(ada, "Questions")
    walk.picture(ada, "questions")
    go_on(ada, "Pay")
    for kind in q.QUESTIONS:
        expect(ada.locator(f"[id='pay.per_item.{kind}']")).to_have_value(
            re.compile(rf"^{EARNS.get(kind, USUALLY).normalize()}0?$")
        )
    go_on(ada, "Entry test")
    marks(walk, ada, q.COREF_LINK, "links", "The same", "Different")
    marks(walk, ada, q.CHAIN_VERIFICATION, "verification", "All the same", "Not all")
    expect(ada.get_by_label("After a test that I mark now")).to_be_checked()
    go_on(ada, "Votes and stop rules")
    go_on(ada, "Preview")
    ada.locator("a.go").click()
    at_step(ada, "Check and open")
    expect(ada.get_by_role("heading", name="Ready to open")).to_be_visible()
    expect(ada.locator("#main")).to_contain_text(f"“people” asks about {IMAGES} images of pictures.")
    walk.picture(ada, "ready")
    ada.get_by_role("button", name="Open the campaign").click()
    expect(ada.get_by_role("row").filter(has_text="Opening a campaign")).to_contain_text("done")
    # The page shows the campaign's state without a reload.
    expect(ada.locator(".heading .state")).to_have_text("open")


def at_step(page: Page, title: str) -> None:
    """Wait until a step of the draft is shown."""
    expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()


def go_on(page: Page, title: str) -> None:
    """Go from a step of the draft to the next, which has this title."""
    page.get_by_role("button", name="Next").last.click()
    at_step(page, title)


def marks(walk: Walk, ada: Page, kind: str, name: str, same: str, different: str) -> None:
    """Mark correct answers on the grid of a kind, by the last word of each phrase."""
    ada.locator(f"a[href*='/mark/{kind}/?purpose=qualification']").click()
    at_step(ada, f"Mark: {name}")
    cards = ada.locator(".mark-card").all()
    chosen = [same if one_thing(card.locator(".captions .words")) else different for card in cards]
    assert {*chosen} == {same, different}, "a test needs both answers"
    for card, answer in zip(cards, chosen, strict=True):
        card.get_by_label(answer, exact=True).check()
    walk.answered(ada, kind, len(cards))
    walk.picture(ada, f"marks-of-{name}")
    ada.get_by_role("button", name="Save", exact=True).click()
    expect(ada.get_by_role("status")).to_contain_text(f"{len(cards)} items of {name} are marked")


def one_thing(phrases: Locator) -> bool:
    """Return whether all phrases end with the same word: this test's rule for the same thing."""
    words = [re.findall(r"\w+", phrase.lower()) for phrase in phrases.all_inner_texts()]
    return len({word[-1] for word in words}) == 1


def invites(ada: Page, campaign: str, *workers: Page) -> None:
    """Invite with a link; existing accounts join with it."""
    ada.get_by_role("link", name="Recruiting").first.click()
    ada.get_by_role("button", name="Create a link").click()
    address = ada.locator(".link .code").first.inner_text()
    for page in workers:
        joins(page, address, campaign)


def joins(page: Page, address: str, campaign: str) -> str:
    """Register with a campaign's link, or join with an existing account; return the pseudonym."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"work on “{campaign}”")
    new = page.get_by_role("button", name="I agree: begin at once")
    if new.is_visible():
        new.click()
        page.get_by_role("link", name="I have saved it: go to the tasks").click()
    else:
        page.get_by_role("button", name="Work on it with this account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    return page.locator(".me .who").inner_text()


def works(walk: Walk, ada: Page, ann: Page, bob: Page) -> None:
    """Two annotators answer all six kinds of questions, while the dashboard updates itself."""
    ada.get_by_role("link", name="Overview").click()
    metadata = ada.locator(".key-figures")
    expect(metadata).to_contain_text(f"0 of {IMAGES}")
    before = metadata.inner_text()
    takes_the_test(ann, q.COREF_LINK)
    work(walk, ann, q.COREF_LINK, lambda page: "yes" if one_thing(_phrases(page)) else "no")
    expect(metadata).not_to_have_text(before, use_inner_text=True)
    expect(ada.locator(".charts svg").first).to_be_visible()
    walk.picture(ada, "dashboard")

    values: list[str] = []

    def verified(page: Page) -> str:
        """Answer correctly in the test; in the tasks refuse the first chain, so that a reviewer must
        decide."""
        if page.locator("[data-task][data-at-once]").count() or values:
            return "true" if values or one_thing(_phrases(page)) else "false"
        values.append(page.url)
        return "false"

    takes_the_test(bob, q.CHAIN_VERIFICATION)
    work(walk, bob, q.CHAIN_VERIFICATION, verified)
    assert values
    for page, kind, answer in (
        (ann, q.BOX_REQUIREMENT, "box"),
        (ann, q.BOX_DRAWING, "drawn"),
        (bob, q.BOX_QUALITY, "good"),
        (bob, q.BOX_COVERAGE, "complete"),
    ):
        practises(page, kind)
        walk.answered(page, kind, len(PRACTICE.get(kind).items))
        if kind == q.BOX_DRAWING:
            walk.picture(page, "drawing")
        work(walk, page, kind, always(answer))
    assert {*walk.answers} == {*q.QUESTIONS}
    ada.goto("/campaigns/people/?fresh=1")
    expect(figure(metadata, "answers in the last hour")).to_have_text(str(walk.answers.total()))
    expect(metadata).to_contain_text(f"{earned(walk.answers)} USD due")
    walk.picture(ada, "overview")


def always(answer: str) -> Choose:
    """Give the same answer to every question."""
    return lambda page: answer


def _phrases(page: Page) -> Locator:
    return page.locator("[data-task] .captions .words")


def earned(answers: Counter[str]) -> Decimal:
    """Return the pay of the answers, by their number of each kind."""
    return sum((EARNS.get(kind, USUALLY) * number for kind, number in answers.items()), Decimal(0))


def open_task(page: Page, kind: str) -> None:
    page.goto("/tasks/")
    page.get_by_role("link", name=str(TASK_TYPES.get(kind).title), exact=True).click()


def takes_the_test(page: Page, kind: str) -> None:
    """Go from the list of tasks to the first question of the test."""
    open_task(page, kind)
    page.get_by_role("button", name="Take the test").click()
    page.get_by_role("button", name="I have read this: begin").click()


def practises(page: Page, kind: str) -> None:
    """Go from the list of tasks to a kind's first question: instructions, and practice with correct
    answers."""
    open_task(page, kind)
    page.get_by_role("button", name="I have read this: practise").click()
    items = PRACTICE.get(kind).items
    for number, item in enumerate(items, 1):
        expect(page.get_by_text(f"Practice, {number} of {len(items)}")).to_be_visible()
        ready(page)
        if item.right == "drawn":
            if not page.get_by_label("Left", exact=True).is_visible():
                unfold_edges(page)
            type_box(page, gold(item))
        page.keyboard.press(key_of(page, item.right))
        expect(page.get_by_role("heading", name="Correct")).to_be_focused()
        ready(page)
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Begin").click()


def work(walk: Walk, page: Page, kind: str, choose: Choose) -> None:
    """Answer all tasks of a kind, the test first, until its page says that there are none; count the answers
    outside the test."""
    page.wait_for_url(f"**/tasks/people/{kind}/")
    while page.locator("[data-answer]").count():
        wait_for_task(page)
        read(page)
        desk = page.locator("[data-task]")
        held = desk.get_attribute("data-assignment")
        of_test = desk.get_attribute("data-at-once") is not None
        answer = choose(page)
        if answer == "drawn":
            drags(page)
        page.locator(f"[name=answer][value={answer}]").click()
        expect(page.locator(f"[data-assignment='{held}']")).to_have_count(0)
        walk.answers[kind] += not of_test
        walk.answered(page, kind)
    # Leaving the page sends the answer that it delays for undo.
    page.goto("/tasks/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")


def drags(page: Page) -> None:
    """Draw a box with the mouse."""
    at = page.locator("[data-frame]").bounding_box()
    assert at is not None
    (left, top), (right, bottom) = (
        (at["x"] + x * at["width"], at["y"] + y * at["height"]) for x, y in (FROM, TO)
    )
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2)
    page.mouse.move(right, bottom)
    page.mouse.up()


def rules(walk: Walk, boss: Page) -> None:
    """Let a reviewer, invited for the corpus, decide the chain that a worker refused."""
    rev = invited(walk, boss, "rev", "reviewer", "pictures")
    rev.get_by_role("link", name="Campaigns").click()
    rev.get_by_role("link", name="Review 1 chain").click()
    rev.locator(".queue .chains a").click()
    expect(rev.get_by_text("A worker says that these mentions are not one thing.")).to_be_visible()
    walk.picture(rev, "review")
    rev.get_by_role("button", name="Keep as one chain").click()
    expect(rev.get_by_role("status")).to_contain_text("Ruling saved")
    expect(rev.get_by_role("heading", name="Rulings 1")).to_be_visible()


def suspends_and_pays(walk: Walk, ada: Page, bob: Page) -> None:
    """Suspend a worker, who gets no more tasks, sees the reason, and is paid what is due."""
    name = bob.locator(".me .who").inner_text()
    due = earned(Counter({kind: walk.answers[kind] for kind in BOBS}))
    ada.get_by_role("link", name="Workers", exact=True).click()
    ada.get_by_role("link", name=name).click()
    ada.get_by_label("Reason").first.fill("The boxes are too large.")
    ada.get_by_role("button", name="Suspend").click()
    expect(ada.get_by_role("status")).to_contain_text("Suspended")
    expect(ada.locator("#main")).to_contain_text(f"{due} USD earned, {due} USD due")
    walk.picture(ada, "worker")
    ada.get_by_label("Reference of the payment").fill("transfer 1")
    ada.get_by_role("button", name="Record as paid").click()
    confirms(ada, ada.get_by_text(f"{due} USD earned, 0.00 USD due"))
    bob.reload()
    why = "A researcher has suspended you from this task: The boxes are too large. Choose another task"
    expect(bob.locator("#main")).to_contain_text(why)
    bob.get_by_role("link", name="My earnings").click()
    expect(figure(bob.locator(".key-figures"), "paid")).to_have_text(f"{due} USD")
    ada.goto("/campaigns/people/payments/")
    left = earned(walk.answers) - due
    expect(figure(ada.locator(".key-figures"), "due")).to_have_text(f"{left} USD")
    walk.picture(ada, "payments")


#: The kinds that bob answers; ann answers the others.
BOBS = (q.CHAIN_VERIFICATION, q.BOX_QUALITY, q.BOX_COVERAGE)


def exports(walk: Walk, ada: Page) -> None:
    """Export the current layer, with a datasheet about the walk."""
    ada.get_by_role("link", name="Jobs and exports").click()
    ada.get_by_label("Format").select_option("entities")
    ada.get_by_label("Unfinished images").select_option("include")
    ada.get_by_role("button", name="Export", exact=True).click()
    with zipfile.ZipFile(
        io.BytesIO(downloaded(ada, ada.get_by_role("link", name="Download", exact=True)))
    ) as archive:
        names = archive.namelist()
        sheet = archive.read("README.md").decode()
        notes = archive.read("NOTES.md").decode()
    assert sum(name.startswith("Annotations/") for name in names) == IMAGES
    assert sum(name.startswith("Sentences/") for name in names) == SOUND
    assert f"The layer “people” covers {IMAGES} images" in sheet and f"{IMAGES} of {SOUND} images" in notes
    assert "1 reviewer made 1 ruling" in sheet and "2 people worked under pseudonyms" in sheet
    paid = earned(Counter({kind: walk.answers[kind] for kind in BOBS}))
    assert f"Earned: {earned(walk.answers)}; paid: {paid}." in sheet
    row = r"^\| (\w+) \| (\d+) \| \d+ \| (\d+) \| \d+ \| \d+ \| [\d.]+ \|$"
    counted = {kind: int(all_) - int(tests) for kind, all_, tests in re.findall(row, sheet, re.M)}
    assert counted == dict(walk.answers)
    walk.picture(ada, "export")


def downloaded(page: Page, link: Locator) -> bytes:
    """Return the file of a link, once it is available."""
    with page.expect_download() as coming:
        link.first.click()
    result: Download = coming.value
    return Path(result.path()).read_bytes()


def systems(walk: Walk, ada: Page, images: list[str]) -> None:
    """Import two external runs, and train a system here, which ranks."""
    ada.get_by_role("link", name="Evaluation").first.click()
    for name, noise in (("near", 0.5), ("far", 1.5)):
        file = walk.folder / f"{name}.trec"
        file.write_text(ranked(images, noise=noise, seed=1))
        ada.get_by_role("link", name="Systems", exact=True).first.click()
        ada.get_by_role("link", name="Add a system").click()
        form = ada.get_by_role("form", name="Import a run")
        form.get_by_label("Name", exact=True).fill(f"{name}-annotation")
        form.get_by_label("File", exact=True).set_input_files(file)
        form.get_by_label("System", exact=True).fill(name)
        form.get_by_role("button", name="Upload").click()
        expect(ada.get_by_role("status")).to_contain_text(f"Run “{name}-annotation” was added.")
        ada.get_by_role("link", name="Runs", exact=True).first.click()
        expect(ada.get_by_role("row").filter(has_text=f"{name}-annotation")).to_contain_text(str(SOUND))
    ada.get_by_role("link", name="Systems", exact=True).first.click()
    ada.get_by_role("link", name="Train a system").click()
    ada.get_by_label("Name", exact=True).fill("learned")
    ada.get_by_label("Recipe").select_option("NN5-F1")
    ada.get_by_label("Or a fold for testing").fill("1/5")
    ada.get_by_role("button", name="Train", exact=True).click()
    # The list contains it as soon as the job is done, and links to it.
    ada.locator("#listed").get_by_role("link", name="learned", exact=True).click()
    form = ada.locator("form").filter(has=ada.get_by_role("button", name="Rank", exact=True))
    form.get_by_label("Captions").select_option("first caption")
    form.get_by_role("button", name="Rank", exact=True).click()
    row = ada.locator("#listed").get_by_role("row").filter(has_text="learned")
    expect(row.get_by_role("link", name="2")).to_be_visible()
    walk.picture(ada, "systems")


def batch(walk: Walk, ada: Page, ann: Page, bob: Page) -> None:
    """Let people judge the unknown pairs of the three runs, and freeze the result."""
    ada.get_by_role("link", name="Batches").click()
    ada.get_by_role("link", name="Build a batch").click()
    ada.get_by_role("button", name="Choose runs").click()
    for name in ("near", "far", "learned"):
        ada.get_by_label(f"{name}-annotation").check()
    ada.get_by_label("Pool depth").fill("2")
    ada.get_by_label("Lowest BLEU_pre of a pair").fill("")
    ada.get_by_label("Judges per pair").fill("2")
    ada.get_by_text("As TOML").click()
    ada.get_by_role("textbox", name="Settings of the campaign").fill(BATCH_SETTINGS)
    ada.get_by_role("button", name="Show size and cost").click()
    metadata = ada.locator(".priced .key-figures")
    pages = int(figure(metadata, "pages").inner_text())
    expect(metadata).to_contain_text(f"{2 * pages * A_PAGE} USD")
    walk.picture(ada, "price")
    ada.get_by_label("Name", exact=True).fill("first")
    ada.get_by_role("button", name="Launch").click()
    ada.locator("#listed").get_by_role("link", name="first", exact=True).click()
    invites(ada, "first", ann, bob)
    for page in (ann, bob):
        tasks = page.get_by_role("region", name="first")
        tasks.get_by_role("link", name="Read and agree").click()
        page.get_by_role("button", name="I agree").click()
        tasks.get_by_role("link", name="Which sentences fit?").first.click()
        page.get_by_role("button", name="I have read this: begin").click()
        page.wait_for_url("**/tasks/first/relevance/")
        assert judges(walk, page) == pages
    ada.goto("/evaluation/batches/first/?fresh=1")
    expect(ada.locator(".key-figures").first).to_contain_text(f"{2 * pages} answers; none still to come")
    expect(ada.locator(".key-figures").first).to_contain_text(f"{2 * pages * A_PAGE} USD")
    ada.get_by_label("Qrels").fill("pooled")
    ada.get_by_role("button", name="Collect and freeze").click()
    expect(ada.locator("#main")).to_contain_text("Frozen as pooled, version 1.")
    walk.picture(ada, "batch")


def figure(locator: Locator, name: str) -> Locator:
    """Return the figure of that name."""
    named = locator.page.locator("dt", has_text=re.compile(rf"^{name}$"))
    return locator.locator("div").filter(has=named).locator(".figure")


def judges(walk: Walk, page: Page) -> int:
    """Tick the first sentence of every page and send it; return the number of pages."""
    payload = 0
    while page.locator("[data-answer]").count():
        page.wait_for_function(WORKING)
        read(page)
        if not payload:
            walk.picture(page, "pairs")
        held = page.locator("[data-task]").get_attribute("data-assignment")
        page.locator(".block .tick").first.click()
        page.get_by_role("button", name="Send this page").click()
        expect(page.locator(f"[data-assignment='{held}']")).to_have_count(0)
        payload += 1
        walk.answered(page, "relevance")
    page.goto("/tasks/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    return payload


def report(walk: Walk, ada: Page) -> None:
    """Compare the runs, with the better one first, and download the table as LaTeX."""
    ada.get_by_role("link", name="Build a report").click()
    ada.get_by_label("Name", exact=True).fill("spring")
    ada.get_by_role("button", name="Build the report").click()
    ada.locator("#listed").get_by_role("link", name="spring", exact=True).click()
    expect(ada.locator("#main")).to_contain_text("with version 1 of qrels pooled")
    walk.picture(ada, "report")
    table = downloaded(ada, ada.locator(".report").get_by_role("link", name="LaTeX")).decode()
    rows = dict(re.findall(r"^(near|far|learned) & (.+?) \\\\$", table, re.M))
    assert {*rows} == {"near", "far", "learned"} and "\\begin{tabular}" in table
    for name in ("near", "far"):
        first = own_first((walk.folder / f"{name}.trec").read_text())
        shown_first = re.search(r"[\d.]+", rows[name])
        assert shown_first is not None and shown_first[0] == f"{100 * first:.1f}", name
