"""Repeated questions: the cached answer is the one that would be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples_settings
from hypothesis import strategies as st
from pytest_django import Settings

from accounts.keys import mint_mcp_key
from accounts.models import MCPKey
from accounts.scoping import account_scope
from accounts.services import change_account
from finops.allocation.services.cost_tags import create_cost_tag
from finops.cost_access.creations import limit_key
from finops.cost_access.services import create_limit
from finops.costs import queries
from finops.costs.services.cost_view import change_cost_view
from finops.costs.spend_query import CostFilter
from finops.exchange_rates.services import enter_rate
from finops.lake.storage.manifest import cost_manifest
from finops.receipts import records
from mcpserver import cached_answers
from mcpserver.registry import registry
from tests.cast import Cast
from tests.factories.bills import Bills, line
from tests.factories.days import at
from tests.mcpserver.mcp_client import McpClient, mint

TODAY = date(2026, 10, 20)
BY_SERVICE = {"start_date": "2026-10-01", "end_date": "2026-10-10", "group_by": ["service"]}


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    cached_answers.forget()
    records.forget()
    yield
    cached_answers.forget()
    records.forget()


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Bills:
    bills = Bills(cast, tmp_path)
    bring(bills, "10.25")
    return bills


@pytest.fixture
def computations(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of each call whose answer was computed."""
    calls: list[dict[str, Any]] = []
    compute = queries.query_spend

    def record_query(account: Any, query: Any, **options: Any) -> Any:
        calls.append(query.to_params())
        return compute(account, query, **options)

    monkeypatch.setattr(queries, "query_spend", record_query)
    return calls


def bring(bills: Bills, compute: str) -> None:
    lines = [line(date(2026, 10, 5), compute), line(date(2026, 10, 6), "3.50", "Storage")]
    bills.bring("AWS", lines, on=TODAY)


def ask(mcp_client: McpClient, day: date = TODAY, /, **arguments: Any) -> dict[str, Any]:
    """An answer whose receipt is stored."""
    with at(day):
        answer = mcp_client.ask("querySpend", **arguments)
        assert records.recorder.flush()
    return answer


def ask_until_cached(mcp_client: McpClient, **arguments: Any) -> dict[str, Any]:
    """The first call reads the files, and the second only the state of the sources."""
    ask(mcp_client, **arguments)
    return ask(mcp_client, **arguments)


def ask_uncached(mcp_client: McpClient, day: date = TODAY, /, **arguments: Any) -> dict[str, Any]:
    cached_answers.forget()
    return ask(mcp_client, day, **arguments)


def test_a_repeated_question_is_answered_from_the_cache(
    bills: Bills, mcp_client: McpClient, computations: list[dict[str, Any]]
) -> None:
    first = ask_until_cached(mcp_client, **BY_SERVICE)
    before = len(computations)

    assert ask(mcp_client, **BY_SERVICE) == first
    assert len(computations) == before
    assert ask_uncached(mcp_client, **BY_SERVICE) == first
    assert len(computations) == before + 1


def test_a_cached_answer_can_be_verified(bills: Bills, mcp_client: McpClient) -> None:
    ask_until_cached(mcp_client, **BY_SERVICE)
    cached = ask(mcp_client, **BY_SERVICE)

    with at(TODAY):
        assert mcp_client.ask("verifyAnswer", receipt=cached["receipt"])["outcome"] == "same"


def _new_bill(bills: Bills, key: MCPKey) -> None:
    bring(bills, "11.75")


def _other_cost_view(bills: Bills, key: MCPKey) -> None:
    with account_scope(bills.account):
        change_cost_view(
            account=bills.account, actor=bills.cast.actor, basis="amortized", charge_categories=["Usage"]
        )


def _other_name(bills: Bills, key: MCPKey) -> None:
    change_account(account=bills.account, actor=bills.cast.actor, name="Acme Ltd", fiscal_start_month=1)


def _display_currency(bills: Bills, key: MCPKey) -> None:
    enter_rate(
        account=bills.account,
        actor=bills.cast.actor,
        base="EUR",
        quote="USD",
        day=TODAY,
        rate=Decimal("1.25"),
    )
    change_account(
        account=bills.account,
        actor=bills.cast.actor,
        name=bills.account.name,
        fiscal_start_month=1,
        display_currency="EUR",
    )


def _limit(bills: Bills, key: MCPKey) -> None:
    storage = CostFilter(dimension="service", values=["Storage"])
    limit = create_limit(
        account=bills.account, actor=bills.cast.actor, name="Storage", alternatives=[[storage]]
    )
    limit_key(key=key, limit=limit, actor=bills.cast.actor)


@pytest.mark.parametrize("change", [_new_bill, _other_cost_view, _other_name, _display_currency, _limit])
def test_an_answer_after_a_change_is_computed_again(
    cast: Cast, bills: Bills, change: Callable[[Bills, MCPKey], None]
) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="tests")
    mcp_client = McpClient(plaintext)
    before = ask_until_cached(mcp_client, **BY_SERVICE)

    change(bills, key)
    after = ask(mcp_client, **BY_SERVICE)

    assert after != before
    assert after == ask_uncached(mcp_client, **BY_SERVICE)


def test_a_relative_period_moves_with_the_day(bills: Bills, mcp_client: McpClient) -> None:
    ask_until_cached(mcp_client, period="last_30_days")

    tomorrow = ask(mcp_client, TODAY + timedelta(days=1), period="last_30_days")

    assert tomorrow["period"]["end_date"] == "2026-10-20"


def test_a_question_with_a_cost_tag_is_computed_each_time(
    cast: Cast, bills: Bills, mcp_client: McpClient, computations: list[dict[str, Any]]
) -> None:
    with account_scope(cast.account):
        create_cost_tag(account=cast.account, actor=cast.actor, key="tier", default_value="all")
    arguments = {**BY_SERVICE, "group_by": ["cost_tag:tier"]}
    ask_until_cached(mcp_client, **arguments)
    before = len(computations)

    ask(mcp_client, **arguments)

    assert len(computations) == before + 1


def test_keys_share_an_answer_but_not_its_link(cast: Cast, bills: Bills, mcp_client: McpClient) -> None:
    lines = [line(date(2026, 10, 5), str(number + 1), f"Service {number}") for number in range(12)]
    bills.bring("Many", lines, on=TODAY)
    other = McpClient(mint(cast, "read_write"))
    ask_until_cached(mcp_client, **BY_SERVICE)

    with at(TODAY):
        results = [each.call("querySpend", **BY_SERVICE) for each in (mcp_client, other)]
        links = [result["content"][1]["uri"] for result in results]
        texts = [result["content"][0]["text"] for result in results]
        contents = [
            each.result("resources/read", {"uri": link})
            for each, link in zip((mcp_client, other), links, strict=True)
        ]

    assert texts[0] == texts[1]
    assert links[0] != links[1]
    assert contents[0]["contents"][0]["text"] == contents[1]["contents"][0]["text"]
    with at(TODAY):
        mcp_client.error("resources/read", {"uri": links[1]})


def test_an_account_never_gets_the_answer_of_another(cast: Cast, bills: Bills, mcp_client: McpClient) -> None:
    ask_until_cached(mcp_client, **BY_SERVICE)
    stranger_key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="of another")[1]

    answer = ask(McpClient(stranger_key), **BY_SERVICE)

    assert answer["account"]["slug"] == cast.other_account.slug
    assert answer["totals"] == []


def test_without_cached_results_no_answer_is_cached(
    bills: Bills, mcp_client: McpClient, computations: list[dict[str, Any]], settings: Settings
) -> None:
    settings.LAKE_ANSWERS_BYTES = 0
    ask_until_cached(mcp_client, **BY_SERVICE)

    ask(mcp_client, **BY_SERVICE)

    assert len(computations) == 3


def test_the_oldest_answers_leave_the_cache(
    bills: Bills, mcp_client: McpClient, computations: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_answers, "MAX_ANSWERS", 2)
    for limit in (3, 4, 5):
        ask_until_cached(mcp_client, **BY_SERVICE, limit=limit)
    before = len(computations)

    ask(mcp_client, **BY_SERVICE, limit=5)
    ask(mcp_client, **BY_SERVICE, limit=4)
    assert len(computations) == before
    ask(mcp_client, **BY_SERVICE, limit=3)
    assert len(computations) == before + 1


def test_a_cached_answer_does_not_hold_replaced_bills(bills: Bills, mcp_client: McpClient) -> None:
    ask_until_cached(mcp_client, **BY_SERVICE)
    with account_scope(bills.account):
        identity = cost_manifest(bills.account).identity
    bring(bills, "12")

    ask(mcp_client, **BY_SERVICE)

    states = [entry.sources() for entry in cached_answers._entries.values()]
    assert all(state is None or state.manifest.identity != identity for state in states)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("bill"), st.integers(1, 9)),
        st.tuples(st.just("view"), st.sampled_from(["billed", "amortized"])),
        st.tuples(st.just("day"), st.integers(0, 3)),
        st.tuples(
            st.just("ask"),
            st.sampled_from(
                [
                    {},
                    BY_SERVICE,
                    {**BY_SERVICE, "granularity": "day"},
                    {"period": "month_to_date", "compare_to": "previous_period"},
                    {**BY_SERVICE, "filters": [{"dimension": "service", "values": ["Storage"]}]},
                    {**BY_SERVICE, "group_by": ["team"]},
                ]
            ),
        ),
    ),
    min_size=4,
    max_size=10,
)


@examples_settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_whatever_changes_in_between_answers_are_those_computed(
    cast: Cast, bills: Bills, mcp_client: McpClient, steps: list[tuple[str, Any]]
) -> None:
    day = TODAY
    for kind, value in steps:
        if kind == "bill":
            bring(bills, str(value))
        elif kind == "view":
            with account_scope(cast.account):
                change_cost_view(account=cast.account, actor=cast.actor, basis=value, charge_categories=[])
        elif kind == "day":
            day += timedelta(days=value)
        else:
            answers = [ask(mcp_client, day, **value) for _ in range(3)]
            assert answers[1:] == [ask_uncached(mcp_client, day, **value)] * 2
            assert answers[0] == answers[1]


def test_tools_with_cached_answers_have_receipts() -> None:
    assert all(tool.has_receipt for tool in registry if tool.is_cacheable)
    assert {tool.name for tool in registry if tool.is_cacheable} == {"querySpend"}
