"""Notices on sources that likely hold the same cost, for answers and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Final

import msgspec

from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import money, percent_text

OVERLAPS: Final = """
    SELECT json_agg(json_build_array(o.source_id, a.name, o.other_id, b.name, to_char(o.month, 'YYYY-MM'), o.currency,
        o.amount::text, o.share::text, o.kind) ORDER BY o.source_id, o.other_id, o.currency, o.kind, o.month)
    FROM costs_sourceoverlap o JOIN costs_costsource a ON a.id = o.source_id JOIN costs_costsource b ON b.id = o.other_id
    WHERE o.account_id = %(account)s AND o.dismissed_at IS NULL
"""
"""The text that `read_overlaps` parses, of the overlaps that were not dismissed."""

_WHAT: Final = {
    "lines": "{source} and {other} have equal cost for the same accounts, services, resources and "
    "days (up to {share} of the smaller)",
    "nodes": "{source} and {other} have the cost of the same cluster nodes, billed by the cloud and "
    "allocated by OpenCost (up to {share} of the allocation)",
}


class MonthOverlap(msgspec.Struct, array_like=True, frozen=True):
    """A row of SourceOverlap. `month` is 2026-05."""

    source_id: int
    source: str
    other_id: int
    other: str
    month: str
    currency: str
    amount: Decimal
    share: Decimal
    kind: str


@dataclass(frozen=True)
class OverlapNotice:
    """Two sources that likely hold the same cost: what may be counted twice in one currency, over some months."""

    source_id: int
    source: str
    other_id: int
    other: str
    currency: str
    amount: Decimal
    months: tuple[str, ...]
    share: Decimal
    """The share of the smaller source, or of OpenCost's, in the month where it is largest."""
    kind: str

    @property
    def sentence(self) -> str:
        first, last = self.months[0], self.months[-1]
        when = first if first == last else f"{first} to {last}"
        reason = _WHAT[self.kind].format(source=self.source, other=self.other, share=percent_text(self.share))
        return f"{money(self.amount, self.currency)} of {when} may be counted twice: {reason}."


_decode = msgspec.json.Decoder(list[MonthOverlap]).decode


def read_overlaps(text: str | None) -> Sequence[MonthOverlap]:
    """Parse the text of `OVERLAPS`."""
    return tuple(_decode(text or "[]"))


def overlap_notices(rows: Iterable[MonthOverlap], days: DateRange | None = None) -> list[OverlapNotice]:
    """Return a notice for each pair of sources, currency and kind; with `days`, of the months that they overlap."""
    if days is not None:
        rows = [row for row in rows if f"{days.start:%Y-%m}" <= row.month <= f"{days.end:%Y-%m}"]
    notices = []
    for (source_id, other_id, currency, kind), some in groupby(rows, _pair):
        months = list(some)
        notices.append(
            OverlapNotice(
                source_id,
                months[0].source,
                other_id,
                months[0].other,
                currency,
                exact_sum(each.amount for each in months),
                tuple(each.month for each in months),
                max(each.share for each in months),
                kind,
            )
        )
    return notices


def _pair(row: MonthOverlap) -> tuple[int, int, str, str]:
    return row.source_id, row.other_id, row.currency, row.kind
