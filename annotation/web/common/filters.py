"""A corpus page's filter as a query string, and back: the address bar contains the whole state."""

from collections.abc import Mapping

from django.utils.http import urlencode

from annotation.selectors.browse import Filter

#: Maximum number of characters of a query for tags.
_LONGEST_QUERY = 1_000


def filter_in(query: Mapping[str, str]) -> Filter:
    """Return the filter of a query string. Null characters, which no database stores, are removed."""
    return Filter(
        split=_clean(query, "split"),
        category=_clean(query, "category"),
        text=_clean(query, "text"),
        tags=_clean(query, "tags")[:_LONGEST_QUERY],
        unfinished=_clean(query, "unfinished") == "1",
    )


def layer_in(query: Mapping[str, str]) -> str:
    """Return the layer's name in a query string, "" for the first."""
    return _clean(query, "layer")


def query_number(query: Mapping[str, str], name: str) -> int | None:
    """Return a whole number of a query string, None if there is none."""
    value = query.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def filter_query(selection: Filter, layer: str = "", **more: str | int | None) -> str:
    """Return `?...` for a filter, a layer and other values, without empty ones; "" if all are empty."""
    fields: dict[str, str | int | None] = {
        "split": selection.split,
        "layer": layer,
        "category": selection.category,
        "text": selection.text,
        "tags": selection.tags,
        "unfinished": "1" if selection.unfinished else "",
        **more,
    }
    held = {name: value for name, value in fields.items() if value not in ("", None)}
    return f"?{urlencode(held)}" if held else ""


def _clean(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "").replace("\0", "").strip()
