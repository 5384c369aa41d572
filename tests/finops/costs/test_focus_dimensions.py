"""What a bill says beside cost: dimensions of the invoice and the account, and measures other than cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accounts.models import Account
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.models import CostSource
from finops.costs.queries import account_context, fit_to_size, list_dimension_values, query_spend
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.imports import import_bill
from tests.finops.costs import reference_model
from tests.finops.costs.focus_reader import as_csv
from tests.pages import csv_rows

FILE = "synthetic/focus_1_3_cost_and_usage_aws.csv.gz"
COLUMNS = {
    "billing_period": "BillingPeriodStart",
    "invoice": "InvoiceId",
    "billing_account": "BillingAccountId",
    "invoice_issuer": "InvoiceIssuerName",
    "publisher": "PublisherName",
    "host_provider": "HostProviderName",
    "charge_class": "ChargeClass",
    "charge_frequency": "ChargeFrequency",
    "service_subcategory": "ServiceSubcategory",
    "pricing_category": "PricingCategory",
    "availability_zone": "AvailabilityZone",
}
EVER: dict[str, Any] = {"start_date": date(2026, 4, 1), "end_date": date(2026, 7, 31)}
DAY = date(2026, 3, 2)


def sums(
    rows: list[dict[str, str]], keys: Callable[[dict[str, str]], Any], column: str
) -> dict[Any, Decimal]:
    totals: dict[Any, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row[column] not in reference_model.NOTHING:
            totals[keys(row)] += reference_model.amount(row[column])
    return dict(totals)


def text(row: dict[str, str], column: str) -> str:
    value = row[column]
    if column == "BillingPeriodStart":
        return value[:7]
    return "(none)" if value in reference_model.NOTHING else value


@pytest.fixture
def bill(acme: Account, cast: Cast) -> list[dict[str, str]]:
    """The rows of a real-shaped file that has just been imported."""
    source = CostSource.objects.create(account=acme, name="AWS")
    import_bill(cast, source, reference_model.DATA / FILE)
    return reference_model.read_rows(FILE)


def test_every_dimension_of_a_bill_adds_up_as_the_file_does(
    acme: Account, bill: list[dict[str, str]]
) -> None:
    for dimension, column in COLUMNS.items():
        answer = query_spend(acme, SpendQuery(group_by=[dimension], limit=50, basis="billed", **EVER))
        expected = sums(bill, partial(text, column=column), "BilledCost")
        assert {row.group[dimension]: row.amount for row in answer.rows} == expected, dimension
        value, amount = max(expected.items(), key=lambda item: item[1])
        spend = query_spend(
            acme,
            SpendQuery(filters=[Filter(dimension=dimension, values=[value])], basis="billed", **EVER),
        )
        assert [total.amount for total in spend.totals] == [amount], dimension


def test_a_billing_account_goes_by_its_name(acme: Account, bill: list[dict[str, str]]) -> None:
    values = list_dimension_values(acme, "billing account", search="secondary")
    assert [(each.value, each.label) for each in values.values] == [
        ("100000000002", "ExampleCorp Secondary Payer")
    ]
    assert "billing_account" in {each.name for each in account_context(acme).dimensions}


@pytest.mark.parametrize(
    ("measure", "column"), [("list_cost", "ListCost"), ("contracted_cost", "ContractedCost")]
)
def test_list_and_contracted_cost_add_up_as_the_file_does(
    acme: Account, bill: list[dict[str, str]], measure: Any, column: str
) -> None:
    answer = query_spend(acme, SpendQuery(group_by=["service"], limit=50, measure=measure, **EVER))
    assert {row.group["service"]: row.amount for row in answer.rows} == sums(
        bill, lambda row: row["ServiceName"], column
    )
    assert [total.currency for total in answer.totals] == ["USD"]
    assert answer.view.basis == measure


@pytest.mark.parametrize(
    ("measure", "column", "unit"),
    [
        ("consumed_quantity", "ConsumedQuantity", "ConsumedUnit"),
        ("pricing_quantity", "PricingQuantity", "PricingUnit"),
    ],
)
def test_quantities_add_up_by_unit_as_the_file_does(
    acme: Account, bill: list[dict[str, str]], measure: Any, column: str, unit: str
) -> None:
    answer = query_spend(acme, SpendQuery(group_by=["region"], limit=50, measure=measure, **EVER))
    by_unit = sums(bill, lambda row: row[unit], column)
    assert {total.currency: total.amount for total in answer.totals} == by_unit
    assert {(row.group["region"], row.currency): row.amount for row in answer.rows} == sums(
        bill, lambda row: (text(row, "RegionId"), row[unit]), column
    )
    assert f"Quantities are in {len(by_unit)} units" in " ".join(answer.warnings)


def lines() -> list[dict[str, Any]]:
    return [
        cost(
            DAY, 10, service="VM", list_cost=Decimal(15), consumed_quantity=Decimal(3), consumed_unit="Hours"
        ),
        cost(DAY, 4, service="VM", list_cost=Decimal(5), consumed_quantity=Decimal(2), consumed_unit="GB"),
        cost(DAY, 6, service="Mail", consumed_quantity=Decimal(7)),
        cost(DAY, 8, service="Seats", currency="EUR"),
    ]


def test_lines_without_list_cost_are_reported_with_their_cost(acme: Account) -> None:
    add_source(acme, lines())
    answer = query_spend(acme, SpendQuery(period="month_to_date", measure="list_cost", group_by=["service"]))
    assert [(row.group["service"], row.amount) for row in answer.rows] == [("VM", Decimal(20))]
    assert answer.summary.startswith("'Acme' had a list cost of 20.00 USD")
    assert (
        "list cost is missing on lines of 8.00 EUR billed and 6.00 USD billed"
        in answer.summary.split(". ")[0]
    )
    whole = query_spend(
        acme,
        SpendQuery(
            period="month_to_date", measure="list_cost", filters=[Filter(dimension="service", values=["VM"])]
        ),
    )
    assert "missing" not in whole.summary


@pytest.mark.parametrize(
    ("basis", "expected"),
    [
        (None, "0.00 EUR billed (8.00 EUR amortized) and 6.00 USD billed"),
        ("amortized", "8.00 EUR amortized and 5.00 USD amortized"),
    ],
)
def test_lines_without_list_cost_use_the_requested_basis(acme: Account, basis: Any, expected: str) -> None:
    paid = [
        cost(DAY, 6, effective_cost=Decimal(5), service="Mail"),
        cost(DAY, 0, effective_cost=Decimal(8), service="Seats", currency="EUR"),
    ]
    add_source(acme, paid)
    query = SpendQuery(period="month_to_date", measure="list_cost", basis=basis)
    assert f"is missing on lines of {expected}" in query_spend(acme, query).summary


def test_a_quantity_has_its_unit_and_no_currency(acme: Account) -> None:
    add_source(acme, lines())
    query = SpendQuery(
        period="month_to_date",
        measure="consumed_quantity",
        group_by=["service"],
        granularity="day",
        compare_to="previous_period",
    )
    answer = msgspec.to_builtins(query_spend(acme, query), builtin_types=(Decimal, date))
    assert [(total["quantity"], total["unit"]) for total in answer["totals"]] == [
        (Decimal(7), "(no unit)"),
        (Decimal(3), "Hours"),
        (Decimal(2), "GB"),
    ]
    assert {(row["group"]["service"], row["quantity"], row["unit"]) for row in answer["rows"]} == {
        ("Mail", Decimal(7), "(no unit)"),
        ("VM", Decimal(3), "Hours"),
        ("VM", Decimal(2), "GB"),
    }
    assert "currency" not in repr([answer["totals"], answer["rows"]])
    assert "consumed quantity is missing on lines of 8.00 EUR billed" in answer["summary"]


def test_a_folded_answer_of_quantities_keeps_its_units(acme: Account) -> None:
    many = [
        cost(day, 1, service=f"Service {number}", consumed_quantity=Decimal(number + 1), consumed_unit="GB")
        for number in range(20)
        for day in (date(2026, 2, 2), DAY)
    ]
    add_source(acme, many)
    query = SpendQuery(
        period="month_to_date",
        measure="consumed_quantity",
        group_by=["service"],
        compare_to="previous_period",
        limit=20,
    )
    answer = fit_to_size(query_spend(acme, query), lambda one: len(one.rows) <= 3)
    document = msgspec.to_builtins(answer, builtin_types=(Decimal, date))
    assert [row["unit"] for row in document["rows"]] == ["GB"] * 3
    assert sum(row["quantity"] for row in document["rows"]) == sum(range(1, 21))
    assert "currency" not in repr(document["rows"])


def test_cost_only_is_split_and_spread(acme: Account) -> None:
    add_source(acme, lines())
    with pytest.raises(UserError, match="applies to cost, not list_cost"):
        query_spend(acme, SpendQuery(period="month_to_date", measure="list_cost", spread="charge_period"))
    with pytest.raises(UserError, match="apply to cost, not consumed_quantity"):
        query_spend(acme, SpendQuery(period="month_to_date", measure="consumed_quantity", splits="after"))


def test_the_explorer_shows_and_writes_a_quantity_with_its_unit(acme: Account, cast: Cast) -> None:
    add_source(acme, lines())
    params = {"period": "month_to_date", "measure": "consumed_quantity", "group_by": "service"}
    page = signed_in(cast.viewer).get("/a/acme/cost-explorer/", params)
    assert '<option value="consumed_quantity" selected>' in page.content.decode()
    assert "Consumed quantity</th>" in page.content.decode()
    answer = signed_in(cast.viewer).get("/a/acme/cost-explorer/", {**params, "format": "csv"})
    rows = csv_rows(answer)
    assert {(row["service"], row["unit"], Decimal(row["quantity"])) for row in rows} == {
        ("Mail", "(no unit)", Decimal(7)),
        ("VM", "Hours", Decimal(3)),
        ("VM", "GB", Decimal(2)),
    }


def test_a_providers_own_column_is_a_dimension(acme: Account, cast: Cast, tmp_path: Path) -> None:
    """In a file's tags there is a key of the same name, which stays another."""
    source = CostSource.objects.create(account=acme, name="Own")
    rows = [
        {"x_CostCenter": "Search", "Tags": '{"CostCenter": "web"}', "BilledCost": "3"},
        {"x_CostCenter": "Ads", "BilledCost": "2"},
        {"x_CostCenter": "", "BilledCost": "1"},
    ]
    path = tmp_path / "own.csv"
    path.write_bytes(as_csv(*({"ChargePeriodStart": "2026-05-03T00:00:00Z", **row} for row in rows)))
    import_bill(cast, source, path)

    def by(dimension: str, **more: Any) -> dict[str, Decimal]:
        query = SpendQuery(group_by=[dimension], basis="billed", **EVER, **more)
        return {row.group[dimension]: row.amount for row in query_spend(acme, query).rows}

    assert by("x_CostCenter") == {"Search": Decimal(3), "Ads": Decimal(2), "(none)": Decimal(1)}
    assert by("tag:CostCenter") == {"web": Decimal(3), "(untagged)": Decimal(3)}
    filters = [Filter(dimension="x_costcenter", values=["ads"])]
    assert by("x_CostCenter", filters=filters) == {"Ads": Decimal(2)}
    assert account_context(acme).x_columns == ["x_CostCenter"]
    page = signed_in(cast.viewer).get("/a/acme/cost-explorer/").content.decode()
    assert '<option value="x_CostCenter">x_CostCenter</option>' in page
    unknown = query_spend(acme, SpendQuery(group_by=["x_CostCentre"], **EVER))
    assert "No cost has column 'x_CostCentre'. Nearest: 'x_CostCenter'." in unknown.warnings
    with pytest.raises(UserError, match="no cost has column x_Other"):
        registry.resolve_in_data(DimensionContext(acme), "x_Other", field="dimension")
