"""The generator alone: no database, no import."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.demo import scenario
from finops.demo.commitments import COMMITMENTS, settle, term_of
from finops.demo.company import CUSTOMER_IDS, SOURCES
from finops.demo.datasets import write_contracts
from finops.demo.generate import first_day, month_rows, months_between, usage_on, write_source

MAY, END_OF_MAY = date(2026, 5, 1), date(2026, 5, 31)
ZERO = Decimal(0)


@pytest.fixture(scope="module")
def may_tables() -> dict[str, pa.Table]:
    return {source: month_rows(source, MAY, END_OF_MAY) for source in SOURCES}


def _rows(table: pa.Table, *columns: str) -> list[dict[str, Any]]:
    return table.select(list(columns)).to_pylist()  # type: ignore[no-any-return]


def _tags(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    return dict(value) if isinstance(value, list) else json.loads(value)


@pytest.mark.parametrize("source", SOURCES)
def test_a_month_is_the_same_each_time_it_is_generated(source: str, may_tables: dict[str, pa.Table]) -> None:
    assert month_rows(source, MAY, END_OF_MAY).equals(may_tables[source])


@pytest.mark.parametrize("source", SOURCES)
def test_the_days_before_another_end_are_the_same_lines(source: str, may_tables: dict[str, pa.Table]) -> None:
    half = month_rows(source, MAY, date(2026, 5, 17))
    whole = may_tables[source]
    assert whole.slice(0, half.num_rows).equals(half)
    later = {
        row["ChargePeriodStart"].date() for row in _rows(whole.slice(half.num_rows), "ChargePeriodStart")
    }
    assert min(later - {date(2026, 4, 26)}) == date(2026, 5, 18)


def test_a_file_starting_in_another_month_has_the_same_lines(tmp_path: Path) -> None:
    long = write_source("gcp", tmp_path / "long.parquet", date(2026, 3, 1), date(2026, 5, 10))
    short = write_source("gcp", tmp_path / "short.parquet", date(2026, 5, 1), date(2026, 5, 10))
    table = pq.read_table(long.path)
    assert table.slice(long.rows - short.rows).equals(pq.read_table(short.path))


def test_quantity_times_price_is_the_cost_to_the_last_digit(may_tables: dict[str, pa.Table]) -> None:
    for table in may_tables.values():
        for row in _rows(
            table, "PricingQuantity", "ListUnitPrice", "ContractedUnitPrice", "ListCost", "ContractedCost"
        ):
            if row["ListUnitPrice"] is not None:
                assert row["PricingQuantity"] * row["ListUnitPrice"] == row["ListCost"]
                assert row["PricingQuantity"] * row["ContractedUnitPrice"] == row["ContractedCost"]


@pytest.mark.parametrize("commitment", COMMITMENTS, ids=lambda one: one.key)
def test_over_a_term_what_was_paid_is_what_was_used_and_what_was_wasted(commitment: Any) -> None:
    term = term_of(commitment, date(2025, 12, 1))
    paid = used = unused = 0
    day = term.start
    while day < term.end:
        eligible = [each for each in usage_on(commitment.source, day) if each[0].sku.plan == commitment.plan]
        settled = settle(commitment, day, eligible)
        paid += settled.fee
        used += sum(part.worth for part in settled.covered)
        unused += settled.unused_worth
        day += timedelta(days=1)
    assert paid == used + unused
    assert used > 0


def test_in_the_file_too_the_purchases_of_a_month_are_its_used_and_unused(
    may_tables: dict[str, pa.Table],
) -> None:
    columns = (
        "CommitmentDiscountId",
        "ChargeCategory",
        "CommitmentDiscountStatus",
        "BilledCost",
        "EffectiveCost",
    )
    paid: dict[str, Decimal] = defaultdict(Decimal)
    worth: dict[str, Decimal] = defaultdict(Decimal)
    for table in may_tables.values():
        for row in _rows(table, *columns):
            if row["CommitmentDiscountId"] and row["ChargeCategory"] == "Purchase":
                assert row["EffectiveCost"] == 0
                paid[row["CommitmentDiscountId"]] += row["BilledCost"]
            elif row["CommitmentDiscountId"]:
                assert row["BilledCost"] == 0
                worth[row["CommitmentDiscountId"]] += row["EffectiveCost"]
    upfront = {key for key in worth if key not in paid}
    assert len(upfront) == 1, "the database reservation was paid in March"
    assert paid == {key: value for key, value in worth.items() if key not in upfront}
    assert len(paid) == len(COMMITMENTS) - 1


def test_each_vendor_has_waste_only_where_it_has_commitments(may_tables: dict[str, pa.Table]) -> None:
    unused = {
        source: sum(
            row["EffectiveCost"]
            for row in _rows(table, "CommitmentDiscountStatus", "EffectiveCost")
            if row["CommitmentDiscountStatus"] == "Unused"
        )
        for source, table in may_tables.items()
    }
    assert unused["aws"] > 1000
    assert unused["azure"] > 0
    assert unused["gcp"] > 0
    assert unused["anthropic"] == 0


def test_there_are_two_currencies_and_each_bill_has_one(may_tables: dict[str, pa.Table]) -> None:
    currencies = {source: set(table["BillingCurrency"].to_pylist()) for source, table in may_tables.items()}
    assert currencies == {"aws": {"USD"}, "azure": {"EUR"}, "gcp": {"USD"}, "anthropic": {"USD"}}


def _year() -> Iterator[pa.Table]:
    today = date(2026, 11, 20)
    for source in SOURCES:
        for month in months_between(first_day(today), date(2026, 11, 19)):
            yield month_rows(source, month, date(2026, 11, 19)).select(
                [
                    "ChargeCategory",
                    "ChargeClass",
                    "ChargeFrequency",
                    "BilledCost",
                    "ChargePeriodStart",
                    "BillingPeriodStart",
                ]
            )


@pytest.mark.slow
def test_a_year_has_tax_credits_fees_refunds_and_corrections_of_an_earlier_month() -> None:
    table = pa.concat_tables(_year())
    assert 150_000 < table.num_rows < 500_000
    totals: dict[str, Decimal] = defaultdict(Decimal)
    corrections = 0
    for row in table.to_pylist():
        totals[row["ChargeCategory"]] += row["BilledCost"]
        if row["ChargeClass"] == "Correction":
            corrections += 1
            assert row["BilledCost"] < 0
            assert row["ChargePeriodStart"] < row["BillingPeriodStart"]
    assert corrections >= 3
    assert set(totals) == {"Usage", "Purchase", "Tax", "Credit", "Adjustment"}
    assert totals["Tax"] > 0
    assert totals["Credit"] < 0
    assert Decimal(2_000_000) < sum(totals.values(), ZERO) < Decimal(6_000_000)


def test_tags_have_gaps_and_misspellings(may_tables: dict[str, pa.Table]) -> None:
    rows = _rows(may_tables["aws"], "Tags", "EffectiveCost")
    keys: dict[str, Decimal] = defaultdict(Decimal)
    untagged = ZERO
    for row in rows:
        tags = _tags(row["Tags"])
        untagged += ZERO if set(tags) - {"aws:createdBy"} else row["EffectiveCost"]
        for key in tags:
            keys[key] += row["EffectiveCost"]
    total = sum((row["EffectiveCost"] for row in rows), ZERO)
    assert {
        "env",
        "Env",
        "environment",
        "team",
        "Team",
        "service",
        "owner",
        "customer",
        "aws:createdBy",
    } <= set(keys)
    assert Decimal("0.03") < untagged / total < Decimal("0.4")


def test_every_customer_has_cost_of_its_own(may_tables: dict[str, pa.Table]) -> None:
    customers = {
        tag
        for table in may_tables.values()
        for value in table["Tags"].to_pylist()
        if (tag := _tags(value).get("customer"))
    }
    assert len(set(CUSTOMER_IDS) - customers) <= 8, "untagged buckets are part of the story"
    assert {"CUST-007", "cust_019"} <= customers


@pytest.mark.parametrize(
    "anomaly",
    scenario.anomalies(date(2026, 1, 1), date(2026, 11, 19)),
    ids=lambda one: f"{one.name}-{one.start}",
)
def test_a_planted_anomaly_shows_in_the_usage(anomaly: scenario.DemoAnomaly) -> None:
    def quantity(day: date) -> int:
        return sum(
            amount for line, amount in usage_on(anomaly.source, day) if line.workload == anomaly.workload
        )

    weeks = [quantity(anomaly.start - timedelta(days=7 * back)) for back in (1, 2, 3)]
    normal = sum(weeks) / len(weeks)
    assert quantity(anomaly.start) / normal == pytest.approx(anomaly.factor, rel=0.6)


def test_any_two_months_have_a_planted_anomaly() -> None:
    for month in range(1, 13):
        start = date(2030, month, 1)
        assert scenario.anomalies(start, start + timedelta(days=61))


def test_the_warehouse_moves_from_one_service_to_the_other() -> None:
    def warehouse(source: str, service: str, day: date) -> int:
        return sum(amount for line, amount in usage_on(source, day) if line.sku.service == service)

    assert warehouse("aws", "Amazon Redshift", date(2026, 3, 10)) > 0
    assert warehouse("aws", "Amazon Redshift", date(2026, 8, 10)) == 0
    assert warehouse("gcp", "BigQuery", date(2026, 8, 10)) > warehouse("gcp", "BigQuery", date(2026, 3, 10))


def test_the_contract_files_name_every_commitment_of_the_bills_at_what_it_costs(
    may_tables: dict[str, pa.Table], tmp_path: Path
) -> None:
    promised: dict[str, Decimal] = {}
    for source in SOURCES:
        path = tmp_path / f"{source}.csv"
        if write_contracts(source, path, date(2025, 11, 1), date(2026, 11, 19)):
            with path.open(newline="") as file:
                promised |= {
                    row["ContractCommitmentId"]: Decimal(row["ContractCommitmentCost"])
                    for row in csv.DictReader(file)
                }
    billed = {
        each for table in may_tables.values() for each in table["CommitmentDiscountId"].to_pylist() if each
    }
    assert billed <= set(promised)
    term = term_of(COMMITMENTS[1], MAY)
    paid = settle(COMMITMENTS[1], term.start, []).fee
    assert promised[term.id] == Decimal(paid).scaleb(-12)


def test_the_readme_lists_the_planted_anomalies_as_they_are() -> None:
    text = (Path(scenario.__file__).parent / "README.md").read_text()
    planted_in_cost = text.split("## Planted anomalies")[1].split("\n## ")[0]
    table = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in planted_in_cost.splitlines()
        if line.startswith("| ")
    ]
    planted_rows = {(row[0], row[1], row[2], row[3], row[5]) for row in table if len(row) == 6} - {
        ("name", "source and service", "workload", "months", "factor")
    }
    planted: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for each in scenario.anomalies(date(2026, 1, 1), date(2026, 12, 31)):
        planted[(each.name, f"{each.source}, {each.service}", each.workload, f"{each.factor:g}")].add(
            each.start.month
        )
    assert planted_rows == {
        (name, where, workload, ", ".join(map(str, sorted(months))), factor)
        for (name, where, workload, factor), months in planted.items()
    }
