"""Events that wait in the inbox during its migration keep waiting: each once, and unchanged."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from finops.lake import queries
from finops.lake.schema import Kind
from finops.lake.usage import flush
from tests.cast import Cast
from tests.finops.lake.events import Event, push, quantity_by, waiting_rows

# The migration is history: the data of the version before this one, which tests/upgrades loads, has a newer inbox.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

MOMENT = datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
EVENTS = 2_300


def migrate(to: str) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate([("lake", to)])


def migrate_on() -> None:
    """To what the code of today knows, in the apps too that going back took along."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def empty_inbox() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE lake_usageinbox")


def refuse_while_events_wait() -> None:
    with pytest.raises(RuntimeError, match="flush them"):
        migrate("0003_usage_flush_trouble")


@pytest.fixture
def _restore_schema() -> Iterator[None]:
    yield
    migrate_on()
    empty_inbox()


@pytest.mark.usefixtures("_restore_schema")
def test_waiting_rows_are_migrated_and_not_reverted(cast: Cast) -> None:
    """One way back and on, which takes 15 s."""
    push(cast.account, [Event()])
    refuse_while_events_wait()  # what came later did go
    empty_inbox()
    migrate("0003_usage_flush_trouble")
    batch, other = uuid.uuid4(), uuid.uuid4()
    of_upload = [_row(cast.account.pk, 1, batch, at) for at in range(EVENTS)]
    rows = [*of_upload, _row(cast.account.pk, 2, other, 0), _row(cast.other_account.pk, 3, other, 1)]
    with connection.cursor() as cursor, cursor.copy("COPY lake_usageinbox FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    migrate("0004_inbox_of_pushes")
    refuse_while_events_wait()
    migrate_on()

    migrated_rows = waiting_rows()
    assert sorted(map(_as_put, migrated_rows)) == sorted((*map(str, row[1:4]), *row[4:]) for row in rows)
    assert queries.dimension_keys(cast.account) == ["Plan", "n"]
    data_range = queries.data_range(cast.account, Kind.USAGE)
    assert data_range is not None
    assert (data_range.first_day, data_range.rows) == (date(2026, 1, 31), EVENTS + 1)
    expected = sum(row[9] for row in rows if row[0] == cast.account.pk)
    assert quantity_by(cast.account, "metric") == {"calls": expected}
    assert flush.flush_usage(cast.account).events == EVENTS + 1
    assert quantity_by(cast.account, "metric") == {"calls": expected}


def _row(account_id: int, source_id: int, batch: uuid.UUID, at: int) -> tuple[Any, ...]:
    dimensions = [None, '{"n":"é\\""}', '{"n":"","Plan":"x"}'][at % 3]
    unit = [None, "", "u"][at % 3]
    moment, quantity = MOMENT + timedelta(minutes=at), Decimal(at) / 8
    return (
        account_id,
        source_id,
        batch,
        at,
        MOMENT,
        moment,
        f"c-{at % 7}",
        "calls",
        unit,
        quantity,
        dimensions,
    )


def _as_put(row: dict[str, Any]) -> tuple[Any, ...]:
    names = (
        "source",
        "batch",
        "position",
        "received_at",
        "event_time",
        "customer_id",
        "metric",
        "unit",
        "quantity",
    )
    return (*(str(row[name]) if name in names[:3] else row[name] for name in names), row["dimensions"])
