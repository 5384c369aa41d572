"""Totals of every native format equal an independent computation on its raw file, by each dimension, billed and amortized.

The computations are in `truth/`: csv, pyarrow's rows and Decimal, none of the product's mappings. docs/native-formats.md has the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport
from tests.cast import Cast, signed_in
from tests.factories.imports import cost_by
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.truth import aws, azure, google, opencost, oracle
from tests.finops.costs.native.truth.bills import DIMENSIONS, Bill

FORMATS: Final[Mapping[str, Callable[[], Bill]]] = {
    "AWS CUR legacy, CSV": aws.legacy_csv,
    "AWS CUR legacy, a bucket's CSV": aws.legacy_bucket,
    "AWS CUR 2.0, CSV": aws.cur_2_csv,
    "AWS CUR 2.0, Parquet of doubles": lambda: aws.cur_2_parquet(exact=False),
    "AWS CUR 2.0, Parquet of decimals": lambda: aws.cur_2_parquet(exact=True),
    "Azure pair, Enterprise": lambda: azure.pair("Enterprise"),
    "Azure pair, Enterprise camel": lambda: azure.pair("EnterpriseCamel"),
    "Azure pair, Enterprise with benefits": lambda: azure.pair("EA_ActualCost_Small"),
    "Azure pair, version 2": lambda: azure.pair("koku_azure_version_2"),
    "Azure, pay-as-you-go": lambda: azure.alone("PayAsYouGo"),
    "Azure, German": lambda: azure.alone("German"),
    "Azure, byte order mark": lambda: azure.alone("BOM"),
    "Azure, partly translated": lambda: azure.alone("YA"),
    "Azure, camel case": lambda: azure.alone("koku_azure_camelCased"),
    "Google standard, CSV": lambda: google.csv_bill(detailed=False),
    "Google detailed, CSV": lambda: google.csv_bill(detailed=True),
    "Google standard, Parquet": lambda: google.parquet_bill(detailed=False),
    "Google detailed, Parquet": lambda: google.parquet_bill(detailed=True),
    "Google standard, JSON": lambda: google.json_bill(detailed=False),
    "Google detailed, JSON": lambda: google.json_bill(detailed=True),
    "Google detailed, JSON in gzip": lambda: google.json_bill(detailed=True, packed=True),
    "Google standard, sample": lambda: google.sample("standard"),
    "Google detailed, sample": lambda: google.sample("detailed"),
    "Oracle cost report": oracle.report,
    "Oracle cost report, sample": oracle.sample,
    "OpenCost, Parquet": opencost.parquet_bill,
    "OpenCost, CSV": opencost.csv_bill,
}
COLUMNS: Final = {"month": "billing_period"}
"""Dimension -> the lake's column, where it is another."""


@cache
def bill(name: str) -> Bill:
    return FORMATS[name]()


@cache
def read(name: str) -> FocusRead:
    raw = bill(name)
    return FocusRead(*raw.files, defaults=raw.defaults, names=raw.names)


def imported_sums(name: str, dimension: str) -> dict[object, tuple[Decimal, Decimal]]:
    sums: dict[object, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    rows = read(name)
    keys = rows.column(COLUMNS.get(dimension, dimension))
    for key, billed, effective in zip(
        keys, rows.column("billed_cost"), rows.column("effective_cost"), strict=True
    ):
        total = sums[f"{key:%Y-%m}" if dimension == "month" else key]
        total[0] += billed
        total[1] += effective
    return {key: (billed, effective) for key, (billed, effective) in sums.items() if billed or effective}


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", FORMATS)
def test_totals_are_those_of_the_raw_file(name: str, dimension: str) -> None:
    assert imported_sums(name, dimension) == bill(name).sums(dimension)


@pytest.mark.parametrize("name", [name for name in FORMATS if "sample" not in name])
def test_a_bill_has_what_its_format_can_have(name: str) -> None:
    """So that no sum above is one of nothing."""
    sums = {dimension: bill(name).sums(dimension) for dimension in DIMENSIONS}
    several = {dimension for dimension, each in sums.items() if len(each) > 1}
    assert "month" in several
    assert all(each for each in sums.values())


@pytest.mark.parametrize("name", [name for name in FORMATS if name.startswith("Azure pair")])
def test_the_two_exports_of_a_pair_agree(name: str) -> None:
    assert not any("differ" in note for file in read(name).report.files for note in file.notes)


WHOLE: Final = (
    "AWS CUR 2.0, Parquet of doubles",
    "Azure pair, Enterprise",
    "Google detailed, Parquet",
    "Google detailed, JSON in gzip",
    "Oracle cost report",
    "OpenCost, Parquet",
)


@pytest.mark.django_db
@pytest.mark.parametrize("name", WHOLE)
def test_totals_of_an_uploaded_bill_are_those_of_the_raw_file(name: str, cast: Cast) -> None:
    raw = bill(name)
    names = raw.names or [f"part-{place}" for place, _ in enumerate(raw.files)]
    files = [SimpleUploadedFile(file, data) for file, data in zip(names, raw.files, strict=True)]
    fields = {"name": "Bills", "currency": raw.defaults.get("BillingCurrency", ""), "uploads": files}
    answer = signed_in(cast.member).post("/a/acme/connections/upload/", fields)
    assert answer.status_code == 302
    with account_scope(cast.account):
        job = CostImport.objects.get()
    services.run_import(job.pk)
    for dimension in DIMENSIONS:
        sums = cost_by(cast.account, COLUMNS.get(dimension, dimension))
        assert {key: total for key, total in sums.items() if any(total)} == raw.sums(dimension)
