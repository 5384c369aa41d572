"""An account full of a word that occurs nowhere else: where it shows up, something leaked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from finops.activity.calls import store as store_calls
from finops.change_events.models import ChangeEvent
from finops.costs.models import CostSource
from finops.lake.schema import Kind, segment_schema
from finops.lake.storage.segments import swap_segments, write_segment
from finops.lib import clock
from finops.lib.periods import month_start
from ingestion.models import Customer, RejectedEvent, RejectedLine, UsageBatch, UsageSource, UsageUpload
from tests.factories.anomalies import add_anomaly
from tests.factories.usage import event, push_events
from tests.finops.activity.call_helpers import call_of, credential_of

MARK = "Quaxolotl"
DAYS = 40


def fill_with_marks(account: Account, amount: Decimal = Decimal("7.25")) -> None:
    """A key, a source, a cost line of `amount` USD a day for 39 days, and usage; each string holds MARK."""
    mint_mcp_key(account=account, actor=Actor.command(MARK), name=MARK)
    with account_scope(account):
        source = CostSource.objects.create(account=account, name=f"{MARK} bill")
        batches: dict[date, list[pa.RecordBatch]] = {}
        for month, batch in _marked_batches(source.pk, amount):
            batches.setdefault(month, []).append(batch)
        schema = segment_schema(Kind.COST, [MARK])
        segments = [
            write_segment(
                account_id=account.pk,
                kind=Kind.COST,
                source_id=source.pk,
                month=month,
                batches=month_batches,
                schema=schema,
            )
            for month, month_batches in batches.items()
        ]
        swap_segments(
            account=account, kind=Kind.COST, source_id=source.pk, months=list(batches), new=segments
        )
        _push_usage(account)
        _find_anomaly(source)
        ChangeEvent.objects.create(
            account=account,
            origin="note",
            kind="note",
            title=f"{MARK} note",
            actor=MARK,
            occurred_at=clock.now(),
            scope={"service": [f"{MARK} service"]},
        )
    store_calls([call_of(credential_of(account), MARK, {MARK: MARK}, problem=MARK, console_page=MARK)])


def _find_anomaly(source: CostSource) -> None:
    """An open anomaly of today, with a cause and a note."""
    cause = {"value": MARK, "actual": "9", "expected": "1", "excess": "8", "share": "1"}
    add_anomaly(
        source.account,
        source,
        key="anom_marked",
        value=f"{MARK} service",
        currency="USD",
        kind="spike",
        severity="high",
        first_day=clock.today(),
        last_day=clock.today(),
        actual=9,
        expected=1,
        impact=8,
        month_end_impact=8,
        days=[[str(clock.today()), "9", "1", "0", "2"]],
        causes=[{"dimension": MARK, "title": MARK, "rows": [cause], "other_values": 0, "other_excess": "0"}],
        note=MARK,
    )


def _push_usage(account: Account) -> None:
    """Half an order a day of three customers, waiting in the inbox."""
    marked = [
        event(
            clock.today() - timedelta(days=back),
            f"{MARK} {back % 3}",
            "0.5",
            metric=f"{MARK} orders",
            unit=f"{MARK} unit",
            dimensions={MARK: f"{MARK} value"},
        )
        for back in range(DAYS)
    ]
    source = UsageSource.objects.create(account=account, name=f"{MARK} backend")
    push_events(account, marked, source=source)
    _refuse_usage(account, source)
    Customer.objects.filter(account=account).update(name=f"{MARK} customer")


def _refuse_usage(account: Account, source: UsageSource) -> None:
    """A batch with a rejected event, and an upload with a rejected line."""
    batch = UsageBatch.objects.create(
        account=account, source=source, accepted=0, rejected=1, voided_by_label=MARK
    )
    fields = {"account": account, "error": MARK, "excerpt": MARK}
    RejectedEvent.objects.create(source=source, batch=batch.pk, position=0, **fields)
    upload = UsageUpload.objects.create(
        account=account,
        source=source,
        file_name=f"{MARK}.csv",
        path="/nowhere",
        digest=MARK,
        status="done",
        rejected=1,
        reasons={MARK: 1},
        actor_label=MARK,
    )
    RejectedLine.objects.create(upload=upload, line=2, **fields)


def _marked_batches(source_id: int, amount: Decimal) -> Iterator[tuple[date, pa.RecordBatch]]:
    schema = segment_schema(Kind.COST, [MARK])
    for back in range(1, DAYS):
        day = clock.today() - timedelta(days=back)
        row = {field.name: _value(field, day, source_id, amount) for field in schema}
        yield month_start(day), pa.RecordBatch.from_pylist([row], schema=schema)


def _value(field: pa.Field, day: date, source_id: int, amount: Decimal) -> object:
    if field.name == "charge_date":
        return day
    if field.name == "billing_period":
        return month_start(day)
    if pa.types.is_timestamp(field.type):
        return datetime.combine(day, time(), UTC) + timedelta(days=field.name.endswith("_end"))
    if field.name == "source":
        return str(source_id)
    if field.name == "charge_category":
        return "Usage"
    if field.name == "currency":
        return "USD"
    if pa.types.is_timestamp(field.type):
        return datetime.combine(day, time.min, UTC)
    return amount if pa.types.is_decimal(field.type) else f"{MARK} {field.name}"
