"""What a campaign's answers add up to, without adding them all up each time.

A line of the ledger (an assignment that was handed in) never changes once it is written, but that it may
become another worker's (`joining`, which raises the campaign's revision). So the sums of all lines but the
newest ones are stored, by each process and in the database (`CampaignSums`, by `campaigns.stored_sums`).
What ended since is added to them.

Kept sums say when all lines were last counted. All are counted again after a day, and where the sums end
later than the clock allows: it was fast and was set back, so lines may come that end before `until`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from django.core.cache import cache
from django.utils import timezone

from annotation.models import Campaign, CampaignSums

#: After this long, whatever ended is committed, whichever clock it was read from.
UNSETTLED = timedelta(minutes=10)
#: Seconds for which a process keeps sums, and how long sums may be added to before all is counted again.
_CACHE_SECONDS = 24 * 3600
RECOUNT_AFTER = timedelta(days=1)
#: The periodic work has an hour to count again. Sums that are older than that are counted when they are read.
_GRACE = timedelta(hours=1)
#: What is kept lies at least `UNSETTLED` back. Clocks of several machines differ by less than this; what lies
#: beyond was kept before a clock was set back.
_CLOCKS_DIFFER = UNSETTLED / 2

_Key = TypeVar("_Key")
_Sum = TypeVar("_Sum", bound=tuple[Any, ...])
_Sums = dict[_Key, _Sum]


class Settled(NamedTuple, Generic[_Key, _Sum]):
    """What ended at `until` or before came to; `counted_at`: when all of it was last added up."""

    until: datetime
    sums: dict[_Key, _Sum]
    counted_at: datetime


def is_outdated(until: datetime, counted_at: datetime, *, now: datetime) -> bool:
    """Whether sums that are kept are to be counted again: they are a day old, or the clock was set back."""
    return now - counted_at >= RECOUNT_AFTER or until > now - UNSETTLED + _CLOCKS_DIFFER


@dataclass(frozen=True)
class LedgerSums(Generic[_Key, _Sum]):
    """One way of adding up: what it is called, and how it is read.

    `all_of(campaigns, until)` adds up all that ended at a time or before; `newer(after, until)` what ended
    after each campaign's time, and at `until` or before where it is given. `to_json` and `from_json` turn a
    key and its sum into a list of JSON, and back.
    """

    what: str
    all_of: Callable[[Sequence[int], datetime], Mapping[int, _Sums[_Key, _Sum]]]
    newer: Callable[[Mapping[int, datetime], datetime | None], Mapping[int, _Sums[_Key, _Sum]]]
    to_json: Callable[[_Key, _Sum], list[Any]]
    from_json: Callable[[list[Any]], tuple[_Key, _Sum]]

    def now(self, campaigns: Sequence[Campaign]) -> dict[int, _Sums[_Key, _Sum]]:
        """Campaign (its id) -> its sums until now; as many queries for any number of campaigns."""
        # Ids alone are used again by databases that are thrown away.
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
        """Campaign -> its sums as the database keeps them, of its present revision; those without are not
        there."""
        revisions = {campaign.pk: campaign.revision for campaign in campaigns}
        rows = CampaignSums.objects.filter(campaign__in=revisions, what=self.what) if revisions else ()
        return {
            row.campaign_id: self.of_row(row) for row in rows if row.revision == revisions[row.campaign_id]
        }

    def of_row(self, row: CampaignSums) -> Settled[_Key, _Sum]:
        """The sums that a row keeps."""
        return Settled(row.until, dict(map(self.from_json, row.sums)), row.counted_at)

    def advanced(
        self, known: Mapping[int, Settled[_Key, _Sum]], until: datetime
    ) -> dict[int, Settled[_Key, _Sum]]:
        """The same sums with what ended since, at `until` or before."""
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
    """The sums that may be added to; for an hour also those that the periodic work is to count again."""
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
