"""Derived change events of an account, derived again where its cost, budgets or cost tags changed.

The database says what is due: `DerivedEventRun` keeps of which data they were derived last. A run reads, derives, and writes once
in one transaction; run twice, at once, or after a kill it leaves the same rows with the same ids.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

import msgspec
from django.conf import settings
from django.db import connection
from django.urls import reverse

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import MAX_URL
from finops.change_events.services.derivation import DerivedEvent, store_derived_events
from finops.costs import explorer_steps
from finops.costs.focus.report import ImportReport
from finops.costs.models import CostImport, CostSource
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import Filter, SpendQuery
from finops.insights.cost_scope import CostReader
from finops.insights.derived_events.audit import ACTIONS, audit_events
from finops.insights.derived_events.events import (
    COST_DAYS,
    ImportedMonths,
    SourcePeriod,
    commitment_events,
    new_value_days,
    new_values,
    price_events,
    restated_months,
)
from finops.insights.derived_events.lake import (
    COLUMNS,
    commitment_days,
    first_days,
    price_days,
    value_costs,
    whole_costs,
)
from finops.insights.models import DerivedEventRun
from finops.lake.engine.conversion import currency_scope
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, add_months, month_start

logger = logging.getLogger(__name__)

RUN_TASK: Final = "insights.derive_events"
MONTHS: Final = 13
DERIVATION: Final = "1"
"""The version of the rules: with another number, every account's events are derived again."""
DEADLINE: Final = 120.0
"""Seconds for the lake's questions of one run, all together."""
MAX_VALUES: Final = 500
"""New values of a dimension whose cost is read, those that came last."""
RETRY: Final = timedelta(hours=1)

_DUE: Final = """
SELECT live.account_id, live.version || '-' || coalesce(settings.newest, 0) AS version FROM (
    SELECT account_id, max(id) || '-' || count(*) || '-' || %(today)s || '-' || %(derivation)s AS version
    FROM lake_lakesegment WHERE kind = 'cost' AND retired_at IS NULL {which} GROUP BY account_id
) AS live
LEFT JOIN (
    SELECT account_id, max(id) AS newest FROM accounts_auditentry
    WHERE action = ANY (%(actions)s) {which} GROUP BY account_id
) AS settings USING (account_id)
LEFT JOIN insights_derivedeventrun AS run USING (account_id)
WHERE run.data_version IS DISTINCT FROM live.version || '-' || coalesce(settings.newest, 0)
    AND (coalesce(run.error, '') = '' OR run.finished_at < %(retry)s)
ORDER BY live.account_id
"""


def due_accounts() -> list[int]:
    """Accounts whose cost, budgets or cost tags changed since, or whose events were derived on an earlier day. One statement."""
    return [account_id for account_id, _version in _due("")]


def derive_if_due(account: Account) -> bool:
    """Derive an account's events again, in the currencies of its bills. False if that is not due, or another worker does it."""
    with advisory_lock(f"derived events {account.pk}") as has_lock:
        due = _due("AND account_id = %(account)s", account.pk) if has_lock else []
        if not due:
            return False
        with account_scope(account), currency_scope(None):
            since = add_months(month_start(clock.today()), 1 - MONTHS)
            try:
                events = derived_events(account, since)
            except UserError as error:
                logger.info("insights: no derived events of account %s: %s", account.pk, error.message)
                _finish(account, data_version="", error=error.message)
                return True
            store_derived_events(account=account, since=since, events=events)
            _finish(account, data_version=due[0][1], error="")
    return True


def derived_events(account: Account, since: date) -> list[DerivedEvent]:
    """Those of the days from `since` on, of the account in scope. Seven lake queries at most. Raises UserError."""
    sources = load_sources(account)
    first, last = sources.coverage.first_day, sources.coverage.last_day
    events = [*audit_events(account.slug, since), *restated_months(_imports(since))]
    if first is not None and last is not None and last >= since:
        reader = CostReader(account, sources, time.monotonic() + DEADLINE)
        events += _cost_events(reader, DateRange(max(first, since), last))
    return [_with_link(event, account.slug) for event in events if event.day >= since]


def _cost_events(reader: CostReader, days: DateRange) -> list[DerivedEvent]:
    days_by_source = _source_days(reader.sources, days)
    whole = whole_costs(reader, days)
    events: list[DerivedEvent] = []
    for dimension in ("service", "region"):
        column = COLUMNS[dimension]
        firsts = first_days(reader, days, column)
        new = new_value_days(firsts, days_by_source)[:MAX_VALUES]
        costs = value_costs(reader, days, column, list(dict.fromkeys(key.value for key in new)))
        events += new_values(dimension, {key: firsts[key] for key in new}, days_by_source, costs, whole)
    events += commitment_events(commitment_days(reader, days), days_by_source, days)
    return events + price_events(price_days(reader, days), days_by_source, whole)


def _source_days(sources: Sources, days: DateRange) -> dict[int, SourcePeriod]:
    names = dict(CostSource.objects.values_list("pk", "name"))
    ends = sources.coverage.last_complete_days
    return {
        pk: SourcePeriod(names[pk], max(span.first_day, days.start), ends[pk])
        for pk, span in sources.coverage.sources.items()
        if pk in names and pk in ends
    }


def _imports(since: date) -> Iterable[ImportedMonths]:
    rows = CostImport.objects.select_related("source").filter(
        status=CostImport.Status.DONE,
        finished_at__gte=datetime(since.year, since.month, since.day, tzinfo=UTC),
    )
    for row in rows.iterator(chunk_size=100):
        report = msgspec.convert(row.report, ImportReport, strict=False)
        if report.changes and row.finished_at is not None:
            day = row.finished_at.astimezone(UTC).date()
            yield ImportedMonths(row.pk, row.source.name, day, row.actor_label, report.changes)


def _with_link(event: DerivedEvent, slug: str) -> DerivedEvent:
    """Its page; of cost the cost explorer's question around its day."""
    path = event.url
    if event.key[0] == "restated":
        path = reverse("cost_import", args=[slug, int(event.key[1])])
    if not path:
        around = SpendQuery(
            start_date=event.day - timedelta(days=COST_DAYS),
            end_date=event.day + timedelta(days=COST_DAYS - 1),
            granularity="day",
            filters=[Filter(dimension=name, values=values) for name, values in event.scope.items()],
        )
        path = reverse("cost_explorer", args=[slug]) + explorer_steps.url_of(around)
    url = f"{settings.PUBLIC_URL}{path}"
    return dataclasses.replace(event, url=url if len(url) <= MAX_URL else "")


def _finish(account: Account, **values: object) -> None:
    DerivedEventRun.objects.get_or_create(account=account)
    DerivedEventRun.objects.update(finished_at=clock.now(), **values)


def _due(which: str, account_id: int | None = None) -> list[tuple[int, str]]:
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(
            _DUE.format(which=which),
            {
                "today": str(now.date()),
                "retry": now - RETRY,
                "account": account_id,
                "derivation": DERIVATION,
                "actions": list(ACTIONS),
            },
        )
        return [(int(row[0]), str(row[1])) for row in cursor.fetchall()]
