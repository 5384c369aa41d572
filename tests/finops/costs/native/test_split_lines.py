"""Cost of shared machines by pod and task, as each cloud splits it: read, and never counted beside the line that it is split of."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from tests.finops.costs.focus_reader import FocusRead, as_csv
from tests.finops.costs.native.azure_export import ENTERPRISE, export, of
from tests.finops.costs.native.cur_files import (
    PLAN,
    RESERVATION,
    Line,
    as_legacy_csv,
    as_parquet,
    line,
    usage,
)
from tests.finops.costs.native.cur_files import as_csv as cur_as_csv
from tests.finops.costs.native.test_google import LINE, bill

DIMENSIONS = ("service", "account_id", "region", "charge_category", "currency", "charge_date", "resource_id")


def sums(read: FocusRead, column: str) -> dict[object, tuple[Decimal, Decimal]]:
    """Billed and effective cost by a column; nothing of values without any."""
    totals: dict[object, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    names = (column, "billed_cost", "effective_cost")
    for key, billed, effective in zip(*map(read.column, names), strict=True):
        totals[key][0] += billed
        totals[key][1] += effective
    return {key: (billed, effective) for key, (billed, effective) in totals.items() if billed or effective}


INSTANCES: Mapping[str, Line] = {
    "Usage": usage("10", line_item_resource_id="i-node", resource_tags={"user_team": "platform"}),
    "DiscountedUsage": line(
        "DiscountedUsage",
        "0",
        line_item_resource_id="i-node",
        reservation_effective_cost=Decimal(6),
        reservation_reservation_a_r_n=RESERVATION,
    ),
    "SavingsPlanCoveredUsage": line(
        "SavingsPlanCoveredUsage",
        "10",
        line_item_resource_id="i-node",
        savings_plan_savings_plan_effective_cost=Decimal(7),
        savings_plan_savings_plan_a_r_n=PLAN,
    ),
}


def shares(line_type: str) -> list[Line]:
    """What AWS adds for the pods of an instance: lines that are billed nothing, with their share of its amortized cost."""
    return [
        line(
            line_type,
            "0",
            line_item_product_code="AmazonEKS",
            line_item_usage_type="EKS-EC2-vCPU-Hours",
            line_item_resource_id=f"arn:aws:eks:us-east-1:1:pod/prod/shop/{pod}",
            split_line_item_parent_resource_id="i-node",
            split_line_item_split_cost=Decimal(share),
            split_line_item_unused_cost=Decimal("0.5"),
            resource_tags={"aws_eks_namespace": pod},
        )
        for pod, share in (("pod-a", "3"), ("pod-b", "2"))
    ]


@pytest.mark.parametrize("form", [as_parquet, cur_as_csv, as_legacy_csv])
@pytest.mark.parametrize("share_type", ["Usage", "as its instance"])
@pytest.mark.parametrize("kind", INSTANCES)
def test_shares_of_aws_change_no_total_of_the_bill(kind: str, share_type: str, form: Any) -> None:
    lines_without_split = [INSTANCES[kind], usage("4", line_item_resource_id="i-other")]
    pods = shares(kind if share_type != "Usage" else share_type)
    split, whole = FocusRead(form([*lines_without_split, *pods])), FocusRead(form(lines_without_split))
    for dimension in DIMENSIONS:
        assert sums(split, dimension) == sums(whole, dimension), dimension
    by_pod = {key: effective for key, (_, effective) in sums(split, "allocated_resource_id").items() if key}
    assert {str(key).rpartition("/")[2]: cost for key, cost in by_pod.items()} == {
        "pod-a": Decimal("3.5"),
        "pod-b": Decimal("2.5"),
    }


def test_shares_of_aws_are_said_with_what_tags_of_the_instance_keep() -> None:
    read = FocusRead(as_parquet([INSTANCES["Usage"], *shares("Usage")]))
    (note,) = [note for note in read.report.files[0].notes if "split cost allocation data" in note]
    assert "2 shares" in note
    assert "Tags of the resource itself keep its full cost" in note
    by_team = {key: effective for key, (_, effective) in sums(read, "tag:team").items()}
    assert by_team == {"platform": 10}


def focus_line(cost: str, pod: str = "", **columns: str) -> dict[str, str]:
    """A line of FOCUS 1.3; of a pod, where it is one that a method has split off."""
    of_pod = {
        "AllocatedMethodId": "eks-usage",
        "AllocatedResourceId": pod,
        "AllocatedResourceName": pod,
        "AllocatedTags": json.dumps({"namespace": pod}),
    }
    base = {"BilledCost": cost, "EffectiveCost": cost, "ResourceId": "i-node", "HostProviderName": "AWS"}
    return {**base, **(of_pod if pod else {}), **columns}


def test_split_lines_of_focus_add_up_to_the_line_that_they_are_of() -> None:
    """FOCUS 1.3: the lines that a method makes of one line have its cost together; that line is not there besides."""
    rows = [
        focus_line("3.5", "pod-a"),
        focus_line("2.5", "pod-b"),
        focus_line("4"),
        focus_line("-1", "pod-b"),
    ]
    read = FocusRead(as_csv(*rows))
    assert sums(read, "resource_id") == {"i-node": (Decimal(9), Decimal(9))}
    assert sums(read, "allocated_resource_id") == {
        "pod-a": (Decimal("3.5"), Decimal("3.5")),
        "pod-b": (Decimal("1.5"), Decimal("1.5")),
        None: (Decimal(4), Decimal(4)),
    }
    assert read.column("allocated_tags")[0] == '{"namespace": "pod-a"}'
    assert read.column("tag:namespace") == [None] * 4


def test_labels_of_gke_split_a_line_into_its_namespaces_and_what_nobody_used() -> None:
    """Google, “GKE cost allocation”: the usage of a node comes in lines by namespace, which replace its one line."""
    label = '[{{"key":"k8s-namespace","value":"{}"}},{{"key":"goog-k8s-cluster-name","value":"prod"}}]'
    costs = {"shop": "6", "kube:unallocated": "3", "kube:system-overhead": "1"}
    split = FocusRead(bill(*({"cost": cost, "labels": label.format(name)} for name, cost in costs.items())))
    whole = FocusRead(bill({"cost": "10"}))
    for dimension in ("service", "account_id", "region", "charge_category", "currency", "resource_id"):
        assert sums(split, dimension) == sums(whole, dimension)
    assert {key: billed for key, (billed, _) in sums(split, "tag:k8s-namespace").items()} == {
        name: Decimal(cost) for name, cost in costs.items()
    }
    assert set(split.column("tag:goog-k8s-cluster-name")) == {"prod"}
    assert LINE["cost"] == "10.5"


def azure_sums(data: bytes, key: str) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(data.decode())):
        totals[row[key]] += Decimal(row["CostInBillingCurrency"])
    return {name: total for name, total in totals.items() if total}


def line_of_subscription(cost: str, subscription: str) -> Mapping[str, str]:
    rule = {"CostAllocationRuleName": "Shared cluster"}
    return of({}, cost, SubscriptionName=subscription, SubscriptionId=subscription.lower(), **rule)


def test_a_cost_allocation_rule_of_azure_moves_cost_of_a_cluster_and_adds_none() -> None:
    """Microsoft, “Allocate costs”: lines with the rule's name take from the source and give to the targets."""
    base = {**ENTERPRISE, "CostAllocationRuleName": ""}
    rows: Sequence[Mapping[str, str]] = [
        of({}, "100", SubscriptionName="Cluster", SubscriptionId="cluster"),
        *(
            line_of_subscription("-100", "Cluster"),
            line_of_subscription("70", "Shop"),
            line_of_subscription("30", "Search"),
        ),
    ]
    data = export(*rows, base=base)
    read = FocusRead(data)
    assert sum(read.column("billed_cost")) == sum(read.column("effective_cost")) == 100
    by_account = {key: billed for key, (billed, _) in sums(read, "account_name").items()}
    assert by_account == azure_sums(data, "SubscriptionName") == {"Shop": 70, "Search": 30}
    assert read.column("x:^cost^allocation^rule^name") == [None, *["Shared cluster"] * 3]


def test_tags_of_azure_name_the_cluster_of_a_node_pool() -> None:
    tags = '"aks-managed-cluster-name": "prod","aks-managed-poolName": "pool1"'
    row = FocusRead(export({"Tags": tags})).row
    assert row["tag:aks-managed-cluster-name"] == "prod"
