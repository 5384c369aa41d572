"""Cost by the values of a cost tag."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.allocation.cost_tags.schemas import CostTagQuery
from finops.allocation.queries.cost_tags import preview, query_cost_tag
from finops.allocation.rules import CostTagDraft, read_rules
from finops.allocation.services.cost_tags import create_cost_tag, save_cost_tag
from finops.costs.answers import MoneyAmount
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.costs import add_source, cost

DAY = date(2026, 3, 5)
PROD = {"when": {"dimension": "tag:env", "op": "in", "values": ["prod", "production"]}, "value": "Production"}
STORAGE = {"when": {"dimension": "service", "op": "contains", "values": ["s3"]}, "value": "Storage"}


@pytest.fixture
def payer(acme: Account) -> Account:
    add_source(
        acme,
        [
            cost(DAY, 1, service="Amazon S3", tags={"env": "PROD"}),
            cost(DAY, 2, service="Amazon S3"),
            cost(DAY, 4, service="Amazon EC2", tags={"env": "dev"}),
            cost(DAY, 8, service="Amazon EC2", currency="EUR"),
        ],
    )
    return acme


def amounts(parts: list[MoneyAmount]) -> dict[str, Decimal]:
    return {part.currency: part.amount for part in parts}


def sums_by(account: Account, dimension: str, **options: Any) -> dict[tuple[str, str], Decimal]:
    query = SpendQuery(period="month_to_date", group_by=[dimension], **options)
    return {
        (next(iter(row.group.values())), row.currency): row.amount for row in query_spend(account, query).rows
    }


def test_the_first_rule_that_catches_a_line_gives_it_its_value(cast: Cast, payer: Account) -> None:
    create_cost_tag(account=payer, actor=cast.actor, key="kind", rules=read_rules([PROD, STORAGE]))

    assert sums_by(payer, "cost_tag:Kind") == {
        ("Production", "USD"): 1,
        ("Storage", "USD"): 2,
        ("(untagged)", "USD"): 4,
        ("(untagged)", "EUR"): 8,
    }


def test_cost_with_only_the_default_value_is_untagged_in_coverage(cast: Cast, payer: Account) -> None:
    """Of 7 USD rules catch 1 as Production and 2 as Shared, whose name is also the default of the other 4; of EUR nothing."""
    shared = {**STORAGE, "value": "Shared"}
    create_cost_tag(
        account=payer,
        actor=cast.actor,
        key="kind",
        rules=read_rules([PROD, shared]),
        default_value="Shared",
    )

    answer = query_cost_tag(payer, CostTagQuery(cost_tag="kind", period="month_to_date"))

    euros, dollars = sorted(answer.totals, key=lambda total: total.currency)
    assert [dollars.amount, dollars.untagged] == [7, 4]
    assert dollars.untagged_share is not None
    assert round(dollars.untagged_share, 6) == Decimal("0.571429")
    assert [euros.amount, euros.untagged, euros.untagged_share] == [8, 8, 1]
    assert "7.00 USD (57.1 % of it untagged)" in answer.summary
    assert {each.value: each.is_default for each in answer.values} == {"Shared": True, "Production": False}
    assert '"values": ["Shared"]' in answer.hint


def test_saving_over_an_unseen_change_names_its_author(cast: Cast, payer: Account) -> None:
    tag = create_cost_tag(account=payer, actor=cast.actor, key="kind", rules=read_rules([PROD]))
    own_change: dict[str, Any] = {
        "cost_tag": tag,
        "actor": cast.actor,
        "version": 1,
        "default_value": "",
        "description": "",
    }
    save_cost_tag(**own_change, rules=read_rules([STORAGE]))

    with pytest.raises(UserError, match=f"was changed by {cast.member.email} on 2026-03-20"):
        save_cost_tag(**own_change, rules=())


def test_the_preview_says_what_each_rule_catches(payer: Account) -> None:
    result = preview(payer, CostTagDraft(key="kind", rules=read_rules([PROD, STORAGE])))

    assert [amounts(rule.amounts) for rule in result.rules] == [{"USD": 1}, {"USD": 2}]
    assert amounts(result.rest) == {"EUR": 8, "USD": 4}
