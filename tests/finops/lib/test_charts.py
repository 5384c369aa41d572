"""Tables of the figures of charts."""

from __future__ import annotations

from decimal import Decimal

from finops.lib.charts import SeriesTable

DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]


def table(*names: str) -> SeriesTable:
    values: list[Decimal | None] = [Decimal(1), None, Decimal(3)]
    count = len(names)
    totals = [value * count if value is not None else None for value in values]
    return SeriesTable(
        "USD", DAYS, [(name, values, Decimal(4)) for name in names], totals, Decimal(4 * count), {}
    )


def test_two_series_have_one_row_a_day_with_their_total() -> None:
    assert table("Used", "Unused").by_bucket_rows == [
        ("2026-11-01", [Decimal(1), Decimal(1)], Decimal(2)),
        ("2026-11-02", [None, None], None),
        ("2026-11-03", [Decimal(3), Decimal(3)], Decimal(6)),
    ]


def test_many_series_have_one_row_each() -> None:
    assert table("EC2", "S3", "RDS").by_bucket_rows == []
