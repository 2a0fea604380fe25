"""Which layer of a corpus a request names."""

from __future__ import annotations

from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import invalid

#: The name of a layer, or "".
LayerField = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]*$", max_length=100)]


def check_layer(field: str, name: str, corpus: Any) -> None:
    """Raise Invalid where a field names no layer of a corpus; "" is always right."""
    known = ", ".join(layers_of(corpus))
    if name and name not in layers_of(corpus):
        raise invalid(field, "unknown_of" if known else "unknown", kind=_("layer"), value=name, known=known)


def layers_of(corpus: Any) -> list[str]:
    """The names of the layers of a corpus."""
    names = corpus.layers.filter(published=True).order_by("name").values_list("name", flat=True)
    return list(names)
