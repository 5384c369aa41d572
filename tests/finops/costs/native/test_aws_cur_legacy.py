"""The legacy Cost and Usage Report of a real bucket: its sums are those of the raw file."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from finops.costs.focus.errors import FocusFileError
from tests.finops.costs.focus_reader import FocusRead

AWS = Path(__file__).parents[3] / "data" / "native" / "aws"
PLACES = Decimal(1).scaleb(-18)


@cache
def bucket_file() -> bytes:
    """The one data file of the bucket's current report, as it lies there."""
    with tarfile.open(AWS / "aws_cur_legacy_bucket.tar.gz") as bucket:
        member = next(each for each in bucket.getmembers() if each.name.endswith(".csv.gz"))
        file = bucket.extractfile(member)
        assert file is not None
        return file.read()


@cache
def raw_lines() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gzip.decompress(bucket_file()).decode())))


@cache
def report() -> FocusRead:
    return FocusRead(bucket_file())


def raw_sums(key: Callable[[Mapping[str, str]], object]) -> dict[object, Decimal]:
    """Unblended cost by `key`, each line at the 18 decimals that the lake keeps."""
    sums: dict[object, Decimal] = defaultdict(Decimal)
    for line in raw_lines():
        sums[key(line)] += Decimal(line["lineItem/UnblendedCost"]).quantize(PLACES)
    return dict(sums)


def read_sums(column: str, amount: str) -> dict[object, Decimal]:
    sums: dict[object, Decimal] = defaultdict(Decimal)
    for value, cost in zip(report().column(column), report().column(amount), strict=True):
        sums[value] += cost
    return dict(sums)


LOCATIONS = {
    "US East (N. Virginia)": "us-east-1",
    "US West (Oregon)": "us-west-2",
    "US West (N. California)": "us-west-1",
}


@pytest.mark.parametrize("amount", ["billed_cost", "effective_cost"])
@pytest.mark.parametrize(
    ("column", "key"),
    [
        ("service", lambda line: line["product/ProductName"]),
        ("account_id", lambda line: line["lineItem/UsageAccountId"]),
        (
            "region",
            lambda line: line["lineItem/AvailabilityZone"][:-1] or LOCATIONS[line["product/location"]],
        ),
        ("charge_category", lambda line: line["lineItem/LineItemType"]),
        ("currency", lambda line: line["lineItem/CurrencyCode"]),
        ("usage_type", lambda line: line["lineItem/UsageType"]),
    ],
)
def test_totals_of_a_legacy_report_are_those_of_its_file(
    column: str, key: Callable[[Mapping[str, str]], object], amount: str
) -> None:
    assert read_sums(column, amount) == raw_sums(key)


def test_months_of_a_legacy_report_are_its_billing_periods() -> None:
    months = {each.month: each.totals[0].billed_cost for each in report().report.months}
    assert months == raw_sums(lambda line: line["bill/BillingPeriodStartDate"][:7])


def test_the_report_of_an_import_says_the_native_format() -> None:
    (file,) = report().report.files
    assert file.native_format == "AWS Cost and Usage Report (legacy CUR)"
    assert file.columns == 130
    assert any("ServiceCategory" in note for note in file.notes)


def test_an_amount_that_is_no_number_is_named_by_its_own_row_and_column() -> None:
    lines = gzip.decompress(bucket_file()).decode().splitlines()[:4]
    lines[2] = lines[2].replace("0.005844310596653427,0.138", "five,0.138", 1)
    with pytest.raises(FocusFileError) as error:
        FocusRead("\n".join(lines).encode())
    assert "row 3, column lineItem/UnblendedCost: 'five'" in error.value.message


def test_a_report_without_a_column_says_which_one_by_its_own_name() -> None:
    data = (AWS / "cur_legacy.csv").read_bytes().replace(b"lineItem/CurrencyCode", b"lineItem/Nothing")
    with pytest.raises(FocusFileError, match="without lineItem/CurrencyCode") as error:
        FocusRead(data)
    assert "BillingCurrency" in error.value.message
    assert {row["currency"] for row in FocusRead(data, defaults={"BillingCurrency": "USD"}).rows} == {"USD"}
