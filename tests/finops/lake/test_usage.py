from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from finops.lake import engine, queries, schema, segments
from finops.lake.schema import Kind
from tests.cast import Cast
from tests.finops.lake.facts import EVER, JANUARY, line, store

pytestmark = pytest.mark.django_db


def event(hour: int, quantity: str, **dimensions: str) -> dict[str, Any]:
    moment = datetime(2026, 1, 1, hour, tzinfo=UTC)
    keys = {schema.dimension_column(key): value for key, value in dimensions.items()}
    return {
        "event_time": moment,
        "day": moment.date(),
        "metric": "calls",
        "quantity": Decimal(quantity),
        **keys,
    }


def store_usage(cast: Cast, rows: list[dict[str, Any]], keys: list[str]) -> None:
    full = schema.segment_schema(Kind.USAGE, keys)
    new = segments.write_segment(
        account_id=cast.account.pk,
        kind=Kind.USAGE,
        source_id=1,
        month=JANUARY,
        batches=pa.Table.from_pylist(rows, schema=full).to_batches(),
        schema=full,
    )
    segments.swap_segments(account=cast.account, kind=Kind.USAGE, source_id=1, months=[JANUARY], new=[new])


def test_usage_adds_up_by_dimension_beside_costs_of_the_same_source_number(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    events = [
        event(1, "0.000000000001", Plan="pro"),
        event(2, "99999999999999999999.5", Plan="pro"),
        event(3, "2"),
    ]
    store_usage(cast, events, ["Plan", "plan"])
    table = engine.run(
        cast.account,
        Kind.USAGE,
        *EVER,
        lambda usage: usage.group_by(plan="dim:^plan").agg(
            quantity=usage.quantity.sum(), last=usage.event_time.max()
        ),
        tag_keys=["Plan"],
    )
    assert table.schema.types == [pa.string(), schema.QUANTITY, pa.timestamp("us", tz="UTC")]
    found = {row["plan"]: (row["quantity"], row["last"].hour) for row in table.to_pylist()}
    assert found == {"pro": (Decimal("99999999999999999999.500000000001"), 2), None: (Decimal(2), 3)}
    assert queries.dimension_keys(cast.account) == ["Plan", "plan"]
