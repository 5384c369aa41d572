"""verifyAnswer: receipts of answers, rerun on the bills of then and of today."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.scoping import account_scope
from finops.allocation.services.cost_tags import create_cost_tag, delete_cost_tag
from finops.costs.services.cost_view import change_cost_view
from finops.exchange_rates.services import enter_rate
from finops.lake.models import LakeSegment
from finops.lake.storage import garbage_collection
from finops.lib import clock
from finops.receipts.services import set_receipt_retention
from tests.cast import Cast
from tests.examples import examples
from tests.factories.bills import Bills, Line, line
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.days import at
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.receipts.receipt_client import ASKED, SEPTEMBER, VERIFIED, ask, september, verify


def test_an_answer_of_unchanged_bills_has_the_same_figures(
    mcp_client: McpClient, first_answer: dict[str, Any]
) -> None:
    with at(VERIFIED):
        verified = verify(mcp_client, first_answer)

    assert verified["outcome"] == "same"
    assert verified["summary"] == "Same figures as on 2026-10-03, on that day's bills and on current bills."
    assert (verified["tool"], verified["receipt"]) == ("querySpend", first_answer["receipt"])
    assert verified["arguments"]["group_by"] == ["service"]
    assert verified["then"] == first_answer["summary"]


def test_a_restated_bill_is_named_and_the_answer_of_then_is_the_same_to_the_cent(
    mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    bills.bring("AWS", september("112.40"), on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(mcp_client, first_answer)

    assert verified["outcome"] == "restated"
    assert verified["summary"] == (
        "Same figures as on 2026-10-03 on that day's bills; current bills give others: 'AWS' restated 2026-09 by +12.30 USD "
        "(120.10 USD then, 132.40 USD now)."
    )
    (month,) = verified["restated"]
    assert (month["billed_then"], month["billed_now"], month["billed_change"]) == (120.1, 132.4, 12.3)
    (changed,) = verified["lines"]
    assert (changed["service"], changed["billed_before"], changed["billed_after"]) == (
        "Compute",
        100.1,
        112.4,
    )
    assert {"figure": "totals amount", "currency": "USD", "then": 120.1, "now": 132.4} in verified["figures"]
    assert "132.40 USD" in verified["now"]


def test_a_question_about_the_last_days_is_about_those_of_then(mcp_client: McpClient, bills: Bills) -> None:
    with at(ASKED):
        answer = ask(mcp_client, period="last_30_days", compare_to="previous_period")
    bills.bring("AWS", [line(date(2026, 10, 8), 7)], on=date(2026, 10, 10))

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "same"


def test_another_month_that_was_restated_changes_nothing(
    mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    bills.bring("AWS", [line(date(2026, 8, 8), 7)], on=date(2026, 10, 10))

    with at(VERIFIED):
        verified = verify(mcp_client, first_answer)

    assert (verified["outcome"], verified["restated"]) == ("same", [])


def test_a_month_restated_outside_of_the_filter_is_named_next_to_the_same_figures(
    mcp_client: McpClient, bills: Bills
) -> None:
    with at(ASKED):
        answer = ask(mcp_client, **SEPTEMBER, filters=[{"dimension": "service", "values": ["Storage"]}])
    bills.bring("AWS", september("112.40"), on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "same"
    assert (
        "Restated since, without a change of these figures: 'AWS' restated 2026-09 by +12.30 USD"
        in (verified["summary"])
    )


OF_OTHER_TOOLS: list[tuple[str, dict[str, Any]]] = [
    (
        "explainSpendChange",
        {
            "start_date": "2026-09-01",
            "end_date": "2026-09-06",
            "previous_start_date": "2026-08-01",
            "previous_end_date": "2026-08-06",
            "group_by": ["service"],
        },
    ),
    ("queryCostTag", {"cost_tag": "kind", "start_date": "2026-09-01", "end_date": "2026-09-30"}),
    ("forecastSpend", {"period": "year"}),
]


@pytest.mark.parametrize(("tool", "arguments"), OF_OTHER_TOOLS, ids=[name for name, _ in OF_OTHER_TOOLS])
def test_answers_of_other_tools_are_the_same_to_the_cent_too(
    cast: Cast, mcp_client: McpClient, bills: Bills, tool: str, arguments: dict[str, Any]
) -> None:
    def lines(month: int, first: str) -> list[Line]:
        return [line(date(2026, month, 1), first), *(line(date(2026, month, day), 5) for day in range(2, 31))]

    bills.bring("AWS", [*lines(8, "5"), *lines(9, "5")], on=ASKED)
    with at(ASKED), account_scope(cast.account):
        create_cost_tag(account=cast.account, actor=cast.actor, key="kind", default_value="all")
        answer = ask(mcp_client, tool, **arguments)
    bills.bring("AWS", lines(9, "17.30"), on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "restated"
    assert "'AWS' restated 2026-09 by +12.30 USD" in verified["summary"]


@pytest.fixture
def _no_result_cache(settings: Any) -> None:
    """As in a process that never computed the answer."""
    settings.LAKE_ANSWERS_BYTES = 0


def sweep_on(day: date) -> None:
    with at(day):
        garbage_collection.sweep()


@pytest.mark.usefixtures("_no_result_cache")
def test_without_the_bills_of_then_it_says_which_were_removed(
    mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    bills.bring("AWS", september("112.40"), on=date(2026, 10, 7))
    sweep_on(date(2026, 10, 22))

    with at(date(2026, 10, 22)):
        verified = verify(mcp_client, first_answer)

    assert verified["outcome"] == "unproven"
    assert verified["summary"] == (
        "No longer proven on the bills of 2026-10-03: those of 2026-09 of 'AWS' were removed. Current bills give other figures."
    )
    assert {"figure": "totals amount", "currency": "USD", "then": 120.1, "now": 132.4} in verified["figures"]


@pytest.mark.usefixtures("_no_result_cache")
def test_bills_that_a_receipt_names_stay_as_long_as_the_account_wants(
    cast: Cast, mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    set_receipt_retention(account=cast.account, actor=cast.actor, days=90, bill_days=30)
    # No answer named this one, and a newer one was replaced since.
    bills.bring("AWS", september("105"), on=date(2026, 10, 6))
    bills.bring("AWS", september("112.40"), on=date(2026, 10, 7))
    sweep_on(date(2026, 10, 30))

    with account_scope(cast.account):
        assert [each.created_at.day for each in LakeSegment.objects.order_by("created_at")] == [3, 7]
    with at(date(2026, 10, 30)):
        assert verify(mcp_client, first_answer)["outcome"] == "restated"

    sweep_on(date(2026, 11, 3))
    with at(date(2026, 11, 3)):
        assert verify(mcp_client, first_answer)["outcome"] == "unproven"


def test_a_deleted_source_leaves_no_rows(
    cast: Cast, mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    set_receipt_retention(account=cast.account, actor=cast.actor, days=90, bill_days=30)
    with account_scope(cast.account), at(date(2026, 10, 6)):
        LakeSegment.objects.update(retired_at=clock.now())

    sweep_on(date(2026, 10, 7))

    assert not LakeSegment.objects.unscoped().exists()


def test_a_changed_cost_tag_is_named_as_the_reason(cast: Cast, mcp_client: McpClient, bills: Bills) -> None:
    with at(ASKED), account_scope(cast.account):
        tag = create_cost_tag(account=cast.account, actor=cast.actor, key="kind", default_value="all")
        answer = ask(mcp_client, **{**SEPTEMBER, "group_by": ["cost_tag:kind"]})
    with at(date(2026, 10, 5)), account_scope(cast.account):
        delete_cost_tag(cost_tag=tag, actor=cast.actor)
        create_cost_tag(account=cast.account, actor=cast.actor, key="kind", default_value="none at all")

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert "cost tag 'kind' changed on 2026-10-05" in verified["changed_settings"]


def test_a_changed_cost_view_gives_other_figures_today_and_is_named(
    cast: Cast, mcp_client: McpClient, bills: Bills, first_answer: dict[str, Any]
) -> None:
    with at(date(2026, 10, 5)), account_scope(cast.account):
        change_cost_view(
            account=cast.account, actor=cast.actor, basis="billed", charge_categories=["Purchase"]
        )

    with at(VERIFIED):
        verified = verify(mcp_client, first_answer)

    assert verified["outcome"] == "restated"
    assert "cost view changed on 2026-10-05" in verified["summary"]


def test_other_exchange_rates_are_the_reason(cast: Cast, mcp_client: McpClient, bills: Bills) -> None:
    def enter(rate: int) -> None:
        enter_rate(
            account=cast.account,
            actor=cast.actor,
            day=date(2026, 9, 5),
            base="EUR",
            quote="USD",
            rate=Decimal(rate),
        )

    enter(2)
    with at(ASKED):
        answer = ask(mcp_client, **SEPTEMBER, display_currency="EUR")
    with at(date(2026, 10, 5)):
        enter(4)

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "different"
    assert "other exchange rates for the same days" in verified["summary"]
    assert "exchange rates" in verified["changed_settings"][0]


AMOUNTS = st.decimals(0, 1000, places=2)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    versions=st.lists(
        st.dictionaries(st.integers(1, 28), AMOUNTS, min_size=1, max_size=4), min_size=2, max_size=4
    )
)
def test_whatever_is_restated_each_answer_is_the_same_on_the_bills_of_its_day(
    cast: Cast, mcp_client: McpClient, versions: list[dict[int, Decimal]]
) -> None:
    """Every version is asked about, and nothing was removed: each answer comes back, and today's is the last one's."""
    with account_scope(cast.account):
        LakeSegment.objects.all().delete()
        source = add_source(
            cast.account, [], name=f"Bill {len(versions)} {LakeSegment.objects.unscoped().count()}"
        )
        answers = []
        for place, version in enumerate(versions):
            with at(ASKED + timedelta(days=place)):
                store_lines(
                    cast.account,
                    source,
                    [cost(date(2026, 9, day), amount) for day, amount in version.items()],
                )
                answers.append(ask(mcp_client, **{**SEPTEMBER, "group_by": ["source"]}))
        with at(VERIFIED):
            verified = [verify(mcp_client, answer) for answer in answers]
        source.delete()

    last = sum(versions[-1].values())
    for version, each in zip(versions, verified, strict=True):
        same = sum(version.values()) == last
        assert each["outcome"] in (("same", "restated") if same else ("restated",))
        changes = sum(Decimal(str(month["billed_change"])) for month in each["restated"])
        assert changes == last - sum(version.values())
