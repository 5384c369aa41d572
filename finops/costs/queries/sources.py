"""The account's cost sources: what data each brought, and whether it is well."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from accounts.models import Account
from finops.costs.answers import SourceHealth
from finops.costs.coverage import Coverage, SourceSpan, coverage
from finops.costs.models import CostImport, CostSource

STALE_DAYS = 3
"""Providers deliver a day's cost within two days or so; a source further behind today is worth a word."""

HEALTHY, STALE, FAILING, IMPORTING, NO_DATA = "healthy", "stale", "failing", "importing", "no_data"


@dataclass(frozen=True)
class Sources:
    """The account's sources with the days that each has, and their health by id."""

    coverage: Coverage
    health: dict[int, SourceHealth]

    @property
    def names(self) -> dict[str, str]:
        """Names by id as cost lines have it."""
        return {str(source_id): source.name for source_id, source in self.health.items()}


def source_health(account: Account) -> list[SourceHealth]:
    """Every cost source, by name. Three queries."""
    return list(load_sources(account).health.values())


def load_sources(account: Account) -> Sources:
    """Three queries: live segments, sources, the newest import of each."""
    covered = coverage(account)
    newest = CostImport.objects.filter(account=account).order_by("source_id", "-id").distinct("source_id")
    imports = {row.source_id: row for row in newest.defer("report", "files", "defaults")}
    sources = CostSource.objects.filter(account=account).order_by("name")
    return Sources(
        covered,
        {
            source.pk: _health(source, covered.sources.get(source.pk), imports.get(source.pk), covered.today)
            for source in sources
        },
    )


def _health(
    source: CostSource, span: SourceSpan | None, last: CostImport | None, today: date
) -> SourceHealth:
    status, reason = _status(span, last, today)
    return SourceHealth(
        name=source.name,
        kind=source.kind,
        status=status,
        reason=reason,
        first_day=span.first_day if span else None,
        last_day=span.last_day if span else None,
        rows=span.rows if span else 0,
        last_import_at=(last.finished_at or last.created_at) if last else None,
        last_error=last.error[:500] if last else "",
    )


def _status(span: SourceSpan | None, last: CostImport | None, today: date) -> tuple[str, str]:
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
