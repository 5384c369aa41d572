from __future__ import annotations

from datetime import date

import pytest

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.costs.dimensions import DimensionContext, DimensionKind, DimensionRegistry, registry
from finops.costs.queries import account_context, query_spend
from finops.costs.services import change_cost_view
from finops.costs.spend_query import SpendQuery
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.costs import add_source, cost

DAY = date(2026, 3, 2)


def groups(account: Account, dimension: str) -> dict[str, int]:
    answer = query_spend(account, SpendQuery(period="month_to_date", group_by=[dimension], limit=50))
    return {"/".join(row.group.values()): int(row.amount) for row in answer.rows}


def test_every_dimension_of_the_product_page_answers(acme: Account) -> None:
    add_source(acme, [cost(DAY, 5)])
    CostTag.objects.create(key="env")

    for kind in registry.kinds():
        assert sum(groups(acme, f"{kind.name}env" if kind.is_family else kind.name).values()) == 5


def test_lines_without_a_value_have_a_name(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, tags={"env": "prod"}, actor="ann"), cost(DAY, 2)])

    assert groups(acme, "service") == {"(none)": 3}
    assert groups(acme, "tag:env") == {"prod": 1, "(untagged)": 2}
    assert groups(acme, "actor") == {"ann": 1, "(unknown)": 2}


def test_an_id_is_shown_with_its_newest_name(acme: Account) -> None:
    named = [cost(DAY, 1, account_id="42", account_name=name) for name in ("Alpha", "Beta")]
    add_source(acme, [*named, cost(DAY, 1, account_id="43", account_name="Beta")])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["account"]))

    assert [(row.group, row.labels) for row in answer.rows] == [
        ({"account": "42"}, {"account": "Beta"}),
        ({"account": "43"}, {"account": "Beta"}),
    ]


def test_a_source_goes_by_its_name(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1)], name="AWS payer")
    add_source(acme, [cost(DAY, 2)], name="Ben's \\ file")

    assert groups(acme, "source") == {"AWS payer": 1, "Ben's \\ file": 2}


def test_product_is_the_service_until_the_account_names_a_key(acme: Account, cast: Cast) -> None:
    add_source(acme, [cost(DAY, 1, service="S3", tags={"app": "shop"}), cost(DAY, 2, service="EC2")])
    assert groups(acme, "product") == {"S3": 1, "EC2": 2}

    change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=[], product_key="app")

    assert groups(acme, "product") == {"shop": 1, "(untagged)": 2}


def test_tag_keys_that_differ_in_case_stay_separate(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, tags={"env": "a"}), cost(DAY, 2, tags={"Env": "b"})])

    assert groups(acme, "tag:env") == {"a": 1, "(untagged)": 2}
    assert groups(acme, "tag:Env") == {"b": 2, "(untagged)": 1}


def test_a_tag_key_in_another_case_is_found_and_said(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, tags={"Team": "core"})])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["tag:team"]))

    assert answer.group_by == ["tag:Team"]
    assert answer.rows[0].group == {"tag:Team": "core"}
    assert answer.warnings[0] == "Tag key 'team' was interpreted as 'Team'."


def test_a_tag_key_that_no_line_has_is_said_with_the_nearest(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1, tags={"environment": "prod"})])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["tag:enviroment"]))

    assert answer.rows[0].group == {"tag:enviroment": "(untagged)"}
    assert answer.warnings[0] == (
        "No cost has tag key 'enviroment'. Nearest: 'environment'. See getAccountContext."
    )


@pytest.mark.parametrize(
    ("dimension", "expected_name"),
    [
        ("Usage Type", "usage_type"),
        ("cloud", "provider"),
        (" SERVICE ", "service"),
        ("TAG:env", "tag:env"),
        ("sub-account", "account"),
    ],
)
def test_names_are_read_leniently(acme: Account, dimension: str, expected_name: str) -> None:
    add_source(acme, [cost(DAY, 1, tags={"env": "x"})])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=[dimension]))

    assert answer.group_by == [expected_name]


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        ("regoin", "group_by: 'regoin' does not exist. Nearest: region. Use getAccountContext."),
        ("env", "group_by: 'env' does not exist. Nearest: 'tag:env'. Use getAccountContext."),
        ("tag:", "group_by: 'tag:' does not exist. Nearest: 'tag:<key>', "),
    ],
)
def test_an_unknown_dimension_names_the_nearest(acme: Account, dimension: str, message: str) -> None:
    add_source(acme, [cost(DAY, 1, tags={"env": "x"})])

    with pytest.raises(UserError) as error:
        query_spend(acme, SpendQuery(group_by=[dimension]))

    assert error.value.message.startswith(message)


def test_a_dimension_is_registered_once() -> None:
    own_registry = DimensionRegistry()
    kind = DimensionKind("team", "Team", "Who owns it.", registry.kinds()[0].resolve)
    own_registry.register(kind)

    with pytest.raises(ValueError, match="registered twice"):
        own_registry.register(kind)


def test_two_groups_at_most_and_never_the_same_twice(acme: Account) -> None:
    for names in (["service", "region", "sku"], ["service", "Service"]):
        with pytest.raises(UserError):
            query_spend(acme, SpendQuery(group_by=names))


def test_the_context_lists_every_dimension(acme: Account) -> None:
    assert [info.name for info in account_context(acme).dimensions] == [
        kind.display_name for kind in registry.kinds()
    ]


def test_tag_keys_are_those_of_the_account_alone(acme: Account, cast: Cast) -> None:
    add_source(acme, [cost(DAY, 1, tags={"mine": "x"})])

    assert DimensionContext(acme).tag_keys == ["mine"]
    assert DimensionContext(cast.other_account).tag_keys == []
