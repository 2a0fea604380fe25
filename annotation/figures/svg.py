"""Convert a figure to SVG for any page. The same figure gives the same text.

The page's policy permits no inline style, in light or dark: so styles become attributes, black becomes the
colour of the page's text, and ids, which must be unique in a page, begin with the figure's key.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from defusedxml.ElementTree import fromstring

from annotation.figures.style import FIGURE_INK, styled

if TYPE_CHECKING:  # matplotlib is imported on use: most processes never draw
    from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_FONT = re.compile(r"(?:(italic|oblique)\s+)?(?:(bold|\d{3})\s+)?([\d.]+)px\s+(.+)")
#: The page's own font comes before the one that matplotlib measured with.
_FAMILY = "system-ui, 'DejaVu Sans', sans-serif"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def drawn_as_svg(draw: Callable[[], Figure], *, key: str, title: str) -> str:
    """Return the figure of `draw` as an SVG document without style, script or date; its ids begin with `key`,
    and `title` is its accessible name."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    with styled():
        figure = draw()
        FigureCanvasSVG(figure)
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _inline(out.getvalue(), key, title)


def _inline(text: str, key: str, title: str) -> str:
    root = fromstring(text)
    ElementTree.register_namespace("", _SVG)
    for tag in ("metadata", "defs"):
        for element in root.findall(f"{{{_SVG}}}{tag}"):
            for inner in list(element):
                if inner.tag in (f"{{{_SVG}}}style",) or tag == "metadata":
                    element.remove(inner)
            if not len(element):
                root.remove(element)
    referred = {
        *(value[1:] for node in root.iter() if (value := node.get(_XLINK, "")).startswith("#")),
        *(
            name
            for node in root.iter()
            for value in node.attrib.values()
            for name in _REFERENCE.findall(value)
        ),
    }
    for node in root.iter():
        _unstyle(node)
        _rename(node, key, referred)
    root.set("role", "img")
    root.set("aria-label", title)
    root.set("class", "figure")
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    root.set("font-family", _FAMILY)
    root.set("fill", "currentColor")  # the default fill of matplotlib is black
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    head = ElementTree.Element(f"{{{_SVG}}}title")
    head.text = title
    root.insert(0, head)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _unstyle(element: ElementTree.Element) -> None:
    """Turn an element's style into attributes, and black into the page's colour."""
    for part in element.attrib.pop("style", "").split(";"):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        if name == "font" and (font := _FONT.fullmatch(value)):
            element.set("font-size", font[3])
            if font[2]:
                element.set("font-weight", font[2])
        elif name and name not in ("font", "font-family"):
            element.set(name, value)
    for name in ("fill", "stroke"):
        if element.get(name) == FIGURE_INK:
            element.set(name, "currentColor")


def _rename(element: ElementTree.Element, key: str, referred: set[str]) -> None:
    """Rename the ids that something refers to, with this figure's prefix, and remove others."""
    name = element.attrib.pop("id", "")
    if name in referred:
        element.set("id", f"{key}-{name}")
    target = element.attrib.pop(_XLINK, "")
    if target:
        element.set("href", f"#{key}-{target[1:]}" if target.startswith("#") else target)
    for attribute, value in list(element.attrib.items()):
        if _REFERENCE.search(value):
            element.set(attribute, _REFERENCE.sub(rf"url(#{key}-\1)", value))
