"""OpenCost's allocations become FOCUS: a line for each part of an allocation that costs something."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from tests.examples import examples
from tests.finops.costs.focus_reader import FocusRead, as_csv

ALLOCATION: dict[str, Any] = {
    "name": "prod-eu/node-1/shop/web-7f/web",
    "running_minutes": 60.0,
    "cpuCoreHours": 0.5,
    "cpuCost": 0.02,
    "cpuCostAdjustment": 0.001,
    "gpuHours": 0.0,
    "gpuCost": 0.0,
    "networkCost": 0.003,
    "networkTransferBytes": 1024.0,
    "loadBalancerCost": 0.004,
    "pvByteHours": 100.0,
    "pvCost": 0.005,
    "ramByteHours": 2048.0,
    "ramCost": 0.006,
    "ramCostAdjustment": 0.0,
    "externalCost": 0.0,
    "sharedCost": 0.007,
    "totalCost": 0.046,
    "properties.cluster": "prod-eu",
    "properties.node": "node-1",
    "properties.namespace": "shop",
    "properties.controller": "web",
    "properties.controllerKind": "deployment",
    "properties.pod": "web-7f",
    "properties.container": "web",
    "properties.providerID": "i-0abc",
    "label.team": "core",
    "namespaceLabels.team": "platform",
    "namespaceLabels.env": "prod",
    "window.start": "2026-05-03T10:00:00Z",
    "window.end": "2026-05-03T11:00:00Z",
}
IDLE = {
    **dict.fromkeys(ALLOCATION),
    "name": "prod-eu/__idle__",
    "properties.cluster": "prod-eu",
    "cpuCost": 1.5,
    "totalCost": 1.5,
    "window.start": "2026-05-03T10:00:00Z",
    "window.end": "2026-05-03T11:00:00Z",
}
USD = {"BillingCurrency": "USD"}


def parquet(tmp_path: Path, *allocations: Mapping[str, Any]) -> bytes:
    table = pa.Table.from_pylist([{**ALLOCATION, **each} for each in allocations])
    pq.write_table(table, tmp_path / "allocations.parquet")
    return (tmp_path / "allocations.parquet").read_bytes()


def export(*rows: Mapping[str, str]) -> bytes:
    """As OpenCost's own CSV export has it."""
    base = {
        "Date": "2026-05-03",
        "Namespace": "shop",
        "ControllerKind": "deployment",
        "ControllerName": "web",
        "Pod": "web-7f",
        "Container": "web",
        "Labels": json.dumps({"team": "core"}),
        "CPUCoreUsageAverage": "0.1",
        "CPUCost": "0.02",
        "RAMCost": "0.006",
        "NetworkCost": "0",
        "PVCost": "0",
        "GPUCost": "0",
        "TotalCost": "0.03",
    }
    text = io.StringIO()
    writer = csv.DictWriter(text, list(base), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**base, **row} for row in rows)
    return text.getvalue().encode()


def test_each_part_of_an_allocation_is_a_line(tmp_path: Path) -> None:
    read = FocusRead(parquet(tmp_path, {}), defaults=USD)
    costs = dict(zip(read.column("usage_type"), read.column("billed_cost"), strict=True))
    assert costs == {
        "CPU": Decimal("0.021"),
        "RAM": Decimal("0.006"),
        "Persistent volume": Decimal("0.005"),
        "Network": Decimal("0.003"),
        "Load balancer": Decimal("0.004"),
        "Shared": Decimal("0.007"),
    }
    assert read.column("billed_cost") == read.column("effective_cost")
    units = dict(zip(read.column("usage_type"), read.column("consumed_unit"), strict=True))
    assert (units["CPU"], units["RAM"], units["Shared"]) == ("Core Hours", "Byte Hours", None)


def test_a_line_is_of_its_cluster_and_workload(tmp_path: Path) -> None:
    row = FocusRead(parquet(tmp_path, {}), defaults=USD).rows[0]
    assert (row["service"], row["provider"], row["account_id"]) == ("Kubernetes", "OpenCost", "prod-eu")
    assert (row["resource_id"], row["resource_name"]) == ("prod-eu/shop/web-7f/web", "web-7f")
    assert (row["allocated_method_id"], row["allocated_resource_id"]) == (
        "OpenCost",
        "prod-eu/shop/web-7f/web",
    )
    assert (row["charge_date"], row["billing_period"]) == (date(2026, 5, 3), date(2026, 5, 1))
    assert row["charge_period_end"] == datetime(2026, 5, 3, 11, tzinfo=UTC)
    assert (row["x:^namespace"], row["x:^node"], row["x:^provider^id"]) == ("shop", "node-1", "i-0abc")


def test_labels_of_the_pod_go_before_those_of_its_namespace(tmp_path: Path) -> None:
    read = FocusRead(parquet(tmp_path, {}, {"label.team": None}), defaults=USD)
    assert set(read.column("tag:team")) == {"core", "platform"}
    assert read.rows[0]["tag:team"] == "core"
    assert set(read.column("tag:env")) == {"prod"}


def test_idle_capacity_is_a_line_of_the_cluster(tmp_path: Path) -> None:
    read = FocusRead(parquet(tmp_path, {}, IDLE), defaults=USD)
    (idle,) = [row for row in read.rows if row["charge_description"] == "Idle"]
    assert (idle["billed_cost"], idle["account_id"], idle["resource_id"]) == (
        Decimal("1.5"),
        "prod-eu",
        "prod-eu",
    )


def test_an_allocation_that_costs_nothing_keeps_a_line(tmp_path: Path) -> None:
    free = {name: 0.0 for name in ALLOCATION if name.endswith(("Cost", "Adjustment"))}
    assert FocusRead(parquet(tmp_path, free), defaults=USD).column("billed_cost") == [0]


def test_numbers_that_pandas_has_no_value_for_are_none(tmp_path: Path) -> None:
    read = FocusRead(parquet(tmp_path, {"sharedCost": float("nan"), "totalCost": 0.039}), defaults=USD)
    assert sum(read.column("billed_cost")) == Decimal("0.039")


def test_the_total_keeps_amounts_outside_of_its_parts() -> None:
    read = FocusRead(export({}), defaults=USD)
    costs = dict(zip(read.column("usage_type"), read.column("billed_cost"), strict=True))
    assert costs == {"CPU": Decimal("0.02"), "RAM": Decimal("0.006"), "Other": Decimal("0.004")}
    assert read.rows[0]["resource_id"] == "shop/web-7f/web"
    assert read.rows[0]["tag:team"] == "core"
    assert "does not name the cluster" in " ".join(read.report.files[0].notes)


def test_a_currency_has_to_be_given() -> None:
    with pytest.raises(FocusFileError, match=r"without a currency.*--set Column=value"):
        FocusRead(export({}))


def test_the_cluster_can_be_given() -> None:
    assert FocusRead(export({}), defaults={**USD, "SubAccountId": "prod"}).rows[0]["account_id"] == "prod"


def test_the_report_says_that_a_clouds_bill_has_this_cost_too() -> None:
    assert "A cloud's bill of the same nodes" in FocusRead(export({}), defaults=USD).report.files[0].notes[0]


def test_split_lines_of_a_clouds_own_export_are_read() -> None:
    tags = '{"team":"core"}'
    row = {
        "AllocatedMethodId": "split",
        "AllocatedResourceId": "pod-1",
        "AllocatedResourceName": "web",
        "AllocatedTags": tags,
    }
    read = FocusRead(as_csv({**row, "ServiceProviderName": "AWS", "HostProviderName": "AWS"})).row
    assert (read["allocated_method_id"], read["allocated_resource_id"]) == ("split", "pod-1")
    assert (read["allocated_resource_name"], read["allocated_tags"]) == ("web", tags)


COSTS = st.decimals(min_value=Decimal(0), max_value=Decimal(1000), places=6)


@settings(max_examples=examples(50))
@given(
    st.lists(
        st.tuples(COSTS, COSTS, COSTS, st.sampled_from(["shop", "blog"]), st.sampled_from(["03", "04"])),
        min_size=1,
        max_size=15,
    )
)
def test_any_export_adds_up_to_its_totals(lines: list[tuple[Decimal, Decimal, Decimal, str, str]]) -> None:
    expected: dict[tuple[str, date], Decimal] = defaultdict(Decimal)
    rows = []
    for cpu, ram, more, namespace, day in lines:
        expected[namespace, date(2026, 5, int(day))] += cpu + ram + more
        costs = {"CPUCost": str(cpu), "RAMCost": str(ram), "TotalCost": str(cpu + ram + more)}
        rows.append({**costs, "Namespace": namespace, "Date": f"2026-05-{day}"})
    read = FocusRead(export(*rows), defaults=USD)
    totals: dict[tuple[str, date], Decimal] = defaultdict(Decimal)
    for row in read.rows:
        totals[row["x:^namespace"], row["charge_date"]] += row["billed_cost"]
    assert totals == expected
