"""Steps that the tests of syncs share."""

from __future__ import annotations

from pathlib import Path

from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from tests.cast import ACTOR
from tests.finops.costs.focus_reader import as_csv


def month_rows(month: str, *costs: str, **columns: str) -> bytes:
    """A FOCUS file of a billing month with a line for each cost."""
    start = f"{month}-01T00:00:00Z"
    rows = [
        {"BilledCost": cost, "BillingPeriodStart": start, "ChargePeriodStart": start, **columns}
        for cost in costs
    ]
    return as_csv(*rows)


def write_month(export: Path, month: str, *costs: str, name: str = "part-1.csv") -> Path:
    """The provider writes a file of a month."""
    folder = export / month
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(month_rows(month, *costs))
    return folder / name


def sync_now(connection: CostConnection) -> CostSync:
    """The sync that waits, else a new one, done here and now."""
    sync = CostSync.objects.filter(connection=connection, status="queued").first()
    sync = sync or services.queue_sync(connection=connection, actor=ACTOR)
    assert services.run_sync(sync.pk)
    sync.refresh_from_db()
    connection.refresh_from_db()
    return sync


def actions(sync: CostSync) -> dict[str, str]:
    """What came of each month."""
    return {each["month"]: each["action"] for each in sync.periods}
