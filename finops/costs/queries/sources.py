"""The account's cost sources: what data each brought, and whether it is well."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection

from accounts.models import Account
from finops.costs.answers import SourceHealth
from finops.costs.coverage import Coverage, SourceSpan, coverage_of_manifest
from finops.costs.models import CostImport
from finops.costs.queries.cost_view import VIEW_COLUMNS, CostViewSettings, view_settings
from finops.lake.manifest import Manifest, cost_manifest

STALE_DAYS = 3
"""Providers deliver a day's cost within two days or so; a source further behind today is worth a word."""

ERROR_LENGTH = 500

HEALTHY, STALE, FAILING, IMPORTING, NO_DATA = "healthy", "stale", "failing", "importing", "no_data"


@dataclass(frozen=True)
class Sources:
    """The account's sources: what the lake has of them, the days of each, their health by id; and its cost view."""

    manifest: Manifest
    coverage: Coverage
    health: dict[int, SourceHealth]
    view: CostViewSettings

    @property
    def names(self) -> dict[str, str]:
        """Names by id as cost lines have it."""
        return {str(source_id): source.name for source_id, source in self.health.items()}


def source_health(account: Account) -> list[SourceHealth]:
    """Every cost source, by name. Two queries."""
    return list(load_sources(account).health.values())


# By hand, because every answer about cost reads it: Django's ORM took three queries and 2 ms for the same.
_SOURCES = f"""
SELECT {VIEW_COLUMNS}, s.id, s.name, s.kind, i.status, i.file_name, coalesce(i.finished_at, i.created_at), i.error
FROM (SELECT %(account)s AS id) AS a
LEFT JOIN costs_costview v ON v.account_id = a.id
LEFT JOIN costs_costsource s ON s.account_id = a.id
LEFT JOIN LATERAL (
    SELECT status, file_name, finished_at, created_at, left(error, {ERROR_LENGTH}) AS error FROM costs_costimport
    WHERE account_id = a.id AND source_id = s.id ORDER BY id DESC LIMIT 1
) AS i ON true
ORDER BY s.name
"""  # noqa: S608 - of our own constants


@dataclass(frozen=True)
class _Newest:
    """The newest import of a source. `at`: when it ended, or began while it has not."""

    status: str
    file_name: str
    at: datetime
    error: str


def load_sources(account: Account) -> Sources:
    """Two queries: what the lake has; sources with the newest import of each, and the cost view."""
    manifest = cost_manifest(account)
    covered = coverage_of_manifest(manifest)
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, {"account": account.pk})
        rows = cursor.fetchall()
    health = {}
    for _, _, _, source_id, name, kind, *newest in rows:
        if source_id is not None:
            last = _Newest(*newest) if newest[0] else None
            health[source_id] = _health(name, kind, covered.sources.get(source_id), last, covered.today)
    return Sources(manifest, covered, health, view_settings(*rows[0][:3]))


def _health(name: str, kind: str, span: SourceSpan | None, last: _Newest | None, today: date) -> SourceHealth:
    status, reason = _status(span, last, today)
    return SourceHealth(
        name=name,
        kind=kind,
        status=status,
        reason=reason,
        first_day=span.first_day if span else None,
        last_day=span.last_day if span else None,
        rows=span.rows if span else 0,
        last_import_at=last.at if last else None,
        last_error=last.error if last else "",
    )


def _status(span: SourceSpan | None, last: _Newest | None, today: date) -> tuple[str, str]:
    if last is not None and last.status == CostImport.Status.FAILED:
        return FAILING, f"Its newest import ({last.file_name}) failed; what it had before still counts."
    if span is None and last is not None and last.status != CostImport.Status.DONE:
        return IMPORTING, "Its first import is under way."
    if span is None:
        return NO_DATA, "It has brought no cost line yet. Import a FOCUS file on the Connections page."
    behind = (today - span.last_day).days
    if behind > STALE_DAYS:
        return STALE, f"Its newest cost line is of {span.last_day}, {behind} days ago."
    return HEALTHY, f"It has cost lines up to {span.last_day}."
