"""Qrels: the documents that are relevant to each query, frozen from judgments under named settings.

Definitions. A pair is relevant if the mean of its answers (no is 0, yes is 1; or any graded scale) passes the
threshold of a rule; it is judged if there is any answer. With `originals`, each query's original document is
relevant whether or not it was judged, since it was written for it. Means are compared as exact fractions, so
that two yeses of three are two thirds.

Rules. `majority`, the default: more yes than no, as Hodosh et al. 2013 say of relevance (section 4.3.3).
`two_thirds`: two yeses of three, as their section 4.3.2 explains its threshold of 0.66. `half`: as many yes
as no or more; from their published votes it alone gives the 2,031 additional pairs and the distributions that
section 4.3.2 prints. On three answers the rules agree; of the 47,830 published pairs they judge 35
differently. `relevant_by_rule` counts under each.

Grades have their own rules (`phrasebox.relevance.grades`): their rows have gains, and a relevant pair has at
least the rule's `level`. Originals have the highest gain. Imported qrels have the numbers of their file, and
are relevant from the level of their rule, `FileRelevance`; a pair of relevance 0 that is not judged was
pooled.

A snapshot never changes. Its digest covers settings and rows, not its name and version: the same judgments
under the same settings have the same digest, wherever they were read from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from phrasebox.registry import Registry, UnknownName
from phrasebox.relevance.grades import GRADED_RULES, GradedRule, JudgedPair, graded_rule_named

#: Increase this when the meaning of a row changes; part of the digest.
_DEFINITION = 1


@dataclass(frozen=True, slots=True)
class RelevanceRule:
    """A pair is relevant if its mean answer is at least `threshold` (if `strict`: above it)."""

    name: str
    threshold: Fraction
    strict: bool = False

    @property
    def level(self) -> int:
        """The least relevance of a row that counts as relevant."""
        return 1

    @property
    def highest(self) -> int:
        """The relevance of an original."""
        return 1

    def relevance(self, pair: JudgedPair) -> int:
        """Return the relevance of a pair for its row."""
        return int(self.holds(pair))

    def described(self) -> str:
        """Return the rule in one line, for the digest."""
        return f"mean {'>' if self.strict else '>='} {self.threshold}"

    def holds(self, pair: JudgedPair) -> bool:
        """Return whether the mean answer reaches the threshold, in exact fractions."""
        answers = pair.grades
        total = sum(answers)
        # Cross-multiplied: integers stay integers, and two thirds is exact.
        above, below = total * self.threshold.denominator, len(answers) * self.threshold.numerator
        return above > below if self.strict else above >= below


RELEVANCE_RULES: Registry[RelevanceRule] = Registry("relevance rule")
HALF = RELEVANCE_RULES.register("half", RelevanceRule("half", Fraction(1, 2)))
MAJORITY = RELEVANCE_RULES.register("majority", RelevanceRule("majority", Fraction(1, 2), strict=True))
TWO_THIRDS = RELEVANCE_RULES.register("two_thirds", RelevanceRule("two_thirds", Fraction(2, 3)))


@dataclass(frozen=True, slots=True)
class FileRelevance:
    """Relevance as given by a file; a pair is relevant from `level` on."""

    level: int = 1

    @property
    def name(self) -> str:
        """The rule's name, which ends in its level."""
        return f"{IMPORTED}{self.level}"

    @property
    def highest(self) -> int:
        """The relevance of an original."""
        return self.level

    def relevance(self, pair: JudgedPair) -> int:
        """Return the relevance of a pair for its row: its integer as it is."""
        return int(pair.mean)

    def described(self) -> str:
        """Return the rule in one line, for the digest."""
        return f"as given, relevant from {self.level}"

    def holds(self, pair: JudgedPair) -> bool:
        """Return whether the pair's integer grade is at least the level."""
        return self.relevance(pair) >= self.level


#: Prefix of the names of rules that use the relevance of a file.
IMPORTED = "given from "

#: A rule for votes, for grades, or for the relevance in a file.
AnyRule = RelevanceRule | GradedRule | FileRelevance


def rule_named(name: str) -> AnyRule:
    """Return the rule with this name, for votes or for grades; raises UnknownName listing both kinds.

    The names of rules on other scales, and of those of imported qrels, contain their definition.
    """
    if name.startswith(IMPORTED) and name.removeprefix(IMPORTED).isdecimal():
        return FileRelevance(int(name.removeprefix(IMPORTED)))
    if " from " in name:
        try:
            return graded_rule_named(name)
        except ValueError as error:
            raise UnknownName(f"unknown relevance rule: {error}") from error
    if name in GRADED_RULES:
        return GRADED_RULES.get(name)
    if name in RELEVANCE_RULES:
        return RELEVANCE_RULES.get(name)
    votes, grades = ", ".join(RELEVANCE_RULES.keys()), ", ".join(GRADED_RULES.keys())
    raise UnknownName(f"unknown relevance rule {name!r}; known: {votes}; of grades: {grades}")


@dataclass(frozen=True, slots=True)
class QrelsSettings:
    """How judgments become relevance. `originals`: whether originals are relevant without a judgment.

    `images` is a digest of the images that take part, empty if all do; `queries` is a digest of the queries,
    empty if they are those of the rows.
    """

    rule: AnyRule = MAJORITY
    originals: bool = True
    images: str = ""
    queries: str = ""

    def described(self) -> str:
        """Return the settings in one line, for the digest."""
        some = f"; of images {self.images}" if self.images else ""
        some += f"; queries {self.queries}" if self.queries else ""
        return f"{self.rule.described()}; originals {'relevant' if self.originals else 'as judged'}{some}"


@dataclass(frozen=True, slots=True, order=True)
class Qrel:
    """One row: `relevance` is 0 or 1, or a gain for grades; `judged` is False for an unjudged original."""

    query: str
    document: str
    relevance: int
    judged: bool = True


@dataclass(frozen=True)
class Qrels:
    """A frozen snapshot. `rows` are sorted by query and document, without duplicates."""

    name: str
    version: int
    settings: QrelsSettings
    rows: tuple[Qrel, ...]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of definition, settings and rows, in hexadecimal."""
        hashed = hashlib.sha256(f"qrels {_DEFINITION}\n{self.settings.described()}\n".encode())
        for row in self.rows:
            line = f"{row.query}\t{row.document}\t{row.relevance}\t{int(row.judged)}\n"
            hashed.update(line.encode())
        return hashed.hexdigest()

    @cached_property
    def relevant(self) -> Mapping[str, frozenset[str]]:
        """A mapping from queries to their relevant documents; queries without any are left out."""
        level = self.settings.rule.level
        return _grouped((row.query, row.document) for row in self.rows if row.relevance >= level)

    @cached_property
    def judged(self) -> Mapping[str, frozenset[str]]:
        """A mapping from queries to their judged documents."""
        return _grouped((row.query, row.document) for row in self.rows if row.judged)

    def turned(self) -> Qrels:
        """Return the same pairs for the other direction: documents are queries, and queries documents."""
        rows = sorted(replace(row, query=row.document, document=row.query) for row in self.rows)
        return replace(self, rows=tuple(rows))


def freeze_pairs(
    pairs: Iterable[JudgedPair],
    *,
    name: str,
    settings: QrelsSettings | None = None,
    originals: Iterable[tuple[str, str]] | None = None,
    previous: Qrels | None = None,
    same_source: bool = True,
) -> Qrels:
    """Return a snapshot of `pairs`.

    `originals` are pairs of a query and a document that was made for it; a query may have several. They are
    required if the settings count originals. `previous` is the last snapshot of this name: if nothing changed
    it is returned itself, else the version is one higher; `same_source` says whether it was made from the
    same judgments, since others may give the same rows. Raises ValueError for a duplicate pair, for missing
    originals, and for answers that are not grades.
    """
    settings = settings or QrelsSettings()
    if settings.originals and originals is None:
        raise ValueError("the settings count originals as relevant; give each query's original")
    rows: dict[tuple[str, str], Qrel] = {}
    for pair in pairs:
        key = (pair.query, pair.document)
        if key in rows:
            raise ValueError(f"the pair {pair.query!r}, {pair.document!r} occurs twice; merge its answers")
        rows[key] = Qrel(*key, relevance=settings.rule.relevance(pair))
    for key in dict.fromkeys(originals or ()) if settings.originals else ():
        rows[key] = Qrel(*key, relevance=settings.rule.highest, judged=key in rows)
    return next_version(
        Qrels(name, 1, settings, tuple(sorted(rows.values()))), previous, same_source=same_source
    )


def next_version(qrels: Qrels, previous: Qrels | None, *, same_source: bool = True) -> Qrels:
    """Return `qrels` as the version after `previous`, or `previous` itself if nothing changed, as in
    `freeze_pairs`."""
    if previous is None:
        return qrels
    if same_source and previous.digest == qrels.digest:
        return previous
    return replace(qrels, version=previous.version + 1)


def relevant_by_rule(
    pairs: Collection[JudgedPair], originals: Iterable[tuple[str, str]] = (), *, like: AnyRule = MAJORITY
) -> dict[str, int]:
    """Return how many pairs are relevant under each rule of the same kind as `like`; `originals` always
    count."""
    original_pairs = frozenset(originals)
    rules: Iterable[AnyRule] = RELEVANCE_RULES if isinstance(like, RelevanceRule) else [like]
    if isinstance(like, GradedRule) and like.name in GRADED_RULES:
        rules = GRADED_RULES
    return {
        rule.name: len(original_pairs | {(pair.query, pair.document) for pair in pairs if rule.holds(pair)})
        for rule in rules
    }


def _grouped(pairs: Iterator[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for query, document in pairs:
        groups.setdefault(query, set()).add(document)
    return {query: frozenset(documents) for query, documents in groups.items()}
