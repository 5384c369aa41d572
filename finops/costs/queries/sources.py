"""The account's cost sources: their data, delivery times and health."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import msgspec
from django.db import connection

from accounts.models import Account
from finops.costs.answers import SourceHealth
from finops.costs.completeness import ACCOUNT, DOCUMENTED, LEARNT, SourceDays, documented_settle_days
from finops.costs.coverage import Coverage, SourceSpan, coverage_of_days
from finops.costs.dimensions import DimensionContext
from finops.costs.models import CostImport
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.overlap_notices import OVERLAPS, MonthOverlap, read_overlaps
from finops.costs.queries.source_problems import SourceProblem, source_problems
from finops.lake.engine.answer_inputs import note_source_state
from finops.lake.storage.manifest import COST_VERSION, Manifest, manifest_of
from finops.lib import clock
from finops.lib.prepared_statements import fetch
from finops.lib.usage_problems import UsageProblem, read_problems, usage_problems

STALE_DAYS = 3
"""Providers deliver a day's cost within about two days; a source further behind today is reported."""

INVOICE_DAYS = 10
"""Invoices of a month arrive within about ten days after it."""

ERROR_LENGTH = 500

HEALTHY, STALE, FAILING, IMPORTING, NO_DATA = "healthy", "stale", "failing", "importing", "no_data"
PARTIAL = "partial"
"""A status: the newest days have only part of their cost."""


class Restatement(msgspec.Struct, array_like=True, frozen=True):
    """The change of a closed month's lines in one currency since it was closed."""

    currency: str
    billed: Decimal
    effective: Decimal


@dataclass(frozen=True)
class Sources:
    """The account's sources: their lake data, days and health by id; and the account's cost view."""

    manifest: Manifest
    coverage: Coverage
    health: Mapping[int, SourceHealth]
    view: CostViewSettings
    closed: Mapping[date, tuple[Restatement, ...]] = field(default_factory=dict)
    """Billing months that the account has closed, by their first day, with restatements since."""
    overlaps: Sequence[MonthOverlap] = ()
    """Months of which two sources likely hold the same cost."""
    problems: Sequence[SourceProblem] = ()
    """Problems of sources that deliver no new data, each kind in the order of its query."""
    usage_problems: Sequence[UsageProblem] = ()
    """Sources that deliver no new usage; none for a limited reader, who may not see their names."""
    resolved: dict[str, Any] | None = None
    """As `DimensionContext.known`, for all questions of one caller (`for_several_questions`)."""

    @property
    def for_several_questions(self) -> Sources:
        """Return the same for a caller with several questions: teams and cost tags are read only once."""
        return replace(self, resolved={})

    def context(self, account: Account) -> DimensionContext:
        """Return a context for resolving dimensions. No query."""
        resolved = {} if self.resolved is None else self.resolved
        return DimensionContext(account, self.view.product_key, self.names, self.manifest, resolved)

    @property
    def names(self) -> dict[str, str]:
        """Names by the source id of cost lines."""
        return {str(source_id): name for source_id, name in self.names_by_id.items()}

    @property
    def names_by_id(self) -> dict[int, str]:
        return {source_id: source.name for source_id, source in self.health.items()}

    @property
    def for_planning(self) -> Sources:
        """Return the same with the cost view of unit cost, budgets and forecasts."""
        return replace(self, view=msgspec.structs.replace(self.view, basis=self.view.planning_basis))


def source_health(account: Account) -> list[SourceHealth]:
    """Every cost source, by name. One query."""
    return list(load_sources(account).health.values())


# One statement that PostgreSQL has prepared, because every answer about cost runs it: Django's ORM took four queries and
# 3 ms, and parsing and planning it again four fifths of PostgreSQL's time for an answer.
_STATE = f"""
SELECT {COST_VERSION}, (SELECT json_agg(json_build_array(v.basis, v.planning_basis, v.charge_categories, v.product_key))
    FROM costs_costview v WHERE v.account_id = %(account)s)::text, (
    SELECT json_agg(json_build_array(s.id, s.name, s.kind, i.status, i.file_name,
        coalesce(i.finished_at, i.created_at), left(i.error, {ERROR_LENGTH}), s.settle_days, CASE WHEN c.id IS NOT NULL
        THEN json_build_array(c.seen_on, c.provider, c.usage_through, c.billed_through, c.learnt_days, c.partial_days)
        END) ORDER BY s.name)
    FROM costs_costsource s LEFT JOIN costs_sourcecompleteness c ON c.source_id = s.id LEFT JOIN LATERAL (
        SELECT status, file_name, finished_at, created_at, error FROM costs_costimport
        WHERE account_id = %(account)s AND source_id = s.id ORDER BY id DESC LIMIT 1
    ) AS i ON true WHERE s.account_id = %(account)s
)::text, (
    SELECT json_agg(json_build_array(m.month, (
        SELECT json_agg(json_build_array(r.currency, r.billed::text, r.effective::text)) FROM (
            SELECT s.currency, sum(s.billed_now - s.billed_cost) AS billed, sum(s.effective_now - s.effective_cost)
            AS effective FROM costs_closedmonthsum s WHERE s.closed_month_id = m.id GROUP BY s.currency
        ) AS r WHERE r.billed <> 0 OR r.effective <> 0
    )) ORDER BY m.month) FROM costs_closedmonth m WHERE m.account_id = %(account)s
)::text, ({OVERLAPS})::text
"""  # noqa: S608 - of our own constants


class _Row(msgspec.Struct, array_like=True):
    """A source and its newest import. `at`: its end, or its start while it runs."""

    id: int
    name: str
    kind: str
    status: str | None
    file_name: str | None
    at: datetime | None
    error: str | None
    settle_days: int | None
    days: _Days | None


class _Days(msgspec.Struct, array_like=True):
    """A row of SourceCompleteness."""

    seen_on: date
    provider: str
    usage_through: date | None
    billed_through: date | None
    learnt_days: int | None
    partial_days: list[date]


STATE_TEXTS: Final = 4
"""Texts of _STATE: the cost view, sources, closed months, overlaps. Receipts keep them."""

_decode_views = msgspec.json.Decoder(list[tuple[str, str, tuple[str, ...], str]]).decode
_decode_rows = msgspec.json.Decoder(list[_Row]).decode
_decode_closed = msgspec.json.Decoder(list[tuple[date, list[Restatement] | None]]).decode


def load_sources(account: Account) -> Sources:
    """Return the lake's manifest, the sources with their newest import and problems, and the cost view. One query,
    two after a change."""
    now = clock.now()
    ((version, *rows),) = fetch(_statement(), {"account": account.pk, "now": now})
    manifest, texts = manifest_of(account, version), [text or "[]" for text in rows]
    if manifest.kept is not None:
        # Problems of sources at that time are not stored; only warnings have them.
        texts = [*manifest.kept, *("[]" for _ in texts[STATE_TEXTS:])]
    note_source_state(texts[:STATE_TEXTS])
    today = now.date()
    return manifest.derive("sources", (today, *texts), lambda: _sources(manifest, *texts, today=today))


@cache
def _statement() -> str:
    """Return the statement with the problem queries of apps above. All are registered before the first question."""
    statements = [each.sql for each in source_problems.values()] + [
        each.sql for each in usage_problems.values()
    ]
    problems = (f"({sql})::text" for sql in statements)
    return ", ".join([_STATE, *problems])


def _sources(
    manifest: Manifest, views: str, rows: str, closed: str, overlaps: str, *problems: str, today: date
) -> Sources:
    decoded = _decode_rows(rows)
    if manifest.limit is not None:
        decoded, closed, overlaps = _within_limit(manifest, decoded), "[]", "[]"
    days = {row.id: _days_of(row, row.days) for row in decoded if row.days is not None}
    covered = coverage_of_days(manifest, today, days)
    health = {row.id: _health(row, covered, today) for row in decoded}
    of_cost, of_usage = problems[: len(source_problems.values())], problems[len(source_problems.values()) :]
    settings = [
        CostViewSettings(
            basis=basis, planning_basis=planning, charge_categories=categories, product_key=product
        )
        for basis, planning, categories, product in _decode_views(views)
    ]
    return Sources(
        manifest,
        covered,
        MappingProxyType(health),
        settings[0] if settings else CostViewSettings(),
        {month: tuple(restated or ()) for month, restated in _decode_closed(closed)},
        read_overlaps(overlaps),
        _problems(of_cost, health),
        () if manifest.limit is not None else tuple(read_problems(of_usage)),
    )


def _within_limit(manifest: Manifest, rows: Sequence[_Row]) -> list[_Row]:
    """Return the sources with a line within a reader's limit, without import data on other lines. Sums of closed
    months and overlaps are of the whole account, so a limited reader gets none."""
    visible = {each.source_id for each in manifest.segments}
    return [msgspec.structs.replace(row, file_name="", error="") for row in rows if row.id in visible]


def _problems(texts: Sequence[str], health: Mapping[int, SourceHealth]) -> list[SourceProblem]:
    queries = source_problems.values()
    problems = [each for query, text in zip(queries, texts, strict=True) for each in query.read(text)]
    return [each for each in problems if each.source_id in health]


def _days_of(row: _Row, days: _Days) -> SourceDays:
    """Return the account's settle time, else the learnt one, else the provider's."""
    documented = documented_settle_days(days.provider)
    settles = [(row.settle_days, ACCOUNT), (days.learnt_days, LEARNT), (documented, DOCUMENTED)]
    settle, origin = next((days_known, origin) for days_known, origin in settles if days_known is not None)
    return SourceDays(
        usage_through=days.usage_through,
        billed_through=days.billed_through,
        seen_on=days.seen_on,
        settle_days=settle,
        settle_from=origin,
        documented_days=documented,
        learnt_days=days.learnt_days,
        partial=frozenset(days.partial_days),
        provider=days.provider,
    )


def _health(row: _Row, covered: Coverage, today: date) -> SourceHealth:
    span, days = covered.sources.get(row.id), covered.days_of.get(row.id)
    status, reason = _status(span, days, row, today)
    return SourceHealth(
        name=row.name,
        kind=row.kind,
        status=status,
        reason=reason,
        first_day=span.first_day if span else None,
        last_day=_newest_day(span, days, today) if span else None,
        rows=span.rows if span else 0,
        last_import_at=row.at,
        last_error=row.error or "",
    )


def _newest_day(span: SourceSpan, days: SourceDays | None, today: date) -> date:
    """Return a source's newest day with usage; for one that bills by the month, its last billed day."""
    if days is None:
        return span.last_day
    if days.usage_through is not None:
        return days.usage_through
    return min(days.billed_through or span.last_day, today - timedelta(days=1))


def _status(span: SourceSpan | None, days: SourceDays | None, last: _Row, today: date) -> tuple[str, str]:
    if last.status == CostImport.Status.FAILED:
        note = "" if span is None else " Existing data is kept."
        return FAILING, f"The newest import ({last.file_name}) failed.{note}"
    if span is None and last.status == CostImport.Status.WAITING:
        return NO_DATA, f"The first import ({last.file_name}) needs review on its page."
    if span is None and last.status in (CostImport.Status.QUEUED, CostImport.Status.RUNNING):
        return IMPORTING, "The first import is in progress."
    if span is None:
        return NO_DATA, "No cost lines yet."
    newest = _newest_day(span, days, today)
    behind = (today - newest).days
    if behind > _stale_days(days):
        return STALE, _stale_words(span, newest, behind)
    if days is None:
        return HEALTHY, f"Cost lines up to {newest}."
    if days.partial:
        first, last_day = min(days.partial), max(days.partial)
        when = f"{first}" if first == last_day else f"{first} to {last_day}"
        return (
            PARTIAL,
            f"Cost of {when} is incomplete: far below the weekday's usual cost, with services missing.",
        )
    return HEALTHY, _healthy_words(days, newest, today)


def _stale_days(days: SourceDays | None) -> int:
    """Return how many days behind today a source may be."""
    if days is None:
        return STALE_DAYS
    return INVOICE_DAYS if days.is_billed_monthly else max(STALE_DAYS, days.settle_days + 1)


def _stale_words(span: SourceSpan, newest: date, behind: int) -> str:
    if span.last_day > newest:
        return (
            f"The newest usage is of {newest}, {behind} days ago; lines dated later, up to "
            f"{span.last_day}, are not usage."
        )
    return f"The newest cost line is of {newest}, {behind} days ago."


def _healthy_words(days: SourceDays, newest: date, today: date) -> str:
    through = days.through(today)
    if through is None or through >= newest:
        return f"Cost lines up to {newest}."
    return f"Cost lines up to {newest}, complete through {through}."


KEPT: Final = 60
"""The maximum of imports read per source, the newest."""

_FINISHED: Final = """
SELECT source_id, finished_at, months FROM (
    SELECT source_id, finished_at, months, row_number() OVER (PARTITION BY source_id ORDER BY id DESC) AS place
    FROM costs_costimport WHERE account_id = %s AND status = 'done' AND finished_at IS NOT NULL
) AS newest WHERE place <= %s ORDER BY source_id, finished_at
"""


@dataclass(frozen=True)
class Delivery:
    """One finished import: its time (UTC), and the first day of each billing month that it replaced."""

    at: datetime
    months: tuple[date, ...]


def cost_deliveries(account: Account) -> Mapping[int, list[Delivery]]:
    """Return the newest finished imports of every cost source by its id, in order of time. One query."""
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_FINISHED, [account.pk, KEPT])
        for source_id, at, months in cursor.fetchall():
            deliveries[source_id].append(Delivery(at, _months(months)))
    return deliveries


def _months(names: str) -> tuple[date, ...]:
    return tuple(date.fromisoformat(f"{name}-01") for name in json.loads(names))
