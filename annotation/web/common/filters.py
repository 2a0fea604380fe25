"""A corpus page's filter in its address, and back: what stands in the address bar is the whole state."""

from collections.abc import Mapping

from django.utils.http import urlencode

from annotation.selectors.browse import Filter

#: A query for tags has no more characters than this.
_LONGEST_QUERY = 1_000


def filter_in(query: Mapping[str, str]) -> Filter:
    """The filter that an address asks for. Null characters, which no database stores, are dropped."""
    return Filter(
        split=_clean(query, "split"),
        category=_clean(query, "category"),
        text=_clean(query, "text"),
        tags=_clean(query, "tags")[:_LONGEST_QUERY],
        unfinished=_clean(query, "unfinished") == "1",
    )


def layer_in(query: Mapping[str, str]) -> str:
    """The name of the layer that an address asks for, "" for the first."""
    return _clean(query, "layer")


def query_number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number that an address asks for, None where there is none."""
    value = query.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def filter_query(selection: Filter, layer: str = "", **more: str | int | None) -> str:
    """`?...` for a filter, a layer and whatever else, empty ones left out; "" where nothing is asked."""
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
