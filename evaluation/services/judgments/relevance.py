"""The rule that turns judgments into relevance: the requested one, or the default of their scale."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf
from evaluation.models import JudgmentSet
from evaluation.selectors import judgment_set
from evaluation.services.common import InputError
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.relevance.grades import EXPONENTIAL, LINEAR, MEAN, MEAN_GRADE, SUMMARIES, GradedRule, rule_on
from phrasebox.relevance.qrels import MAJORITY, RELEVANCE_RULES, AnyRule, RelevanceRule, rule_named
from phrasebox.relevance.scales import ONE_TO_FOUR, VOTE_SCALE, number, scale_named, score_named


@dataclass(frozen=True, slots=True)
class RelevanceChoice:
    """The rule by which a pair is relevant: named, or on any scale a lowest relevant score.

    With `originals` they are relevant, judged or not. Without a choice, votes are frozen by `majority`,
    grades from 1 to 4 by `mean_grade`, and others from the lowest relevant score of their format.
    """

    rule: str | None = None
    relevant_from: Fraction | None = None
    gains: str = LINEAR
    summary: str = MEAN
    originals: bool = True


_GAINS: Mapping[str, Any] = {
    LINEAR: _("linear: the score minus the lowest grade"),
    EXPONENTIAL: _("exponential: 2 to the power of that, minus 1"),
}
_SCORES: Mapping[str, Any] = dict(
    zip(SUMMARIES, (_("mean of its grades"), _("median of its grades")), strict=True)
)


def _gains() -> Mapping[str, Any]:
    return _GAINS


def _scores() -> Mapping[str, Any]:
    return _SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswers:
    """Request fields about answers on a scale."""

    relevant_from: Annotated[
        Annotated[str, Field(max_length=40)] | None,
        Help(_("Lowest relevant score"), _("For grades: a decimal number")),
    ] = None
    gains: Annotated[str, OneOf(_gains), Help(_("Gains of nDCG"), _("For grades"))] = LINEAR
    summary: Annotated[str, OneOf(_scores), Help(_("Score of a pair"), _("For grades"))] = MEAN

    def relevance(self, rule: str | None = None, *, originals: bool) -> RelevanceChoice:
        """Return the choice of the request. Raises BadScale for an invalid score."""
        return RelevanceChoice(
            rule,
            score_named(self.relevant_from) if self.relevant_from is not None else None,
            gains=self.gains,
            summary=self.summary,
            originals=originals,
        )


def check_relevance(corpus: str, judgments: str, relevance: RelevanceChoice) -> None:
    """Raise UnknownName or InputError if a rule or a score does not fit the judgments."""
    rule = rule_named(relevance.rule) if relevance.rule is not None else None
    fitting_rule(relevance, rule, judgment_set(corpus, judgments))


def fitting_rule(relevance: RelevanceChoice, rule: AnyRule | None, source: JudgmentSet) -> AnyRule:
    """Return the requested rule, or the default of the answers' scale; raises InputError if it is for
    another scale."""
    scale = scale_named(source.scale)
    try:
        if scale == VOTE_SCALE:
            usual: AnyRule | None = MAJORITY
        elif relevance.relevant_from is not None:
            usual = rule_on(scale, relevance.relevant_from, gains=relevance.gains, summary=relevance.summary)
        elif scale == ONE_TO_FOUR and (relevance.gains, relevance.summary) == (LINEAR, MEAN):
            usual = MEAN_GRADE
        else:
            known = JUDGMENT_FORMATS.get(source.format) if source.format in JUDGMENT_FORMATS else None
            threshold = known.relevant_from if known is not None else None
            usual = None
            if threshold is not None:
                usual = rule_on(scale, threshold, gains=relevance.gains, summary=relevance.summary)
    except ValueError as error:
        raise InputError(f"judgments {source.name!r}: {error}") from error
    graded = isinstance(rule, GradedRule) and (rule.low, rule.high) == (scale.low, scale.high)
    if rule is not None and (not isinstance(rule, RelevanceRule) if scale == VOTE_SCALE else not graded):
        instead = f"use {usual.name!r}, or leave the rule out" if usual else "name the lowest relevant score"
        kind = "votes" if scale == VOTE_SCALE else f"grades from {number(scale.low)} to {number(scale.high)}"
        raise InputError(
            f"judgments {source.name!r} are {kind}; rule {rule.name!r} does not apply to them; {instead}"
        )
    beside = _extra_choices(relevance)
    if scale == VOTE_SCALE and beside:
        raise InputError(
            f"judgments {source.name!r} are votes, which have a rule "
            f"({', '.join(RELEVANCE_RULES.keys())}), no score, no gains and no median; "
            f"leave {beside} out"
        )
    if rule is not None and beside:
        raise InputError(f"rule {rule.name!r} says all that makes a pair relevant; leave {beside} out")
    if rule is None and usual is None:
        raise InputError(
            f"judgments {source.name!r} are grades from {number(scale.low)} to {number(scale.high)}: give "
            "the lowest relevant score"
        )
    chosen_rule = rule or usual
    assert chosen_rule is not None
    return chosen_rule


def _extra_choices(relevance: RelevanceChoice) -> str:
    """Return, in words, the options that were set besides a rule's name; "" for none."""
    choices = {
        "the lowest relevant score": relevance.relevant_from is not None,
        "the gains": relevance.gains != LINEAR,
        "the median": relevance.summary != MEAN,
    }
    return ", ".join(what for what, chosen in choices.items() if chosen)
