"""Limits by what settings decide, and by what an answer converts: they hold as of now, whatever was kept of an earlier question."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.scoping import account_scope
from finops.allocation.services.teams import create_team, own_value, release_value, set_team_key
from finops.cost_access.creations import limit_key
from finops.cost_access.services import create_limit
from finops.costs.spend_query import CostFilter, Op
from finops.exchange_rates.services import enter_rate
from tests.cast import ACTOR, Cast
from tests.factories.costs import add_source, cost
from tests.factories.days import days
from tests.mcpserver.mcp_client import McpClient

FIRST, LAST = date(2026, 3, 1), date(2026, 3, 18)
PERIOD = {"start_date": "2026-03-01", "end_date": "2026-03-18"}


def limited_client(cast: Cast, *filters: CostFilter) -> McpClient:
    name = " ".join(f"{each.dimension} {each.op}" for each in filters)
    limit = create_limit(account=cast.account, actor=ACTOR, name=name, alternatives=[list(filters)])
    key, plaintext = mint_mcp_key(
        account=cast.account, actor=Actor.of_user(cast.owner), name="limited", scope="read"
    )
    limit_key(key=key, limit=limit, actor=ACTOR)
    return McpClient(plaintext)


def totals(mcp_client: McpClient, **question: object) -> dict[str, Decimal]:
    answer = mcp_client.ask("querySpend", **PERIOD, **question)
    return {each["currency"]: Decimal(str(each["amount"])) for each in answer["totals"]}


def first_day(mcp_client: McpClient) -> str:
    return str(mcp_client.ask("getDataHealth")["data_from"])


def test_a_limit_by_team_follows_what_the_team_owns(acme: object, cast: Cast) -> None:
    lines = [cost(day, 1, tags={"team": "core"}) for day in days(FIRST, LAST)]
    lines += [cost(day - timedelta(days=90), 100, tags={"team": "data"}) for day in days(FIRST, LAST)]
    with account_scope(cast.account):
        add_source(
            cast.account, [*lines, *(cost(day, 10, tags={"team": "data"}) for day in days(FIRST, LAST))]
        )
        set_team_key(account=cast.account, actor=ACTOR, dimension="tag:team")
        team = create_team(account=cast.account, actor=ACTOR, name="Core")
        own_value(team=team, actor=ACTOR, value="core")
    mcp_client = limited_client(cast, CostFilter(dimension="team", values=["Core"]))
    readings = [(totals(mcp_client), first_day(mcp_client))]
    with account_scope(cast.account):
        owned = own_value(team=team, actor=ACTOR, value="data")
    readings.append((totals(mcp_client), first_day(mcp_client)))
    with account_scope(cast.account):
        release_value(owned=owned, actor=ACTOR)
    readings.append((totals(mcp_client), first_day(mcp_client)))

    core, both = {"USD": Decimal(18)}, {"USD": Decimal(198)}
    assert readings == [(core, "2026-03-01"), (both, "2025-12-01"), (core, "2026-03-01")]


def test_a_limit_by_currency_is_of_the_currency_of_the_bill(acme: object, cast: Cast) -> None:
    """A converted line has another currency in the answer, and the limit must not look at that one."""
    with account_scope(cast.account):
        add_source(
            cast.account,
            [cost(day, 1, currency="USD" if day.day % 2 else "EUR") for day in days(FIRST, LAST)],
        )
    for day in days(FIRST, LAST):
        enter_rate(account=cast.account, actor=ACTOR, day=day, base="EUR", quote="USD", rate=Decimal(2))
    cases: list[tuple[Op, dict[str, Decimal]]] = [
        ("not_in", {"USD": Decimal(9)}),
        ("in", {"USD": Decimal(18)}),
    ]
    for op, expected in cases:
        mcp_client = limited_client(cast, CostFilter(dimension="currency", op=op, values=["EUR"]))
        assert totals(mcp_client, display_currency="USD") == expected
        own = {"USD": Decimal(9)} if op == "not_in" else {"EUR": Decimal(9)}
        assert totals(mcp_client, display_currency="own") == own
