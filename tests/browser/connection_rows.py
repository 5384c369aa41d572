"""Connections of Acme in every state, for the browser tests: rows as syncs leave them."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import Account
from finops.connections.configs import new_external_id
from finops.connections.models import CostConnection, CostSync, SyncPeriod
from finops.costs.models import CostSource
from finops.lib import clock
from finops.lib.periods import add_months, month_start

LONG_ERROR = (
    "2026-09: AWS answered AccessDenied to s3:GetObject of s3://acme-billing-exports/focus/data/"
    "BILLING_PERIOD=2026-09/focus-00001.snappy.parquet. Allow s3:GetObject on arn:aws:s3:::acme-billing-exports/focus/* "
    "to the role arn:aws:iam::123456789012:role/finops-console."
)


def make_connections(account: Account, connector: str = "folder") -> None:
    """Create a healthy, a failing and a paused connection, and one with a running first sync. The account must be in
    scope."""
    well = _connection(account, connector, "AWS payer account")
    for hours in (30, 3, 2):
        _sync(well, hours, "done", months_listed=13, months_unchanged=11, months_imported=2, rows=84_211)
    failing = _connection(
        account, connector, "Azure, all subscriptions of the research and development group"
    )
    CostConnection.objects.filter(pk=failing.pk).update(
        failures=2, failing_since=clock.now() - timedelta(hours=2)
    )
    _sync(failing, 26, "done", months_listed=13, months_imported=13, rows=912_004)
    _sync(failing, 2, "failed", months_listed=13, months_unchanged=12, months_failed=1, error=LONG_ERROR)
    paused = _connection(account, connector, "Snowflake")
    CostConnection.objects.filter(pk=paused.pk).update(paused_at=clock.now())
    running = _connection(account, connector, "Google Cloud")
    CostSync.objects.create(
        connection=running,
        status="running",
        trigger="manual",
        stage="fetching 2026-08",
        months_listed=24,
        months_imported=3,
        bytes_total=4_200_000_000,
        bytes_done=900_000_000,
        periods=_periods(3, "imported"),
        started_at=clock.now() - timedelta(seconds=80),
        heartbeat_at=clock.now(),
    )


def _connection(account: Account, connector: str, name: str) -> CostConnection:
    connection = CostConnection.objects.create(
        source=CostSource.objects.create(name=name),
        connector=connector,
        external_id=new_external_id(account=account),
        credentials="sealed",
        credentials_changed_at=clock.now() - timedelta(days=40),
        next_sync_at=clock.now() + timedelta(minutes=40),
        last_success_at=clock.now() - timedelta(hours=2),
    )
    for back in range(4):
        SyncPeriod.objects.create(
            connection=connection,
            month=add_months(month_start(clock.today()), -back),
            fingerprint=f"{back}b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c",
            bytes=48_000_000,
            rows=41_512,
        )
    return connection


def _sync(connection: CostConnection, hours: int, status: str, **values: object) -> None:
    started_at = clock.now() - timedelta(hours=hours)
    results = _periods(2, "imported") if status == "done" else _periods(1, "failed")
    CostSync.objects.create(
        connection=connection,
        status=status,
        created_at=started_at,
        started_at=started_at,
        finished_at=started_at + timedelta(seconds=41),
        bytes_done=96_000_000,
        periods=[*results, *_periods(11, "unchanged", after=len(results))],
        **values,
    )


def _periods(count: int, action: str, after: int = 0) -> list[dict[str, object]]:
    newest = month_start(clock.today())
    results: list[dict[str, object]] = []
    for back in range(after, after + count):
        result: dict[str, object] = {"month": f"{add_months(newest, -back):%Y-%m}", "action": action}
        if action == "imported":
            result |= {"rows": 41_512, "bytes": 48_000_000, "files": 3, "seconds": 12.25}
        results.append(result | ({"error": LONG_ERROR} if action == "failed" else {}))
    return results
