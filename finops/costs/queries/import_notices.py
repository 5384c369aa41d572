"""Imports that need attention: those that wait for review, months with large changes, and overlapping sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from django.db import connection

from accounts.models import Account
from finops.costs.queries.overlap_notices import OVERLAPS, OverlapNotice, overlap_notices, read_overlaps
from finops.lib.cost_access import sees_whole_account
from finops.lib.sentences import join_with_and, money, truncate

SHOWN: Final = 10
MOVED_DAYS: Final = 14
"""The number of days that an import that continued although it needed review (a sync, or confirmed) is reported."""

_NOTICES: Final = f"""
SELECT (SELECT json_agg(json_build_array(i.id, i.source_id, s.name, i.file_name, i.status, i.reasons)) FROM (
    SELECT id, source_id, file_name, status, jsonb_path_query_array(report, '$.reviews[*].reason') AS reasons
    FROM costs_costimport WHERE account_id = %(account)s AND (status = 'waiting' OR (status = 'done' AND origin = 'sync'
        AND finished_at > now() - make_interval(days => %(days)s) AND jsonb_array_length(coalesce(report->'reviews', '[]')) > 0))
    ORDER BY id DESC LIMIT %(shown)s
) AS i JOIN costs_costsource s ON s.id = i.source_id)::text, ({OVERLAPS})::text
"""  # noqa: S608 - of our own constants


class ImportNotice(msgspec.Struct, array_like=True, frozen=True):
    """An import that waits for review, or continued without one."""

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
            return (
                f"An import into {self.source} ({truncate(self.file, 60)}) needs review and is not "
                f"counted: {why}"
            )
        return (
            f"An import into {self.source} ({truncate(self.file, 60)}) changed a month beyond the "
            f"limit: {why}"
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
        """The clause that a first sentence must include, `; 465.00 USD may be counted twice`; "" without one."""
        waiting = sum(each.waits for each in self.imports)
        parts = [
            f"{join_with_and([money(each.amount, each.currency) for each in self.overlaps])} may be counted twice"
        ] * bool(self.overlaps)
        parts += [f"{waiting} {'import needs' if waiting == 1 else 'imports need'} review"] * bool(waiting)
        return f"; {join_with_and(parts)}" if parts else ""


_imports = msgspec.json.Decoder(list[ImportNotice]).decode


def import_notices(account: Account) -> ImportNotices:
    """Return the notices. One query; none for a reader with limited cost access: they reveal cost of other lines."""
    if not sees_whole_account():
        return ImportNotices((), ())
    with connection.cursor() as cursor:
        cursor.execute(_NOTICES, {"account": account.pk, "days": MOVED_DAYS, "shown": SHOWN})
        imports, overlaps = cursor.fetchone()
    return ImportNotices(_imports(imports or "[]"), overlap_notices(read_overlaps(overlaps)))
