"""Tables of the figures of charts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.lib.charts import SeriesTable

DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]


def table(*names: str, days: int = 3) -> SeriesTable:
    values: list[Decimal | None] = [Decimal(1), None, Decimal(3)][:days]
    count = len(names)
    totals = [value * count if value is not None else None for value in values]
    return SeriesTable(
        "USD", DAYS[:days], [(name, values, Decimal(4)) for name in names], totals, Decimal(4 * count), {}
    )


def test_two_series_have_one_row_a_day_with_their_total() -> None:
    assert table("Used", "Unused").by_bucket_rows == [
        ("2026-11-01", [Decimal(1), Decimal(1)], Decimal(2)),
        ("2026-11-02", [None, None], None),
        ("2026-11-03", [Decimal(3), Decimal(3)], Decimal(6)),
    ]


@pytest.mark.parametrize(
    ("series", "days", "has_row_a_day"), [(1, 2, False), (1, 3, True), (2, 2, False), (3, 3, False)]
)
def test_rows_are_days_if_there_are_more_days_than_series(
    series: int, days: int, has_row_a_day: bool
) -> None:
    names = ["EC2", "S3", "RDS"][:series]

    assert bool(table(*names, days=days).by_bucket_rows) == has_row_a_day


def test_a_phone_shows_blocks_of_three_series() -> None:
    assert table("EC2", "S3").fits_phones
    assert not table("EC2", "S3", "RDS").fits_phones


def test_a_series_without_a_name_is_the_total() -> None:
    assert table("").names == ["Total"]
