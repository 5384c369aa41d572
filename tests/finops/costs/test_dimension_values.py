from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.costs.answers import MoneyAmount
from finops.costs.queries import list_dimension_values
from finops.costs.services import change_cost_view
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from tests.cast import Cast
from tests.factories.costs import add_source, cost

DAY = date(2026, 3, 2)


def values(account: Account, dimension: str, **more: str) -> list[str]:
    return [each.value for each in list_dimension_values(account, dimension, **more).values]  # type: ignore[arg-type]


def test_values_come_by_size_of_cost_whatever_the_sign(acme: Account) -> None:
    amounts = {"a": 1, "b": 5, "c": -9, None: 3}
    add_source(acme, [cost(DAY, amount, service=name) for name, amount in amounts.items()])

    assert values(acme, "service") == ["c", "b", "(none)", "a"]


def test_each_value_has_an_amount_for_each_currency(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, service="a"), cost(DAY, 2, service="a", currency="EUR")])

    (value,) = list_dimension_values(acme, "service").values

    assert value.amounts == [
        MoneyAmount(amount=Decimal(2), currency="EUR"),
        MoneyAmount(amount=Decimal(1), currency="USD"),
    ]


def test_search_looks_into_values_labels_and_aliases(acme: Account) -> None:
    add_source(
        acme,
        [
            cost(DAY, 3, service="Amazon Elastic Compute Cloud", account_id="111", account_name="Payments"),
            cost(DAY, 2, service="Amazon S3", account_id="222", account_name="Search 100%"),
        ],
    )

    assert values(acme, "service", search="ec2") == ["Amazon Elastic Compute Cloud"]
    assert values(acme, "service", search="AMAZON") == ["Amazon Elastic Compute Cloud", "Amazon S3"]
    assert values(acme, "account", search="pay") == ["111"]
    assert values(acme, "account", search="22") == ["222"]
    assert values(acme, "account", search="0%") == ["222"]
    assert values(acme, "service", search="%") == []


def test_paging_shows_every_value_once(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, service=f"s{n:02}") for n in range(23)])

    listing, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        answer = list_dimension_values(acme, "service", limit=5, cursor=cursor)
        listing += [each.value for each in answer.values]
        cursor, pages = answer.cursor, pages + 1

    assert listing == [f"s{n:02}" for n in range(23)]
    assert pages == 5
    assert answer.truncated == ""


@pytest.mark.parametrize("cursor", ["nonsense", "WzUsIngiXQ", "ä", "e30", "=" * 9])
def test_a_foreign_cursor_is_refused(acme: Account, cursor: str) -> None:
    add_source(acme, [cost(DAY, 1, service=f"s{n}") for n in range(9)])

    with pytest.raises(
        UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
    ):
        list_dimension_values(acme, "service", limit=5, cursor=cursor)


def test_a_cursor_belongs_to_its_question(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, service=f"s{n}") for n in range(9)])
    cursor = list_dimension_values(acme, "service", limit=5).cursor

    with pytest.raises(
        UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
    ):
        list_dimension_values(acme, "service", search="s", limit=5, cursor=cursor)


def test_amounts_follow_the_accounts_cost_view(acme: Account, cast: Cast) -> None:
    lines = [cost(DAY, 5, service="a"), cost(DAY, 3, service="a", charge_category="Tax")]
    add_source(acme, lines)
    change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=["Usage"])

    (value,) = list_dimension_values(acme, "service").values

    assert value.amounts == [MoneyAmount(amount=Decimal(5), currency="USD")]


def test_only_days_that_are_requested_count(acme: Account) -> None:
    add_source(acme, [cost(DAY, 5, service="a"), cost(date(2025, 1, 2), 3, service="old")])

    assert values(acme, "service") == ["a"]
    long_ago = list_dimension_values(acme, "service", days=DateRange(date(2025, 1, 1), date(2025, 1, 31)))
    assert [each.value for each in long_ago.values] == ["old"]


def test_nothing_found_says_what_to_do(acme: Account) -> None:
    add_source(acme, [cost(DAY, 5, service="a")])

    answer = list_dimension_values(acme, "service", search="zzz")

    assert answer.values == []
    assert answer.hint.startswith("Search for a shorter part")


def test_an_unknown_dimension_and_a_bad_limit_say_what_is_valid(acme: Account) -> None:
    with pytest.raises(UserError, match=r"dimension: 'servces' does not exist\. Nearest: service"):
        list_dimension_values(acme, "servces")
    with pytest.raises(UserError, match="not between 1 and 200"):
        list_dimension_values(acme, "service", limit=0)
