"""How each kind of line of a Cost and Usage Report falls into FOCUS, trap by trap."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finops.costs.focus.errors import FocusFileError
from finops.lake.schema import tag_column
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.cur_files import (
    PLAN,
    RESERVATION,
    Line,
    as_csv,
    as_legacy_csv,
    as_parquet,
    line,
    usage,
)


def read(*lines: Line, **defaults: str) -> FocusRead:
    return FocusRead(as_parquet(lines), defaults=defaults)


def only_row(*lines: Line) -> dict[str, Any]:
    return read(*lines).row


def test_usage_has_its_public_price_beside_what_it_cost() -> None:
    row = only_row(
        usage(
            "1.25",
            pricing_public_on_demand_cost=Decimal("1.5"),
            pricing_public_on_demand_rate=Decimal("0.15"),
            line_item_unblended_rate=Decimal("0.125"),
            product_sku="SKU1",
            pricing_rate_id="77",
            line_item_line_item_description="$0.125 per hour",
        )
    )
    assert (row["billed_cost"], row["effective_cost"]) == (Decimal("1.25"), Decimal("1.25"))
    assert (row["list_cost"], row["contracted_cost"]) == (Decimal("1.5"), Decimal("1.25"))
    assert (row["list_unit_price"], row["contracted_unit_price"]) == (Decimal("0.15"), Decimal("0.125"))
    assert (row["consumed_quantity"], row["pricing_quantity"]) == (Decimal("12.5"), Decimal("12.5"))
    assert (row["consumed_unit"], row["pricing_unit"]) == ("Hrs", "Hrs")
    assert (row["charge_category"], row["charge_frequency"]) == ("Usage", "Usage-Based")
    assert (row["pricing_category"], row["commitment_status"]) == ("Standard", None)
    assert (row["sku_id"], row["sku_price_id"], row["usage_type"]) == ("SKU1", "77", "BoxUsage:m5.large")
    assert (row["provider"], row["service"]) == ("AWS", "Amazon Elastic Compute Cloud")
    assert (row["account_id"], row["account_name"]) == ("210000000001", "shop")
    assert (row["billing_account_id"], row["billing_account_name"]) == ("111122223333", "Acme")
    assert row["charge_description"] == "$0.125 per hour"
    assert row["invoice_issuer"] == "Amazon Web Services, Inc."
    assert row["service_category"] is None


def test_spot_usage_is_dynamic() -> None:
    assert (
        only_row(usage("1", line_item_usage_type="EUC1-SpotUsage:m5.large"))["pricing_category"] == "Dynamic"
    )


def test_usage_that_a_savings_plan_covers_is_billed_0_and_its_negation_is_left_out() -> None:
    covered = line(
        "SavingsPlanCoveredUsage",
        "10",
        savings_plan_savings_plan_effective_cost=Decimal("7"),
        savings_plan_savings_plan_a_r_n=PLAN,
        pricing_public_on_demand_cost=Decimal("11"),
    )
    negation = line("SavingsPlanNegation", "-10", savings_plan_savings_plan_a_r_n=PLAN)
    imported = read(covered, negation)
    row = imported.row
    assert (row["billed_cost"], row["effective_cost"]) == (0, 7)
    assert (row["list_cost"], row["contracted_cost"]) == (11, 10)
    assert (row["pricing_category"], row["commitment_status"]) == ("Committed", "Used")
    assert (row["commitment_id"], row["commitment_type"]) == (PLAN, "Savings Plan")
    assert (row["commitment_category"], row["commitment_quantity"]) == ("Spend", 7)
    assert row["commitment_unit"] == "USD"
    assert any(
        "1 SavingsPlanNegation lines of -10 USD were left out" in note
        for note in imported.report.files[0].notes
    )


def test_usage_that_a_reservation_covers_has_the_reservations_amortized_cost() -> None:
    row = only_row(
        line(
            "DiscountedUsage",
            "0",
            reservation_effective_cost=Decimal("0.6"),
            reservation_reservation_a_r_n=RESERVATION,
            pricing_public_on_demand_cost=Decimal("1"),
            line_item_usage_amount=Decimal(1),
            line_item_normalized_usage_amount=Decimal(4),
            pricing_unit="Hrs",
        )
    )
    assert (row["billed_cost"], row["effective_cost"]) == (0, Decimal("0.6"))
    assert (row["list_cost"], row["contracted_cost"]) == (1, None)
    assert (row["commitment_id"], row["commitment_type"]) == (RESERVATION, "Reserved Instance")
    assert (row["commitment_category"], row["commitment_status"]) == ("Usage", "Used")
    assert (row["commitment_quantity"], row["commitment_unit"]) == (4, "Normalized Hours")


def test_a_fee_of_a_reservation_is_a_purchase_and_what_was_not_used_of_it() -> None:
    fee = line(
        "RIFee",
        "72",
        reservation_unused_amortized_upfront_fee_for_billing_period=Decimal("1.5"),
        reservation_unused_recurring_fee=Decimal("3"),
        reservation_unused_quantity=Decimal(31),
        reservation_total_reserved_units=Decimal(744),
        reservation_reservation_a_r_n=RESERVATION,
        line_item_usage_amount=Decimal(744),
        pricing_public_on_demand_cost=Decimal(0),
    )
    purchase, unused = read(fee).rows
    assert (purchase["charge_category"], purchase["charge_frequency"]) == ("Purchase", "Recurring")
    assert (purchase["billed_cost"], purchase["effective_cost"]) == (72, 0)
    assert (purchase["commitment_status"], purchase["commitment_quantity"]) == (None, 744)
    assert purchase["pricing_category"] == "Standard"
    assert (unused["charge_category"], unused["charge_frequency"]) == ("Usage", "Usage-Based")
    assert (unused["billed_cost"], unused["effective_cost"]) == (0, Decimal("4.5"))
    assert (unused["commitment_status"], unused["commitment_quantity"]) == ("Unused", 31)
    assert unused["resource_id"] == RESERVATION
    assert (unused["list_cost"], unused["contracted_cost"]) == (0, 0)
    assert (unused["consumed_quantity"], unused["consumed_unit"]) == (None, None)


def test_a_fee_that_was_used_whole_stays_one_line() -> None:
    fee = line(
        "SavingsPlanRecurringFee",
        "5",
        savings_plan_total_commitment_to_date=Decimal(5),
        savings_plan_used_commitment=Decimal(5),
        savings_plan_savings_plan_a_r_n=PLAN,
    )
    row = only_row(fee)
    assert (row["charge_category"], row["billed_cost"], row["effective_cost"]) == ("Purchase", 5, 0)
    assert (row["commitment_quantity"], row["commitment_unit"]) == (5, "USD")


@pytest.mark.parametrize(
    "fee",
    [
        line("SavingsPlanUpfrontFee", "900", savings_plan_savings_plan_a_r_n=PLAN),
        line("Fee", "900", reservation_reservation_a_r_n=RESERVATION),
    ],
)
def test_an_upfront_fee_of_a_commitment_is_billed_and_not_amortized(fee: Line) -> None:
    row = only_row(fee)
    assert (row["charge_category"], row["charge_frequency"]) == ("Purchase", "One-Time")
    assert (row["billed_cost"], row["effective_cost"]) == (900, 0)


@pytest.mark.parametrize(
    ("line_type", "category", "pricing"),
    [
        ("Fee", "Purchase", "Standard"),
        ("Tax", "Tax", None),
        ("Credit", "Credit", "Other"),
        ("Refund", "Adjustment", "Other"),
        ("EdpDiscount", "Adjustment", "Other"),
        ("BundledDiscount", "Adjustment", "Other"),
        ("PrivateRateDiscount", "Adjustment", "Other"),
        ("SomethingNew", "Adjustment", "Other"),
    ],
)
def test_other_charges_count_in_both_costs(line_type: str, category: str, pricing: str | None) -> None:
    row = only_row(line(line_type, "-3.5"))
    assert (row["charge_category"], row["pricing_category"]) == (category, pricing)
    assert (row["billed_cost"], row["effective_cost"]) == (Decimal("-3.5"), Decimal("-3.5"))
    assert (row["list_cost"] or row["contracted_cost"], row["charge_frequency"]) == (
        Decimal("-3.5"),
        "One-Time",
    )
    assert row["consumed_quantity"] is None


def test_discounts_that_are_columns_leave_net_costs() -> None:
    """Data Exports without “manual discount compatibility” has no lines EdpDiscount: unblended costs are before discounts."""
    discounted = usage(
        "10",
        discount_total_discount=Decimal("-1"),
        line_item_net_unblended_cost=Decimal("9"),
        pricing_public_on_demand_cost=Decimal("10"),
    )
    plain = usage("4", discount_total_discount=Decimal(0), line_item_net_unblended_cost=Decimal(0))
    covered = line(
        "SavingsPlanCoveredUsage",
        "10",
        savings_plan_savings_plan_effective_cost=Decimal("7"),
        savings_plan_net_savings_plan_effective_cost=Decimal("6.3"),
        savings_plan_savings_plan_a_r_n=PLAN,
    )
    fee = line(
        "SavingsPlanRecurringFee",
        "20",
        discount_total_discount=Decimal("-2"),
        line_item_net_unblended_cost=Decimal("18"),
        savings_plan_total_commitment_to_date=Decimal(20),
        savings_plan_used_commitment=Decimal(10),
        savings_plan_recurring_commitment_for_billing_period=Decimal(20),
        savings_plan_net_recurring_commitment_for_billing_period=Decimal(18),
        savings_plan_savings_plan_a_r_n=PLAN,
    )
    imported = read(discounted, plain, covered, fee)
    assert imported.column("billed_cost") == [9, 4, 0, 18, 0]
    assert imported.column("effective_cost") == [9, 4, Decimal("6.3"), 0, 9]
    assert imported.column("contracted_cost")[:2] == [9, 4]
    assert any("net cost" in note for note in imported.report.files[0].notes)


def test_net_columns_count_for_nothing_where_discounts_are_lines() -> None:
    usage_line = usage("10", line_item_net_unblended_cost=Decimal(9))
    assert read(usage_line, line("EdpDiscount", "-1")).column("billed_cost") == [10, -1]


def test_shares_of_a_split_instance_move_its_cost_and_add_none() -> None:
    instance = usage("10", line_item_resource_id="i-node", resource_tags={"user_team": "platform"})
    pods = [
        line(
            "Usage",
            cost,
            line_item_product_code="AmazonEKS",
            line_item_resource_id=pod,
            split_line_item_parent_resource_id="i-node",
            split_line_item_split_cost=Decimal(share),
            split_line_item_unused_cost=Decimal("0.5"),
            resource_tags={"aws_eks_namespace": pod},
        )
        for pod, share, cost in (("pod-a", "3", "0"), ("pod-b", "4", "0"))
    ]
    imported = read(instance, *pods)
    rows = imported.rows
    assert sum(row["effective_cost"] for row in rows) == 10
    assert sum(row["billed_cost"] for row in rows) == 10
    assert {row["resource_id"] for row in rows} == {"i-node"}
    by_pod = {
        row["allocated_resource_id"]: row["effective_cost"] for row in rows if row["allocated_resource_id"]
    }
    assert by_pod == {"pod-a": Decimal("3.5"), "pod-b": Decimal("4.5")}
    assert {row["allocated_method_id"] for row in rows} == {None, "AWS split cost allocation data"}
    by_namespace = {name: Decimal(0) for name in (None, "pod-a", "pod-b")}
    for name, cost in zip(
        imported.column("tag:aws:eks:namespace"), imported.column("effective_cost"), strict=True
    ):
        by_namespace[name] += cost
    assert by_namespace == {None: Decimal(2), "pod-a": Decimal("3.5"), "pod-b": Decimal("4.5")}
    assert all(row["charge_category"] == "Usage" and row["commitment_status"] is None for row in rows)


def test_the_caller_is_the_actor() -> None:
    principal = "arn:aws:sts::210000000001:assumed-role/Analyst/ada@example.com"
    assert only_row(usage("1", line_item_iam_principal=principal))["actor"] == principal


def test_tags_of_accounts_and_principals_stay_separate_from_those_of_resources() -> None:
    lines = [
        usage(
            "1",
            resource_tags={"user_team": "a", "aws_created_by": "Root:1"},
            tags={"accountTag/team": "b", "iamPrincipal/team": "c"},
            cost_category={"Unit": "x"},
        ),
        usage("2"),
    ]
    expected = {"team", "aws:createdBy", "accountTag/team", "iamPrincipal/team", "costCategory/Unit"}
    for data in (as_parquet(lines), as_csv(lines)):
        imported = FocusRead(data)
        assert set(imported.report.tag_keys) == expected
        assert imported.column("tag:team") == ["a", None]
        assert imported.column(tag_column("iamPrincipal/team")) == ["c", None]


def test_the_service_of_a_line_without_a_product_name_is_its_product_code() -> None:
    assert only_row(usage("1", product={}, line_item_product_code="AWSGlue"))["service"] == "AWSGlue"


def test_an_older_report_has_its_region_by_zone_or_location() -> None:
    lines = [
        usage("1", product_region_code=None, line_item_availability_zone="eu-west-3b"),
        usage("1", product_region_code=None, product_location="EU (Ireland)"),
        usage("1", product_region_code=None, product_location="Any"),
    ]
    assert read(*lines).column("region") == ["eu-west-3", "eu-west-1", None]


def test_covered_usage_without_its_amortized_cost_is_refused_by_row_and_column() -> None:
    lines = [usage("1"), line("SavingsPlanCoveredUsage", "10", savings_plan_savings_plan_a_r_n=PLAN)]
    with pytest.raises(FocusFileError) as error:
        FocusRead(as_legacy_csv(lines))
    assert "row 3, column savingsPlan/SavingsPlanEffectiveCost: is empty" in error.value.message
    with pytest.raises(FocusFileError, match="row 2, column savings_plan_savings_plan_effective_cost"):
        read(*lines)


def test_a_row_is_named_by_its_place_in_the_file_also_after_lines_that_were_left_out() -> None:
    lines = [line("SavingsPlanNegation", "-1") for _ in range(3)] + [
        usage("1", line_item_currency_code="dollars")
    ]
    with pytest.raises(FocusFileError) as error:
        read(*lines)
    assert "row 4, column line_item_currency_code (BillingCurrency): 'dollars'" in error.value.message


def test_a_chunk_of_nothing_but_negations_adds_no_rows() -> None:
    covered = line("SavingsPlanCoveredUsage", "1", savings_plan_savings_plan_effective_cost=Decimal(1))
    chunks = as_parquet([line("SavingsPlanNegation", "-1")]), as_parquet([usage("1"), covered])
    assert FocusRead(*chunks).column("billed_cost") == [1, 0]


def test_chunks_of_a_month_and_a_focus_file_import_together() -> None:
    from tests.finops.costs.focus_reader import as_csv as focus_csv

    imported = FocusRead(as_parquet([usage("1")]), as_csv([usage("2")]), focus_csv({"BilledCost": "3"}))
    (total,) = imported.report.months[0].totals
    assert total.billed_cost == 6
    assert [each.native_format for each in imported.report.files] == [
        "AWS Cost and Usage Report (CUR 2.0)",
        "AWS Cost and Usage Report (CUR 2.0)",
        "",
    ]


def test_a_file_with_focus_columns_is_focus_also_with_columns_of_a_report() -> None:
    from tests.finops.costs.focus_reader import as_csv as focus_csv

    data = focus_csv({"line_item_usage_type": "BoxUsage", "line_item_line_item_type": "Usage"})
    assert FocusRead(data).report.files[0].native_format == ""


def test_tags_that_are_no_json_are_counted_and_the_line_is_imported() -> None:
    data = as_csv([usage("1", resource_tags={"user_team": "a"})]).replace(
        b'"{""user_team"": ""a""}"', b'"{broken"'
    )
    imported = FocusRead(data)
    assert imported.count == 1
    assert "tags_unreadable" in imported.kinds


def test_discounts_that_cannot_be_taken_off_are_said() -> None:
    data = as_csv([{**usage("1"), "discount": {"edp": "-0.1"}}])
    assert any("were not taken off" in note for note in FocusRead(data).report.files[0].notes)
