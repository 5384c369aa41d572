"""Findings of each rule in bills made by hand, and near misses without a finding."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import Recommendation, SavingsAnswer, SavingsQuery
from tests.factories.costs import Line, add_source
from tests.finops.insights.savings.bills import (
    FIRST,
    LAST,
    commitment_lines,
    daily,
    dev,
    old,
    storage_lines,
    volume,
)

WEEKEND = (5, 6)


def savings_of(acme: Account, lines: Sequence[Line], **query: Any) -> SavingsAnswer:
    add_source(acme, lines)
    return list_savings(acme, SavingsQuery(**query))


def of_rule(answer: SavingsAnswer, rule: str) -> list[Recommendation]:
    return [row for row in answer.recommendations if row.rule == rule]


def find_rule(acme: Account, lines: Sequence[Line], rule: str) -> list[Recommendation]:
    return of_rule(savings_of(acme, lines), rule)


def test_without_bills_there_is_nothing_and_no_window(acme: Account) -> None:
    answer = list_savings(acme, SavingsQuery())

    assert (answer.recommendations, answer.totals, answer.period) == ([], [], None)
    assert "no open recommendation" in answer.summary


def test_a_previous_generation_saves_what_the_next_one_costs_less(acme: Account) -> None:
    (row,) = find_rule(acme, old("10"), "previous_generation")

    assert [row.monthly_cost, row.monthly_saving, row.currency] == [300, 12, "USD"]
    assert row.title == "Move 'm4' to 'm6i': 'Amazon Elastic Compute Cloud' in 'prod'"
    assert "0.960 is m6i ÷ m4 by AWS list prices" in row.formula
    (evidence,) = row.evidence
    assert (evidence.resource, evidence.usage_type) == ("i-old", "BoxUsage:m4.xlarge")
    assert [evidence.cost, evidence.saving, evidence.currency] == [300, 12, "USD"]


@pytest.mark.parametrize(
    "columns",
    [
        {"usage_type": "BoxUsage:m6i.xlarge"},
        {"usage_type": "SpotUsage:m4.xlarge"},
        {"pricing_category": "Dynamic"},
        {"commitment_id": "sp-1", "commitment_status": "Used", "pricing_category": "Committed"},
        {"provider": "Somebody"},
        {"charge_category": "Credit"},
    ],
    ids=["of today", "spot", "dynamic price", "covered", "another provider", "credit"],
)
def test_only_on_demand_usage_of_an_old_generation_is_a_saving(
    acme: Account, columns: dict[str, Any]
) -> None:
    assert find_rule(acme, old("10", **columns), "previous_generation") == []


def test_gp2_volumes_move_to_gp3_for_a_fifth_less(acme: Account) -> None:
    (row,) = find_rule(acme, volume("10"), "volume_type")

    assert [row.monthly_saving, row.effort, row.risk] == [60, "low", "low"]


def test_gp2_of_rds_costs_what_gp3_does(acme: Account) -> None:
    assert find_rule(acme, volume("10", usage_type="RDS:GP2-Storage"), "volume_type") == []


def test_a_saving_that_bills_cannot_prove_has_no_amount_and_says_why(acme: Account) -> None:
    lines = daily(
        "10",
        provider="Google Cloud",
        service="Compute Engine",
        usage_type="N1 Predefined Instance Core running in Iowa",
    )
    answer = savings_of(acme, lines)

    (row,) = of_rule(answer, "previous_generation")
    assert [row.monthly_saving, row.monthly_cost] == [None, 300]
    assert "sustained-use" in row.saving_reason
    assert answer.totals[0].unknown == 1


def test_a_dev_machine_that_is_on_at_weekends_saves_two_sevenths(acme: Account) -> None:
    (row,) = find_rule(acme, dev("7"), "weekends_off")

    assert row.monthly_cost == 210
    assert row.monthly_saving is not None
    assert round(row.monthly_saving, 12) == 60
    assert "100.0 % of a weekday" in row.evidence[0].note


@pytest.mark.parametrize(
    "lines",
    [
        dev(lambda day: 6 if day.weekday() in WEEKEND else 7),
        [line for line in dev("7") if line["charge_date"].weekday() != 6],
        dev("7", **{"tag:env": "prod"}),
        dev("7", consumed_unit="GB-Mo", service_category="Storage"),
        dev("7", usage_type="AmazonEKS-Hours:perCluster"),
        dev("7", commitment_id="sp-1", commitment_status="Used", pricing_category="Committed"),
        [line for line in dev("7") if line["charge_date"] > date(2026, 2, 9)],
    ],
    ids=["86 % at weekends", "off on Sundays", "prod", "a disk", "a control plane", "covered", "new"],
)
def test_machines_off_at_weekends_or_outside_of_development_are_no_saving(
    acme: Account, lines: list[Line]
) -> None:
    assert find_rule(acme, lines, "weekends_off") == []


def test_the_tag_may_be_written_otherwise(acme: Account) -> None:
    lines = dev("7", **{"tag:env": None, "tag:^environment": "STAGING"})

    assert len(find_rule(acme, lines, "weekends_off")) == 1


def test_one_line_counts_for_one_rule_and_the_other_is_named(acme: Account) -> None:
    answer = savings_of(acme, old("7", **{"tag:env": "test"}))

    (row,) = answer.recommendations
    assert (row.rule, row.instead_of) == ("weekends_off", ["previous_generation"])
    assert round(answer.totals[0].monthly_saving, 12) == 60


def test_a_rule_that_loses_some_resources_says_how_many(acme: Account) -> None:
    answer = savings_of(acme, [*old("7", **{"tag:env": "test"}), *old("10", resource_id="i-other")])

    (row,) = of_rule(answer, "previous_generation")
    assert [row.monthly_saving, row.evidence_count] == [12, 1]
    assert row.lowered == "1 resource is counted by Dev and test running on weekends instead."


def test_unused_commitment_is_waste_and_no_saving(acme: Account) -> None:
    answer = savings_of(acme, [*commitment_lines("9", "Used"), *commitment_lines("1", "Unused"), *old("10")])

    (row,) = of_rule(answer, "unused_commitment")
    assert [row.monthly_saving, row.monthly_waste, row.title] == [
        None,
        30,
        "Use the unused commitment: 'Compute SP'",
    ]
    assert row.saving_reason.startswith(
        "Waste, not a saving: it is paid for, used or not, so it "
        "is not in potential savings. Use it in place of "
        "on-demand usage, exchange or sell it, or do not renew "
        "it."
    )
    assert row.evidence[0].note == "90.0 % used; unused commitment on 30 days"
    (total,) = answer.totals
    saved = [each.monthly_saving for each in answer.recommendations if each.monthly_saving is not None]
    assert [total.monthly_saving, total.recommendations, total.unknown] == [sum(saved), len(saved), 0]
    assert [total.monthly_waste, total.unused_commitments] == [30, 1]
    assert "30.00 USD a month of unused commitment" in answer.summary
    assert "Largest: Use the unused commitment" not in answer.summary


def test_with_nothing_but_waste_nothing_could_be_saved(acme: Account) -> None:
    answer = savings_of(acme, commitment_lines("1", "Unused", service_category="Other"))

    assert [answer.totals[0].monthly_saving, answer.totals[0].monthly_waste] == [0, 30]
    assert answer.summary.startswith("'Acme' has no open recommendation with potential savings.")


@pytest.mark.parametrize("providers", [("Azure", "AWS", "Azure"), ("AWS", "Azure", "Oracle")])
def test_an_unused_commitment_of_several_providers_names_the_same_one_every_time(
    acme: Account, providers: tuple[str, ...]
) -> None:
    """The first by name of its unused lines, whatever order the engine returns them in."""
    used, *unused = providers
    lines = [
        *commitment_lines("9", "Used", provider=used),
        *(line for name in unused for line in commitment_lines("1", "Unused", provider=name)),
    ]

    (row,) = of_rule(savings_of(acme, lines), "unused_commitment")

    assert row.provider == min(unused)


def test_a_commitment_whose_lines_add_up_to_less_than_nothing_is_no_waste(acme: Account) -> None:
    """Corrections of an earlier month: nothing of it is unused, though 0 is more than 2 % of the sum."""
    rows = savings_of(acme, commitment_lines("-2", "Used"))

    assert of_rule(rows, "unused_commitment") == []


def test_a_recommendation_is_labelled_by_all_its_lines(acme: Account) -> None:
    """Not by the line that comes first, nor by the lines that use what is not wasted."""
    lines = [
        *commitment_lines("9", "Used", service="AWS Lambda", account_id="999", account_name="zebra"),
        *commitment_lines("1", "Unused"),
        *commitment_lines("1", "Unused", commitment_id="sp-2"),
        *commitment_lines(
            "1", "Unused", commitment_id="sp-2", service="AWS Fargate", account_id="222", account_name="b"
        ),
        *daily("10"),
        *daily(
            "10", service="AWS Fargate", usage_type="Fargate-vCPU-Hours", account_id="222", account_name="b"
        ),
    ]
    answer = savings_of(acme, lines)

    first, second = sorted(of_rule(answer, "unused_commitment"), key=lambda row: row.monthly_cost)
    assert (first.service, first.account, first.services) == ("Amazon Elastic Compute Cloud", "prod", [])
    assert (second.service, second.account) == ("2 services", "2 accounts")
    assert second.services == ["AWS Fargate", "Amazon Elastic Compute Cloud"]
    (steady,) = of_rule(answer, "steady_on_demand")
    assert (steady.service, steady.account) == ("2 services", "several accounts")


def test_a_renamed_account_is_one_account_under_its_newest_name(acme: Account) -> None:
    new = {"account_name": "shop"}
    lines = [
        *commitment_lines("9", "Used"),
        *commitment_lines("1", "Unused", FIRST, LAST - timedelta(days=10)),
        *commitment_lines("1", "Unused", LAST - timedelta(days=9), LAST, **new),
        *daily("10", FIRST, LAST - timedelta(days=10)),
        *daily("10", LAST - timedelta(days=9), LAST, **new),
        *storage_lines([1000, 1020, 1040, 1100]),
        *storage_lines([1000, 1020, 1040, 1100], resource_id="bucket-2", **new),
    ]
    answer = savings_of(acme, lines)

    rules = ("unused_commitment", "steady_on_demand", "growing_storage")
    assert {rule: [row.account for row in of_rule(answer, rule)] for rule in rules} == {
        rule: ["shop"] for rule in rules
    }


def test_a_commitment_that_is_98_percent_used_is_well_used(acme: Account) -> None:
    lines = [*commitment_lines("98", "Used"), *commitment_lines("2", "Unused")]

    assert find_rule(acme, lines, "unused_commitment") == []


def test_an_export_without_unused_lines_is_said(acme: Account) -> None:
    assert (
        "has no lines of unused commitment: all of it is used, or the export omits them."
        in savings_of(acme, commitment_lines("9", "Used")).warnings[-1]
    )


def test_steady_on_demand_is_saved_at_a_stated_assumption(acme: Account) -> None:
    (row,) = find_rule(acme, daily("10"), "steady_on_demand")

    assert row.monthly_saving == 48  # 10 * 80 % * 30 days * 20 %
    assert "ASSUMPTION" in row.formula
    assert row.monthly_cost == 300


def test_an_own_commitment_gives_the_realised_rate(acme: Account) -> None:
    (row,) = find_rule(acme, [*daily("10"), *commitment_lines("5", "Used")], "steady_on_demand")

    assert row.monthly_saving == 120  # half price: 10 * 80 % * 30 days * 50 %
    assert "Rate: measured from used compute commitments against on-demand prices" in row.formula


def test_the_smallest_day_is_the_floor_and_unused_commitment_comes_off(acme: Account) -> None:
    lines = daily(lambda day: 5 if day == LAST else 10)
    unused = commitment_lines("1", "Unused")

    (row,) = find_rule(acme, [*lines, *unused], "steady_on_demand")

    assert row.monthly_saving == Decimal("19.2")  # (5 - 1) * 80 % * 30 days * 20 %


@pytest.mark.parametrize(
    "lines",
    [
        [line for line in daily("10") if line["charge_date"] != FIRST],
        daily("10", pricing_category="Dynamic"),
        daily("10", usage_type="DataTransfer-Out-Bytes"),
        daily("10", provider="Somebody"),
    ],
    ids=["a day without", "spot", "traffic", "another provider"],
)
def test_usage_that_no_commitment_covers_is_left_out(acme: Account, lines: list[Line]) -> None:
    assert find_rule(acme, [*lines, *volume("0.1")], "steady_on_demand") == []


def test_usage_counted_by_other_rules_is_no_part_of_the_floor(acme: Account) -> None:
    answer = savings_of(acme, [*old("10"), *daily("10")])

    (row,) = of_rule(answer, "steady_on_demand")
    assert [row.monthly_cost, row.monthly_saving] == [300, 48]


def test_storage_that_only_grows_is_to_be_reviewed(acme: Account) -> None:
    (row,) = find_rule(acme, storage_lines([1000, 1020, 1040, 1100]), "growing_storage")

    assert (row.monthly_saving, row.monthly_cost) == (None, Decimal("308.00"))
    assert "Savings unknown: bills do not show what is still needed." in row.saving_reason
    assert "2025-11" in row.formula


@pytest.mark.parametrize(
    "sizes",
    [[1000, 1100, 1090, 1200], [1000, 1010, 1020, 1030], [0, 1000, 1100, 1200], [10, 11, 12, 13]],
    ids=["once less", "3 % in all", "three months old", "too small"],
)
def test_storage_that_shrank_or_hardly_grew_is_left_alone(acme: Account, sizes: list[int]) -> None:
    assert find_rule(acme, storage_lines(sizes), "growing_storage") == []


@pytest.mark.parametrize("usage_type", ["EBS:VolumeUsage.gp3", "RDS:GP3-Storage"])
def test_a_disk_whose_size_is_bought_is_no_growing_storage(acme: Account, usage_type: str) -> None:
    lines = storage_lines([1000, 1100, 1200, 1300], usage_type=usage_type)

    assert find_rule(acme, lines, "growing_storage") == []


def test_less_than_one_unit_a_month_is_not_listed(acme: Account) -> None:
    assert find_rule(acme, volume("0.16"), "volume_type") == []


def test_currencies_are_never_added_and_ids_are_stable(acme: Account) -> None:
    answer = savings_of(acme, [*volume("10"), *volume("20", currency="EUR")])

    assert {total.currency: total.monthly_saving for total in answer.totals} == {"USD": 60, "EUR": 120}
    again = list_savings(acme, SavingsQuery())
    assert [row.id for row in again.recommendations] == [row.id for row in answer.recommendations]
    assert len({row.id for row in answer.recommendations}) == 2
    (euros,) = list_savings(acme, SavingsQuery(currency="eur")).recommendations
    assert euros.currency == "EUR"


def test_the_list_is_filtered_and_continues_by_cursor(acme: Account) -> None:
    add_source(acme, [*old("10"), *volume("10"), *daily("10")])

    first = list_savings(acme, SavingsQuery(limit=2))
    second = list_savings(acme, SavingsQuery(limit=2, cursor=first.cursor))

    assert [row.rule for row in first.recommendations] == ["volume_type", "steady_on_demand"]
    assert [row.rule for row in second.recommendations] == ["previous_generation"]
    assert first.totals == second.totals
    (row,) = list_savings(acme, SavingsQuery(rule="volume_type")).recommendations
    assert row.rule == "volume_type"
    assert len(list_savings(acme, SavingsQuery(minimum_saving=Decimal(50))).recommendations) == 1


def test_a_question_about_one_rule_is_answered_with_what_that_rule_saves(acme: Account) -> None:
    add_source(acme, [*old("10"), *volume("10"), *daily("10")])

    everything, of_one_rule = (
        list_savings(acme, SavingsQuery()),
        list_savings(acme, SavingsQuery(rule="volume_type")),
    )

    (row,) = of_one_rule.recommendations
    (total,) = of_one_rule.totals
    assert (total.monthly_saving, total.recommendations) == (row.monthly_saving, 1)
    assert everything.totals[0].recommendations == 3
    assert "from 1 open recommendation of rule volume_type" in of_one_rule.summary


def test_a_question_about_what_was_acted_on_says_so_before_what_is_open(acme: Account) -> None:
    add_source(acme, old("10"))

    answer = list_savings(acme, SavingsQuery(status="acted"))

    assert answer.summary.startswith("0 recommendations acted on: none old enough to measure.")
    assert "has potential savings of 12.00 USD a month from 1 open recommendation" in answer.summary
