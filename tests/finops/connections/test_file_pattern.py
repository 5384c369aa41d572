from __future__ import annotations

from datetime import date

import pytest

from finops.connections.file_pattern import FilePattern
from finops.lib.errors import UserError


@pytest.mark.parametrize(
    ("pattern", "key", "month"),
    [
        ("focus/{year}-{month}/*.csv.gz", "focus/2026-05/part-1.csv.gz", date(2026, 5, 1)),
        ("{year}/{month}/**", "2026/5/a/b/c.parquet", date(2026, 5, 1)),
        ("**/{yyyymm}.csv", "202605.csv", date(2026, 5, 1)),
        ("**/cost_{yyyymm}_*.csv", "a/b/cost_2026_05_final.csv", date(2026, 5, 1)),
        ("{yyyymm}??-????????/**/*.csv", "20260501-20260531/run/1/part.csv", date(2026, 5, 1)),
        ("**/*", "x/BILLING_PERIOD=2026-05/1.parquet", date(2026, 5, 1)),
        ("**/*", "x/billing_period=2026-05-01/1.parquet", date(2026, 5, 1)),
        ("**/*.csv", "cost.csv", None),
        ("a+b (1)/*.csv", "a+b (1)/x.csv", None),
    ],
)
def test_a_key_that_fits_says_its_month(pattern: str, key: str, month: date | None) -> None:
    parsed = FilePattern.parse(pattern)

    assert parsed.matches(key)
    assert parsed.month_of(key) == month


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("*.csv", "a/b.csv"),
        ("*.csv", "b.csv.tmp"),
        ("*.csv", "bxcsv"),
        ("**/*", "a/_SUCCESS"),
        ("**/*", "a/.hidden"),
        ("{year}/{month}/*.csv", "26/05/a.csv"),
        ("a?b/*", "a/b/c"),
    ],
)
def test_a_key_of_another_form_is_refused(pattern: str, key: str) -> None:
    assert not FilePattern.parse(pattern).matches(key)


def test_a_day_is_a_part_of_the_month_that_a_key_says() -> None:
    pattern = FilePattern.parse("bill_{yyyymm}{day}.csv")
    assert pattern.month_of("bill_20260531.csv") == date(2026, 5, 1)
    assert pattern.snapshot_of("bill_20260531.csv") == ("bill_202605", (31, 0))


def test_a_snapshot_is_of_what_stands_before_its_day() -> None:
    pattern = FilePattern.parse("*/{year}/{month}/{day}/{hour}/focus.csv")
    assert pattern.snapshot_of("ab1-ovh/2026/06/15/14/focus.csv") == ("ab1-ovh/2026/06/", (15, 14))
    assert FilePattern.parse("{yyyymm}.csv").snapshot_of("202606.csv") == ("", (0, 0))


@pytest.mark.parametrize("key", ["2026/13/a.csv", "2026/0/a.csv", "0000/01/a.csv"])
def test_a_path_with_an_impossible_month_has_no_month(key: str) -> None:
    assert FilePattern.parse("{year}/{month}/*.csv").month_of(key) is None


@pytest.mark.parametrize(
    "pattern",
    ["", "/etc/*", "../*", "a/../*", "{year}/*", "{month}/*", "{year}/{month}/{yyyymm}", "{yyyymm}/{yyyymm}",
     "{day}/*", "{yyyymm}{hour}.csv", "{yyyymm}/{hour}/{day}.csv", "x" * 301],
)  # fmt: skip
def test_an_invalid_pattern_is_refused_at_its_field(pattern: str) -> None:
    with pytest.raises(UserError) as error:
        FilePattern.parse(pattern)

    assert error.value.field == "pattern"
