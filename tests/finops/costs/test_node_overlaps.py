"""OpenCost allocates the cost of nodes that a cloud bills: nobody counts it twice without being told."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource, SourceOverlap
from finops.costs.queries import query_spend
from finops.costs.queries.import_notices import import_notices
from finops.costs.spend_query import SpendQuery
from finops.insights.data_health import data_health
from finops.lib.formats.sentences import reader_text
from tests.cast import Cast, signed_in
from tests.factories.bill_text import bill, month_of
from tests.factories.imports import import_bill
from tests.finops.costs.native.cur_files import as_parquet, usage
from tests.finops.costs.native.test_google import bill as google_bill
from tests.pages import get_page

EURO = {"BillingCurrency": "EUR"}
NODE = "i-0abc1234def567890"


def allocations(*rows: Mapping[str, Any], month: str = "2026-05") -> bytes:
    base = {
        "name": "prod/node/shop/web",
        "cpuCost": 1.5,
        "ramCost": 0.5,
        "totalCost": 2.0,
        "properties.cluster": "prod",
        "properties.node": "ip-10-0-0-1.ec2.internal",
        "properties.namespace": "shop",
        "properties.providerID": f"aws:///us-east-1a/{NODE}",
        "window.start": f"{month}-03T10:00:00Z",
        "window.end": f"{month}-03T11:00:00Z",
    }
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{**base, **row} for row in rows]), sink)
    return sink.getvalue()


def kubernetes(cast: Cast) -> CostSource:
    return services.create_cost_source(account=cast.account, name="Kubernetes", actor=cast.actor)


def bring(cast: Cast, source: CostSource, folder: Path, data: bytes, **defaults: str) -> CostImport:
    (folder / "bill").write_bytes(data)
    return import_bill(cast, source, folder / "bill", **defaults)


def overlaps() -> list[tuple[str, str, Decimal, Decimal]]:
    rows = SourceOverlap.objects.order_by("month")
    return [(f"{each.month:%Y-%m}", each.currency, each.amount, each.share) for each in rows]


@pytest.mark.parametrize("first", ["bill", "allocations"])
def test_nodes_that_a_bill_has_too_are_named_with_what_may_be_counted_twice(
    cast: Cast, source: CostSource, tmp_path: Path, first: str
) -> None:
    other = kubernetes(cast)
    cluster = allocations(
        {}, {"properties.providerID": "i-of-another-cloud", "properties.node": "n", "totalCost": 2.0}
    )
    nodes = as_parquet([usage("9", line_item_resource_id=NODE), usage("1", line_item_resource_id="i-0other")])
    for kind in (first, "allocations" if first == "bill" else "bill"):
        if kind == "bill":
            bring(cast, source, tmp_path, nodes)
        else:
            bring(cast, other, tmp_path, cluster, **EURO)
    assert overlaps() == [("2026-05", "EUR", Decimal(2), Decimal("0.5"))]
    sentence = "2.00 EUR of 2026-05 may be counted twice: Bills and Kubernetes have the cost of the same cluster nodes"
    health = data_health(cast.account)
    assert sentence in health.warnings[0]
    assert "2.00 EUR may be counted twice" in health.summary
    assert reader_text(sentence) in get_page(signed_in(cast.viewer), "/a/acme/connections/")


def test_answers_of_its_months_warn_and_those_of_others_do_not(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    bring(cast, source, tmp_path, as_parquet([usage("9", line_item_resource_id=NODE)]))
    bring(cast, kubernetes(cast), tmp_path, allocations({}), **EURO)

    def warnings(month: int) -> str:
        days = SpendQuery(start_date=date(2026, month, 1), end_date=date(2026, month, 28))
        with account_scope(cast.account):
            return " ".join(query_spend(cast.account, days).warnings)

    assert "2.00 EUR of 2026-05 may be counted twice" in warnings(5)
    assert "counted twice" not in warnings(4)
    with account_scope(cast.account):
        (notice,) = import_notices(cast.account).overlaps
    services.dismiss_overlap(
        account=cast.account,
        source_id=notice.source_id,
        other_id=notice.other_id,
        currency="EUR",
        months=SourceOverlap.objects.values_list("month", flat=True),
        actor=cast.actor,
    )
    assert "counted twice" not in warnings(5)


def test_the_same_lines_in_two_sources_are_a_warning_of_answers_too(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    lines = bill(month_of("2026-05", "15.5", account="123", resource="bucket")).encode()
    for each in (source, kubernetes(cast)):
        bring(cast, each, tmp_path, lines)
    with account_scope(cast.account):
        answer = query_spend(
            cast.account, SpendQuery(start_date=date(2026, 5, 1), end_date=date(2026, 5, 31))
        )
    assert any("480.50 USD of 2026-05 may be counted twice" in warning for warning in answer.warnings)


def test_nodes_of_another_month_or_cloud_are_no_overlap(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    other = kubernetes(cast)
    bring(cast, other, tmp_path, allocations({}), **EURO)
    for resource, month in (("i-0other000000000", "2026-05"), (NODE, "2026-06")):
        lines = month_of(month, "3", resource=resource, account="1")
        bring(cast, source, tmp_path, bill(lines).encode())
        assert overlaps() == []


def test_an_overlap_goes_with_its_nodes(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    bring(cast, source, tmp_path, as_parquet([usage("9", line_item_resource_id=NODE)]))
    other = kubernetes(cast)
    bring(cast, other, tmp_path, allocations({}), **EURO)
    assert overlaps()
    services.delete_cost_source(source=other, actor=cast.actor)
    assert overlaps() == []


SCALE_SET = (
    "/subscriptions/1/resourceGroups/mc/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool-7-vmss"
)


@pytest.mark.parametrize(
    ("allocation", "resource"),
    [
        ({"properties.providerID": NODE}, NODE),
        ({"properties.providerID": f"aws:///us-east-1a/{NODE}"}, f"arn:aws:ec2:us-east-1:1:instance/{NODE}"),
        ({"properties.providerID": f"azure://{SCALE_SET}/virtualMachines/3"}, SCALE_SET.lower()),
        ({"properties.providerID": f"azure://{SCALE_SET}/virtualMachines/3"}, SCALE_SET),
        ({"properties.providerID": "gce://shop/us-central1-a/gke-shop-1"}, "projects/1/instances/gke-shop-1"),
        ({"properties.providerID": None, "properties.node": "gke-shop-1"}, "projects/1/instances/gke-shop-1"),
    ],
)
def test_a_node_is_known_by_what_each_cloud_bills_it_as(
    cast: Cast, source: CostSource, tmp_path: Path, allocation: Mapping[str, Any], resource: str
) -> None:
    lines = bill(month_of("2026-05", "3", resource=resource, account="1"))
    bring(cast, source, tmp_path, lines.encode())
    bring(cast, kubernetes(cast), tmp_path, allocations(allocation), **EURO)
    assert overlaps() == [("2026-05", "EUR", Decimal(2), Decimal(1))]


def test_google_names_a_node_by_the_name_of_its_resource(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    line = {"resource.name": "gke-shop-1", "invoice.month": "202605"}
    bring(cast, source, tmp_path, google_bill(line))
    row = {"properties.providerID": "gce://shop/us-central1-a/gke-shop-1"}
    bring(cast, kubernetes(cast), tmp_path, allocations(row), **EURO)
    assert [amount for _, _, amount, _ in overlaps()] == [2]


def test_the_number_of_a_machine_in_a_scale_set_is_no_name(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    bring(cast, source, tmp_path, bill(month_of("2026-05", "3", resource="disks/3", account="1")).encode())
    row = {"properties.providerID": f"azure://{SCALE_SET}/virtualMachines/3"}
    bring(cast, kubernetes(cast), tmp_path, allocations(row), **EURO)
    assert overlaps() == []
