"""Which images of a corpus a request asks for, and which layer: a split, a fold, or a run's images; on the
server a file of names."""

from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import OperationContext, invalid
from annotation.selectors.corpora import split_names
from evaluation.comparison.subsets import FOLD, OF_RUN
from evaluation.models import Run

#: The name of a layer, or "".
LayerField = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]*$", max_length=100)]


def check_images(
    field: str, text: str, corpus: Any, context: OperationContext, *, runs: bool = False, also: str = ""
) -> None:
    """Raise Invalid where the text of a field names no images of a corpus: a split, a fold such as 1/5,
    with `runs` run:NAME, or the word `also`; "" is always right. Whoever names files by their paths may name
    any other text, since a file may be there."""
    splits = [split for split in split_names(corpus) if split]
    if context.by_path or text in ("", also, *splits) or FOLD.fullmatch(text):
        return
    if runs and text.startswith(OF_RUN):
        rows = Run.objects.filter(name=text.removeprefix(OF_RUN), corpus=corpus, published=True)
        if rows.exists():
            return
    known = ", ".join(splits)
    raise invalid(field, "unknown_of" if known else "unknown", kind=_("split"), value=text[:100], known=known)


def check_layer(field: str, name: str, corpus: Any) -> None:
    """Raise Invalid where a field names no layer of a corpus; "" is always right."""
    known = ", ".join(layer_names(corpus))
    if name and name not in layer_names(corpus):
        raise invalid(field, "unknown_of" if known else "unknown", kind=_("layer"), value=name, known=known)


def layer_names(corpus: Any) -> list[str]:
    """The names of the layers of a corpus."""
    names = corpus.layers.filter(published=True).order_by("name").values_list("name", flat=True)
    return list(names)
