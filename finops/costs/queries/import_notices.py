"""What of imports somebody should look at: those that wait for review, months that moved far, and sources that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Final

import msgspec
from django.db import connection

from accounts.models import Account
from finops.lib.money import exact_sum
from finops.lib.sentences import join_with_and, money, percent_text, truncate

SHOWN: Final = 10
MOVED_DAYS: Final = 14
"""An import that went on although it needed review (a sync, or confirmed) is named for so long."""

_NOTICES: Final = """
SELECT (SELECT json_agg(json_build_array(i.id, i.source_id, s.name, i.file_name, i.status, i.reasons)) FROM (
    SELECT id, source_id, file_name, status, jsonb_path_query_array(report, '$.reviews[*].reason') AS reasons
    FROM costs_costimport WHERE account_id = %(account)s AND (status = 'waiting' OR (status = 'done' AND origin = 'sync'
        AND finished_at > now() - make_interval(days => %(days)s) AND jsonb_array_length(coalesce(report->'reviews', '[]')) > 0))
    ORDER BY id DESC LIMIT %(shown)s
) AS i JOIN costs_costsource s ON s.id = i.source_id)::text, (
    SELECT json_agg(json_build_array(o.source_id, a.name, o.other_id, b.name, to_char(o.month, 'YYYY-MM'), o.currency,
        o.amount::text, o.share::text) ORDER BY o.source_id, o.other_id, o.currency, o.month)
    FROM costs_sourceoverlap o JOIN costs_costsource a ON a.id = o.source_id JOIN costs_costsource b ON b.id = o.other_id
    WHERE o.account_id = %(account)s AND o.dismissed_at IS NULL
)::text
"""


class ImportNotice(msgspec.Struct, array_like=True, frozen=True):
    """An import that waits for review, or went on without one."""

    id: int
    source_id: int
    source: str
    file: str
    status: str
    reasons: list[str]

    @property
    def waits(self) -> bool:
        return self.status == "waiting"

    @property
    def sentence(self) -> str:
        why = " ".join(self.reasons[:2])
        if self.waits:
            return f"An import into {self.source} ({truncate(self.file, 60)}) needs review, and is not in any figure: {why}"
        return f"An import into {self.source} ({truncate(self.file, 60)}) changed a month far: {why}"


class _Overlap(msgspec.Struct, array_like=True, frozen=True):
    source_id: int
    source: str
    other_id: int
    other: str
    month: str
    currency: str
    amount: Decimal
    share: Decimal


@dataclass(frozen=True)
class OverlapNotice:
    """Two sources that are likely to hold the same cost: what may be counted twice in one currency, over all months."""

    source_id: int
    source: str
    other_id: int
    other: str
    currency: str
    amount: Decimal
    months: tuple[str, ...]
    share: Decimal
    """Of the smaller source, in the month where it is largest."""

    @property
    def sentence(self) -> str:
        first, last = self.months[0], self.months[-1]
        when = first if first == last else f"{first} to {last}"
        return (
            f"{money(self.amount, self.currency)} of {when} may be counted twice: {self.source} and {self.other} have the"
            f" same cost of the same accounts, services, resources and days (up to {percent_text(self.share)} of the smaller)."
        )


@dataclass(frozen=True)
class ImportNotices:
    imports: Sequence[ImportNotice]
    overlaps: Sequence[OverlapNotice]

    @property
    def sentences(self) -> list[str]:
        return [*(each.sentence for each in self.overlaps), *(each.sentence for each in self.imports)]

    @property
    def summary(self) -> str:
        """`; 465.00 USD may be counted twice`: what a first sentence must not leave out; "" when there is nothing."""
        waiting = sum(each.waits for each in self.imports)
        parts = [
            f"{join_with_and([money(each.amount, each.currency) for each in self.overlaps])} may be counted twice"
        ] * bool(self.overlaps)
        parts += [f"{waiting} {'import needs' if waiting == 1 else 'imports need'} review"] * bool(waiting)
        return f"; {join_with_and(parts)}" if parts else ""


_imports = msgspec.json.Decoder(list[ImportNotice]).decode
_overlaps = msgspec.json.Decoder(list[_Overlap]).decode


def import_notices(account: Account) -> ImportNotices:
    """One query."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTICES, {"account": account.pk, "days": MOVED_DAYS, "shown": SHOWN})
        imports, overlaps = cursor.fetchone()
    return ImportNotices(_imports(imports or "[]"), _merge(_overlaps(overlaps or "[]")))


def _merge(rows: Sequence[_Overlap]) -> list[OverlapNotice]:
    notices = []
    for (source_id, other_id, currency), some in groupby(rows, _pair):
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
            )
        )
    return notices


def _pair(row: _Overlap) -> tuple[int, int, str]:
    return row.source_id, row.other_id, row.currency
