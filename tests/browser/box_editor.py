"""Helpers for tests of the box editor in a browser."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.sync_api import Page, expect

from annotation.models import Judgment
from tests.web.world import SIZE

EDGES = ("Left", "Top", "Right", "Bottom")
Point = tuple[float, float]


def box(page: Page) -> list[int | None]:
    """Return the values of the four fields."""
    values = [page.get_by_label(name, exact=True).input_value() for name in EDGES]
    return [int(value) if value else None for value in values]


def comes_to(page: Page, edges: Sequence[int | None]) -> None:
    """Wait until the four fields have these values: gestures take effect with the browser's next frames."""
    for name, edge in zip(EDGES, edges, strict=True):
        expect(page.get_by_label(name, exact=True)).to_have_value("" if edge is None else str(edge))


def stored_box() -> tuple[list[int | None], str]:
    """Return ann's stored box, and how it was drawn."""
    judgment = Judgment.objects.get(worker__pseudonym="w-ann")
    return [judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax], judgment.way


def _sheet(page: Page) -> tuple[float, float, float, float]:
    at = page.locator(".sheet").bounding_box()
    assert at is not None
    return at["x"], at["y"], at["width"] / SIZE[0], at["height"] / SIZE[1]


def point_at(page: Page, x: float, y: float) -> Point:
    """Return the position in the window of the point between pixels `x`, `y` (0, 0 is the picture's
    corner)."""
    left, top, wide, high = _sheet(page)
    return left + x * wide, top + y * high


def under(page: Page, x: float, y: float) -> Point:
    """Return the point of the picture at `x`, `y` of the window."""
    left, top, wide, high = _sheet(page)
    return (x - left) / wide, (y - top) / high


def drag(page: Page, start: Point, end: Point) -> None:
    """Press at one point of the picture, and release at another."""
    page.mouse.move(*point_at(page, *start))
    page.mouse.down()
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*point_at(page, *middle))
    page.mouse.move(*point_at(page, *end))
    page.mouse.up()


def click(page: Page, x: int, y: int) -> None:
    """Click on the pixel `x`, `y`, 1-based."""
    page.mouse.click(*point_at(page, x - 0.5, y - 0.5))


def zoom(page: Page, expected: float, at: Point) -> None:
    """Zoom with keys, with the mouse at a point of the picture that stays visible."""
    page.mouse.move(*point_at(page, *at))
    for _ in range(12):
        now = zoomed(page)
        if now == expected:
            return
        page.keyboard.press("+" if now < expected else "-")
    raise AssertionError(f"no way to zoom {expected}")


def zoomed(page: Page) -> float:
    """Return the zoom that the editor shows; 1 shows the whole picture."""
    return float((page.locator("[data-zoom]").text_content() or "").rstrip(" %")) / 100


def by_points(page: Page) -> None:
    """Select drawing by four extreme points."""
    page.get_by_role("radio", name="Four points").check()


class Fingers:
    """Fingers on a touch screen, one per point."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)

    def _send(self, kind: str, places: tuple[Point, ...]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def down(self, *places: Point) -> None:
        self._send("touchStart", places)

    def move(self, *places: Point) -> None:
        self._send("touchMove", places)

    def up(self) -> None:
        self._send("touchEnd", ())

    def drag(self, start: Point, end: Point) -> None:
        """Drag one finger over the picture, slowly: a fast release flings, and a tap stops that."""
        self.down(point_at(self.page, *start))
        for share in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.move(point_at(self.page, x, y))
            self.page.wait_for_timeout(100)
        self.up()

    def tap(self, x: int, y: int) -> None:
        """Tap on the pixel `x`, `y`."""
        self.down(point_at(self.page, x - 0.5, y - 0.5))
        self.page.wait_for_timeout(50)
        self.up()
