"""Labels of workers' states in a campaign."""

from django.utils.translation import gettext_lazy, ngettext

from annotation.selectors.campaign.crowd import KindRow, WorkerRow

#: Labels of a worker's trust at a kind.
TRUST_LABELS = {
    "qualification": gettext_lazy("not tested"),
    "unchecked": gettext_lazy("unchecked"),
    "warm_up": gettext_lazy("in warm-up"),
    "trusted": gettext_lazy("trusted"),
    "suspended": gettext_lazy("suspended for accuracy"),
}
#: These, and labels of a researcher's acts.
WORKER_STATE_LABELS = {
    **TRUST_LABELS,
    "blocked": gettext_lazy("suspended by a researcher"),
    "withdrawn": gettext_lazy("answers withdrawn"),
}


def trust_label(kind: KindRow) -> str:
    """Return a worker's state for a kind, in a word or two."""
    state = "withdrawn" if kind.withdrawn_at else "blocked" if kind.blocked else kind.state
    return str(WORKER_STATE_LABELS.get(state, state))


def is_off(kind: KindRow) -> bool:
    """Whether a worker gets no tasks of a kind."""
    return kind.blocked or kind.withdrawn_at is not None or kind.state == "suspended"


def trust_summary(row: WorkerRow, kind: str = "") -> str:
    """Return a worker's state for all kinds together, or for one of them."""
    kinds = [trust_row for trust_row in row.kinds if kind in ("", trust_row.kind)]
    if len(kinds) == 1:
        return trust_label(kinds[0])
    off = sorted({trust_label(trust_row) for trust_row in kinds if is_off(trust_row)})
    trusted = sum(trust_row.state == "trusted" and not is_off(trust_row) for trust_row in kinds)
    words = ngettext(
        "trusted for %(trusted)d of %(kinds)d kind", "trusted for %(trusted)d of %(kinds)d kinds", len(kinds)
    )
    return "; ".join([words % {"trusted": trusted, "kinds": len(kinds)}, *off])
