"""Sums over a campaign's answers, without adding up all of them each time.

A line of the ledger (a submitted assignment) never changes once it is written, except that it may become
another worker's (`joining`, which raises the campaign's revision). So the sums of all lines but the newest
ones are stored, by each process and in the database (`CampaignSums`, by `campaigns.stored_sums`), and newer
lines are added to them.

Stored sums contain the time when all lines were last counted. All are counted again after a day, and if the
sums end in the future: the clock was fast and was set back, so lines that end before `until` may follow.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from django.core.cache import cache
from django.utils import timezone

from annotation.models import Campaign, CampaignSums

#: After this time, every ended assignment is committed, whatever clock set its time.
UNSETTLED = timedelta(minutes=10)
#: Seconds for which a process caches sums, and for which sums are updated before all lines are counted again.
_CACHE_SECONDS = 24 * 3600
RECOUNT_AFTER = timedelta(days=1)
#: The periodic work has an hour to count again. Older sums are counted when they are read.
_GRACE = timedelta(hours=1)
#: Stored sums end at least `UNSETTLED` ago. Clocks of several machines differ by less than this; a later end
#: was stored before a clock was set back.
_CLOCKS_DIFFER = UNSETTLED / 2

_Key = TypeVar("_Key")
_Sum = TypeVar("_Sum", bound=tuple[Any, ...])
_Sums = dict[_Key, _Sum]


class Settled(NamedTuple, Generic[_Key, _Sum]):
    """Sums of everything that ended at `until` or before; `counted_at`: when all of it was last added up."""

    until: datetime
    sums: dict[_Key, _Sum]
    counted_at: datetime


def is_outdated(until: datetime, counted_at: datetime, *, now: datetime) -> bool:
    """Whether stored sums must be counted again: they are a day old, or the clock was set back."""
    return now - counted_at >= RECOUNT_AFTER or until > now - UNSETTLED + _CLOCKS_DIFFER


@dataclass(frozen=True)
class LedgerSums(Generic[_Key, _Sum]):
    """One kind of sums: its name, and how it is read.

    `all_of(campaigns, until)` adds up everything that ended at a time or before; `newer(after, until)` what
    ended after each campaign's time, and at `until` or before if it is set. `to_json` and `from_json` convert
    a key and its sum to a list of JSON, and back.
    """

    what: str
    all_of: Callable[[Sequence[int], datetime], Mapping[int, _Sums[_Key, _Sum]]]
    newer: Callable[[Mapping[int, datetime], datetime | None], Mapping[int, _Sums[_Key, _Sum]]]
    to_json: Callable[[_Key, _Sum], list[Any]]
    from_json: Callable[[list[Any]], tuple[_Key, _Sum]]

    def now(self, campaigns: Sequence[Campaign]) -> dict[int, _Sums[_Key, _Sum]]:
        """Return the sums until now by the id of each campaign; the number of queries is independent of the
        number of campaigns."""
        # Temporary databases reuse ids, so an id alone is not enough.
        names = {
            row.pk: f"settled-{row.pk}-{row.created_at.timestamp()}-{row.revision}-{self.what}"
            for row in campaigns
        }
        cached = cache.get_many(list(names.values()))
        known = _still_good({campaign: cached[name] for campaign, name in names.items() if name in cached})
        new = [row for row in campaigns if row.pk not in known]
        known |= _still_good(self.stored(new))
        now = timezone.now()
        until = now - UNSETTLED
        missing = [row.pk for row in new if row.pk not in known]
        if missing:
            counted = self.all_of(missing, until)
            known |= {campaign: Settled(until, counted[campaign], now) for campaign in missing}
        late = {campaign: row.until for campaign, row in known.items() if until - row.until > UNSETTLED}
        known |= self.advanced({campaign: known[campaign] for campaign in late}, until)
        changed = {*(row.pk for row in new), *late}
        cache.set_many({names[campaign]: known[campaign] for campaign in changed}, _CACHE_SECONDS)
        newest = self.newer({campaign: row.until for campaign, row in known.items()}, None)
        return {campaign: _added(row.sums, newest[campaign]) for campaign, row in known.items()}

    def stored(self, campaigns: Iterable[Campaign]) -> dict[int, Settled[_Key, _Sum]]:
        """Return by campaign the sums in the database of its current revision; campaigns without are
        missing."""
        revisions = {campaign.pk: campaign.revision for campaign in campaigns}
        rows = CampaignSums.objects.filter(campaign__in=revisions, what=self.what) if revisions else ()
        return {
            row.campaign_id: self.of_row(row) for row in rows if row.revision == revisions[row.campaign_id]
        }

    def of_row(self, row: CampaignSums) -> Settled[_Key, _Sum]:
        """Return the sums of a row."""
        return Settled(row.until, dict(map(self.from_json, row.sums)), row.counted_at)

    def advanced(
        self, known: Mapping[int, Settled[_Key, _Sum]], until: datetime
    ) -> dict[int, Settled[_Key, _Sum]]:
        """Return the sums plus everything that ended since, at `until` or before."""
        if not known:
            return {}
        more = self.newer({campaign: ledger.until for campaign, ledger in known.items()}, until)
        return {
            campaign: ledger._replace(until=until, sums=_added(ledger.sums, more[campaign]))
            for campaign, ledger in known.items()
        }


def _still_good(
    known: Mapping[int, Settled[_Key, _Sum]],
) -> dict[int, Settled[_Key, _Sum]]:
    """Return the sums that may be updated; for an hour, also those that the periodic work will count
    again."""
    now = timezone.now()
    return {
        campaign: campaign_number
        for campaign, campaign_number in known.items()
        if not is_outdated(campaign_number.until, campaign_number.counted_at + _GRACE, now=now)
    }


def _added(sums: Mapping[_Key, _Sum], more: Mapping[_Key, _Sum]) -> dict[_Key, _Sum]:
    total = dict(sums)
    for key, new in more.items():
        kind: Any = type(new)  # a NamedTuple of numbers
        before = total.get(key, kind())
        total[key] = kind(*(old_value + new_value for old_value, new_value in zip(before, new, strict=True)))
    return total
