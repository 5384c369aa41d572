"""The account's cost sources: what data each brought, and whether it is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType

import msgspec
from django.db import connection

from accounts.models import Account
from finops.costs.answers import SourceHealth
from finops.costs.coverage import Coverage, SourceSpan, coverage_of_manifest
from finops.costs.models import CostImport
from finops.costs.queries.cost_view import CostViewSettings
from finops.lake.manifest import COST_VERSION, Manifest, manifest_of
from finops.lib import clock

STALE_DAYS = 3
"""Providers deliver a day's cost within two days or so; a source further behind today is worth a word."""

ERROR_LENGTH = 500

HEALTHY, STALE, FAILING, IMPORTING, NO_DATA = "healthy", "stale", "failing", "importing", "no_data"


@dataclass(frozen=True)
class Sources:
    """The account's sources: what the lake has of them, the days of each, their health by id; and its cost view."""

    manifest: Manifest
    coverage: Coverage
    health: Mapping[int, SourceHealth]
    view: CostViewSettings

    @property
    def names(self) -> dict[str, str]:
        """Names by id as cost lines have it."""
        return {str(source_id): source.name for source_id, source in self.health.items()}


def source_health(account: Account) -> list[SourceHealth]:
    """Every cost source, by name. One query."""
    return list(load_sources(account).health.values())


# By hand and as one text, because every answer about cost reads it: Django's ORM took four queries and 3 ms.
_STATE = f"""
SELECT {COST_VERSION}, (SELECT json_agg(json_build_array(v.basis, v.charge_categories, v.product_key))
    FROM costs_costview v WHERE v.account_id = %(account)s)::text, (
    SELECT json_agg(json_build_array(s.id, s.name, s.kind, i.status, i.file_name,
        coalesce(i.finished_at, i.created_at), left(i.error, {ERROR_LENGTH})) ORDER BY s.name)
    FROM costs_costsource s LEFT JOIN LATERAL (
        SELECT status, file_name, finished_at, created_at, error FROM costs_costimport
        WHERE account_id = %(account)s AND source_id = s.id ORDER BY id DESC LIMIT 1
    ) AS i ON true WHERE s.account_id = %(account)s
)::text
"""  # noqa: S608 - of our own constants


class _Row(msgspec.Struct, array_like=True):
    """A source and its newest import. `at`: when that ended, or began while it has not."""

    id: int
    name: str
    kind: str
    status: str | None
    file_name: str | None
    at: datetime | None
    error: str | None


_decode_views = msgspec.json.Decoder(list[tuple[str, tuple[str, ...], str]]).decode
_decode_rows = msgspec.json.Decoder(list[_Row]).decode


def load_sources(account: Account) -> Sources:
    """What the lake has, the sources with the newest import of each, and the cost view. One query, two after a change."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, {"account": account.pk})
        version, views, rows = cursor.fetchone()
    return _sources(manifest_of(account, version), views or "[]", rows or "[]", clock.today())


@lru_cache(maxsize=256)
def _sources(manifest: Manifest, views: str, rows: str, today: date) -> Sources:
    """Kept by all that it is made of; a manifest is equal only to itself, and is of one account."""
    covered = coverage_of_manifest(manifest, today)
    health = {row.id: _health(row, covered.sources.get(row.id), today) for row in _decode_rows(rows)}
    found = [
        CostViewSettings(basis=basis, charge_categories=categories, product_key=product)
        for basis, categories, product in _decode_views(views)
    ]
    return Sources(manifest, covered, MappingProxyType(health), found[0] if found else CostViewSettings())


def _health(row: _Row, span: SourceSpan | None, today: date) -> SourceHealth:
    status, reason = _status(span, row, today)
    return SourceHealth(
        name=row.name,
        kind=row.kind,
        status=status,
        reason=reason,
        first_day=span.first_day if span else None,
        last_day=span.last_day if span else None,
        rows=span.rows if span else 0,
        last_import_at=row.at,
        last_error=row.error or "",
    )


def _status(span: SourceSpan | None, last: _Row, today: date) -> tuple[str, str]:
    if last.status == CostImport.Status.FAILED:
        return FAILING, f"Its newest import ({last.file_name}) failed; what it had before still counts."
    if span is None and last.status not in (None, CostImport.Status.DONE):
        return IMPORTING, "Its first import is under way."
    if span is None:
        return NO_DATA, "It has brought no cost line yet. Import a FOCUS file on the Connections page."
    behind = (today - span.last_day).days
    if behind > STALE_DAYS:
        return STALE, f"Its newest cost line is of {span.last_day}, {behind} days ago."
    return HEALTHY, f"It has cost lines up to {span.last_day}."
