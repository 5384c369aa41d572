"""Questions after splits, reckoned by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.splits import last_complete_month, list_splits, split_effect
from finops.allocation.splits import allocator
from finops.costs.models import CostView
from finops.costs.queries import query_spend
from finops.costs.queries.cost_sums import read_costs
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from tests.cast import Cast
from tests.factories.costs import Line, add_source, cost
from tests.factories.usage import add_usage, event

FIRST, SECOND, THIRD = date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3)
MARCH: dict[str, Any] = {"start_date": FIRST, "end_date": THIRD}


def app_cost(day: date, amount: str | int, app: str | None = None, /, **columns: Any) -> Line:
    return cost(day, amount, tags={} if app is None else {"app": app}, **columns)


LINES = [
    app_cost(FIRST, 90, "cluster", service="EKS"),
    app_cost(FIRST, 10, "web", service="EC2"),
    app_cost(FIRST, 20, "api", service="EC2"),
    app_cost(SECOND, 30, "cluster", service="EKS"),
    app_cost(SECOND, 5, "web", service="S3"),
    app_cost(THIRD, 7, "cluster", service="EKS"),
    app_cost(THIRD, 4, "cluster", service="EKS", currency="EUR"),
    app_cost(THIRD, 2, service="S3"),
]


@pytest.fixture
def payer(acme: Account) -> Account:
    add_source(acme, LINES)
    return acme


def split(
    account: Account, method: str = "even", targets: Sequence[str] = ("web", "api"), **more: Any
) -> None:
    SharedCostSplit.objects.create(
        **{
            "account": account,
            "name": "Cluster",
            "dimension": "tag:app",
            "source_value": "cluster",
            "method": method,
            "targets": [{"value": value, "percent": None} for value in targets],
            **more,
        }
    )


def ask_spend(account: Account, **question: Any) -> Any:
    """The answer; untyped, because Decimals are compared with plain numbers here."""
    return query_spend(
        account, SpendQuery(**{**MARCH, "group_by": ["tag:app"], "splits": "after", **question})
    )


def amounts(answer: Any, currency: str = "USD") -> dict[str, Any]:
    return {"/".join(row.group.values()): row.amount for row in answer.rows if row.currency == currency}


def test_cost_moves_to_the_targets_and_the_total_stays(payer: Account) -> None:
    split(payer)

    answer = ask_spend(payer)

    assert amounts(answer) == {"web": Decimal("78.5"), "api": Decimal("83.5"), "(untagged)": Decimal(2)}
    assert amounts(answer, "EUR") == {"web": 2, "api": 2}
    assert [total.amount for total in answer.totals] == [164, 4]
    (applied,) = answer.applied_splits
    assert [(part.amount, part.currency) for part in applied.moved] == [(4, "EUR"), (127, "USD")]
    assert (applied.name, applied.source_value, applied.stayed) == ("Cluster", "cluster", [])


def test_before_splits_is_as_if_there_were_none(payer: Account) -> None:
    split(payer)

    answer = ask_spend(payer, splits="before")

    assert amounts(answer)["cluster"] == 127
    assert answer.applied_splits == []


def test_proportional_goes_by_each_days_cost_and_what_has_no_weight_stays(payer: Account) -> None:
    split(payer, "proportional")

    answer = ask_spend(payer, granularity="day")

    assert amounts(answer) == {"web": 75, "api": 80, "cluster": 7, "(untagged)": 2}
    assert answer.rows[0].currency == "USD"
    by_app = {row.group["tag:app"]: row.series for row in answer.rows if row.currency == "USD"}
    assert list(by_app["web"].values()) == [40, 35, 0]
    assert list(by_app["cluster"].values()) == [0, 0, 7]
    (applied,) = answer.applied_splits
    assert [(part.amount, part.currency) for part in applied.stayed] == [(4, "EUR"), (7, "USD")]
    assert applied.reason == "No target has cost in that currency on 2026-03-03."
    assert any("did not split 4.00 EUR and 7.00 USD on 'cluster'" in warning for warning in answer.warnings)


# pragma: allowlist nextline secret
def test_proportional_weighs_whole_targets_whatever_the_question_filters(payer: Account) -> None:
    split(payer, "proportional")

    answer = ask_spend(payer, filters=[Filter(dimension="service", values=["EKS"])])

    assert amounts(answer) == {"web": 60, "api": 60, "cluster": 7}


def test_fixed_percentages_share_out_to_the_last_digit(payer: Account) -> None:
    targets = [{"value": "web", "percent": "33.3"}, {"value": "api", "percent": "66.7"}]
    split(payer, "fixed", targets=())
    SharedCostSplit.objects.update(targets=targets)

    assert amounts(ask_spend(payer)) == {
        "web": Decimal("57.291"),
        "api": Decimal("104.709"),
        "(untagged)": Decimal(2),
    }


def test_usage_shares_out_among_every_customer_of_the_day(payer: Account) -> None:
    events = [
        event(FIRST, "web", 1),
        event(FIRST, "new", 2),
        event(SECOND, "cluster", 5),
        event(SECOND, "web", -1),
    ]
    add_usage(payer, events)
    split(payer, "usage", (), every_customer=True, usage_metric="requests")

    answer = ask_spend(payer)

    assert amounts(answer) == {"web": 45, "new": 60, "api": 20, "cluster": 37, "(untagged)": 2}
    assert "usage of 'requests' on 2026-03-02 and 2026-03-03" in answer.applied_splits[0].reason


def test_usage_of_named_customers_counts_theirs_alone(payer: Account) -> None:
    events = [event(FIRST, "web", 1), event(FIRST, "api", 2), event(FIRST, "other", 97)]
    add_usage(payer, events)
    split(payer, "usage", ("api", "web"), usage_metric="requests", valid_to=FIRST)

    assert amounts(ask_spend(payer)) == {"api": 80, "web": 45, "cluster": 37, "(untagged)": 2}


def test_a_metric_that_is_gone_moves_nothing(payer: Account) -> None:
    split(payer, "usage", (), every_customer=True, usage_metric="requests")

    answer = ask_spend(payer)

    assert amounts(answer)["cluster"] == 127
    assert answer.applied_splits[0].moved == []


def test_a_split_moves_within_its_days_alone(payer: Account) -> None:
    split(payer, valid_from=SECOND, valid_to=SECOND)

    assert amounts(ask_spend(payer))["cluster"] == 97


def test_a_filter_on_a_target_finds_what_moved_there(payer: Account) -> None:
    split(payer)

    answer = ask_spend(payer, group_by=["service"], filters=[Filter(dimension="tag:app", values=["WEB"])])

    assert amounts(answer) == {"EKS": Decimal("63.5"), "EC2": 10, "S3": 5}
    assert answer.totals[0].amount == Decimal("78.5")


def test_a_filter_on_a_target_without_cost_of_its_own_finds_it_too(payer: Account) -> None:
    split(payer, targets=("web", "batch"))

    answer = ask_spend(payer, group_by=[], filters=[Filter(dimension="tag:app", values=["batch"])])

    assert [total.amount for total in answer.totals] == [Decimal("63.5"), 2]
    assert not [warning for warning in answer.warnings if "No cost on these days has" in warning]


@pytest.mark.parametrize(
    ("op", "values", "amount"),
    [
        ("not_in", ["web"], "85.5"),
        ("contains", ["w"], "78.5"),
        ("not_contains", ["w"], "85.5"),
        ("starts_with", ["ap"], "83.5"),
        ("in", ["cluster"], "0"),
        ("in", ["(untagged)"], "2"),
        ("absent", [], "2"),
    ],
)
def test_every_filter_is_of_values_after_the_splits(
    payer: Account, op: Any, values: list[str], amount: str
) -> None:
    split(payer)

    answer = ask_spend(payer, group_by=[], filters=[Filter(dimension="tag:app", op=op, values=values)])

    assert [total.amount for total in answer.totals if total.currency == "USD"] == [Decimal(amount)]


def test_untagged_cost_can_be_shared_out(payer: Account) -> None:
    split(payer, source_value="(untagged)")

    assert amounts(ask_spend(payer)) == {"cluster": 127, "web": 16, "api": 21}


def test_two_dimensions_are_split_one_after_the_other(payer: Account) -> None:
    split(payer)
    split(payer, name="EKS", dimension="service", source_value="EKS", targets=("EC2", "S3"))

    answer = ask_spend(payer, group_by=["tag:app", "service"])

    assert amounts(answer) == {
        "web/EC2": Decimal("41.75"),
        "web/S3": Decimal("36.75"),
        "api/EC2": Decimal("51.75"),
        "api/S3": Decimal("31.75"),
        "(untagged)/S3": Decimal(2),
    }


def test_both_sides_of_a_comparison_are_after_the_splits(payer: Account) -> None:
    split(payer, "proportional")

    answer = ask_spend(payer, start_date=SECOND, end_date=SECOND, compare_to="previous_period")

    (web,) = (row for row in answer.rows if row.group["tag:app"] == "web")
    assert (web.amount, web.change.previous_amount, web.change.change) == (35, 40, -5)


def test_the_ranking_is_of_what_is_left(payer: Account) -> None:
    split(payer)

    answer = ask_spend(payer, limit=1)

    usd = [row for row in answer.rows if row.currency == "USD"]
    assert [(row.group["tag:app"], row.amount, row.other_groups) for row in usd] == [
        ("api", Decimal("83.5"), 0),
        ("other", Decimal("80.5"), 2),
    ]
    assert round(usd[0].share or 0, 9) == Decimal("0.509146341")


def test_credits_move_as_credits_and_what_the_view_leaves_out_stays_left_out(acme: Account) -> None:
    add_source(
        acme,
        [
            app_cost(FIRST, 100, "cluster"),
            app_cost(FIRST, -40, "cluster", charge_category="Credit"),
            app_cost(FIRST, 1, "web"),
            app_cost(FIRST, -3, "api", charge_category="Credit"),
        ],
    )
    split(acme)

    answer = ask_spend(acme, charge_categories=["Usage"])

    assert amounts(answer) == {"web": 51, "api": 50}
    (total,) = answer.totals
    assert (total.amount, total.left_out_amount, total.whole_amount) == (101, -43, 58)


def test_product_has_the_splits_of_the_tag_that_it_stands_for(payer: Account) -> None:
    CostView.objects.create(account=payer, product_key="tag:app")
    split(payer)

    assert amounts(ask_spend(payer, group_by=["product"]))["web"] == Decimal("78.5")


@pytest.mark.parametrize("granularity", ["none", "week", "month"])
def test_coarser_figures_are_the_sums_of_the_days(payer: Account, granularity: Any) -> None:
    split(payer, valid_from=SECOND, valid_to=SECOND)
    split(payer, "even", ("batch",), name="After", valid_from=THIRD)

    assert amounts(ask_spend(payer, granularity=granularity)) == {
        "cluster": 90,
        "web": 30,
        "api": 35,
        "batch": 7,
        "(untagged)": 2,
    }
    compared = ask_spend(
        payer,
        granularity=granularity,
        start_date=SECOND,
        end_date=SECOND,
        compare_to="previous_period",
    )
    sides = {row.group["tag:app"]: (row.amount, row.change.previous_amount) for row in compared.rows}
    assert sides == {"cluster": (0, 90), "api": (15, 20), "web": (20, 10)}


def test_names_of_ids_come_with_what_moved(acme: Account) -> None:
    add_source(
        acme,
        [
            cost(FIRST, 10, account_id="1", account_name="Shared"),
            cost(SECOND, 1, account_id="2", account_name="Production"),
        ],
    )
    split(acme, dimension="account", source_value="1", targets=("2", "3"))

    answer = ask_spend(
        acme, group_by=["account"], filters=[Filter(dimension="account", values=["production"])]
    )

    assert [(row.group["account"], row.labels["account"], row.amount) for row in answer.rows] == [
        ("2", "Production", 6)
    ]


def test_a_question_on_other_dimensions_says_that_no_split_applies(payer: Account) -> None:
    assert any(
        "No shared-cost splits, so cost after splits equals cost before." in warning
        for warning in ask_spend(payer).warnings
    )
    split(payer)

    answer = ask_spend(payer, group_by=["service"])

    assert amounts(answer)["EKS"] == 127
    assert any("splits are on tag:app" in warning for warning in answer.warnings)


def test_allocated_and_direct_cost_add_up(payer: Account) -> None:
    split(payer)

    costs: Any = read_costs(payer, SpendQuery(**MARCH, group_by=["tag:app"], splits="after")).by_value()

    amounts_by_value = {each.value: (each.amount, each.allocated) for each in costs if each.currency == "USD"}
    assert amounts_by_value == {
        "web": (Decimal("78.5"), Decimal("63.5")),
        "api": (Decimal("83.5"), Decimal("63.5")),
        "(untagged)": (2, 0),
    }


def test_another_accounts_splits_move_nothing_here(payer: Account, cast: Cast) -> None:
    with account_scope(cast.other_account):
        split(cast.other_account)

    assert amounts(ask_spend(payer))["cluster"] == 127


@pytest.mark.parametrize(("method", "more"), [("even", 1), ("proportional", 1)])
def test_before_splits_costs_what_it_did(payer: Account, method: str, more: int) -> None:
    split(payer, method)

    def queries(splits: str) -> int:
        ask_spend(payer, splits=splits)
        with CaptureQueriesContext(connection) as captured:
            ask_spend(payer, splits=splits)
        return len(captured)

    before = queries("before")
    SharedCostSplit.objects.all().delete()
    assert queries("before") == before
    split(payer, method)
    assert queries("after") == before + more


def test_the_effect_of_one_split_is_listed_by_value(payer: Account) -> None:
    split(payer)

    effect: Any = split_effect(payer, SharedCostSplit.objects.get(), DateRange(FIRST, SECOND))

    (total,) = effect.totals
    assert [(row.value, row.before, row.moved, row.after) for row in total.rows] == [
        ("cluster", 120, -120, 0),
        ("api", 20, 60, 80),
        ("web", 15, 60, 75),
    ]
    assert (total.others, total.other_values, total.whole) == (0, 0, 155)


def test_the_list_says_what_each_moved_in_the_last_complete_month(acme: Account) -> None:
    february = [app_cost(date(2026, 2, number), 1, "cluster") for number in range(1, 29)]
    add_source(acme, [*february, *LINES])
    split(acme)
    split(acme, name="Dead", dimension="cost_tag:gone", source_value="x", targets=("y",))

    answer: Any = list_splits(acme)

    assert last_complete_month(load_sources(acme)) == DateRange(date(2026, 2, 1), date(2026, 2, 28))
    assert [(each.name, [part.amount for part in each.moved]) for each in answer.splits] == [
        ("Cluster", [28]),
        ("Dead", []),
    ]
    assert [(each.value, each.received[0].amount) for each in answer.splits[0].targets] == [
        ("web", 14),
        ("api", 14),
    ]
    assert any("Splits on cost_tag:gone have no effect" in warning for warning in answer.warnings)
    assert [each.name for each in list_splits(acme, search="WEB").splits] == ["Cluster"]


def test_a_question_of_too_many_parts_says_how_to_ask_for_less(
    payer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocator, "MAX_PARTS", 3)
    split(payer)

    with pytest.raises(UserError, match=r"by day\. Use fewer days, one group_by, a filter, or splits before"):
        ask_spend(payer)
