"""Which keys and values mean the same, and which only look so."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.insights.tag_recommendations.similarity import (
    TaggedCosts,
    certain_value,
    key_groups,
    key_meaning,
    merges,
    value_meaning,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("env", "Env"),
        ("env", "environment"),
        ("env", "user:env"),
        ("Environments", "ENVIRONMENT"),
        ("cost-center", "CostCenter"),
        ("cost_centre", "cost center"),
        ("team", "teams"),
        ("aws:createdBy", "created-by"),
        ("policy", "Policies"),
    ],
)
def test_keys_that_mean_the_same(one: str, other: str) -> None:
    assert key_meaning(one) == key_meaning(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("env", "envoy"),
        ("team", "steam"),
        ("owner", "owner-email"),
        ("cluster-name", "aws:eks:cluster-name"),
        ("class", "clas"),
        ("cost-center", "cost"),
        ("app", "apps-team"),
    ],
)
def test_keys_with_similar_letters_stay_different(one: str, other: str) -> None:
    assert key_meaning(one) != key_meaning(other)


@pytest.mark.parametrize("other", ["Prod", "production", " PROD ", "prd", "PRODUCTION", "prod."])
def test_values_that_mean_the_same(other: str) -> None:
    assert value_meaning("prod") == value_meaning(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("prod", "preprod"), ("prod", "non-prod"), ("1.2", "12"), ("v1-2", "v12"), ("cust-23", "cust-023")],
)
def test_values_with_similar_letters_stay_different(one: str, other: str) -> None:
    assert value_meaning(one) != value_meaning(other)


def _costs(**values: int) -> dict[str, dict[str, Decimal]]:
    return {value: {"USD": Decimal(amount)} for value, amount in values.items()}


def test_keys_with_mostly_the_same_values_mean_the_same() -> None:
    values = {
        "stage": _costs(prod=80, staging=15, other=5),
        "tier": _costs(Production=50, stg=50),
        "team": _costs(prod=10, data=90),
    }

    groups = key_groups(["stage", "tier", "team"], values)

    assert [group.keys for group in groups] == [("stage", "tier"), ("team",)]
    assert [group.by_values for group in groups] == [True, False]


def test_values_that_every_key_may_have_say_nothing() -> None:
    yes_and_no = _costs(true=50, false=50)

    assert len(key_groups(["backup", "public"], {"backup": yes_and_no, "public": yes_and_no})) == 2


def test_enough_in_one_currency_alone_is_not_enough() -> None:
    both = {"prod": {"USD": Decimal(9), "EUR": Decimal(1)}, "dev": {"USD": Decimal(1)}}
    other = {**both, "web": {"EUR": Decimal(9)}}

    assert len(key_groups(["stage", "tier"], {"stage": both, "tier": other})) == 2


def test_spellings_come_with_the_costliest_first() -> None:
    (merge,) = merges(_costs(Prod=1, production=5, prod=3, dev=9), ["USD"])

    assert merge.spellings == ("production", "prod", "Prod")


@pytest.mark.parametrize(("prod", "certain"), [("95", True), ("94.99", False)])
def test_a_rule_needs_95_percent_of_one_value(prod: str, certain: bool) -> None:
    other_percent = Decimal(100) - Decimal(prod)
    tagged_costs = TaggedCosts(
        {"prod": {"USD": Decimal(prod)}, "dev": {"USD": other_percent}}, without={"USD": Decimal(50)}
    )

    assert (certain_value(tagged_costs) == "prod") is certain


@pytest.mark.parametrize(("without", "certain"), [("30", True), ("30.01", False), ("0", False)])
def test_a_rule_needs_a_quarter_of_the_cost_to_say_so(without: str, certain: bool) -> None:
    tagged_costs = TaggedCosts({"prod": {"USD": Decimal(10)}}, without={"USD": Decimal(without)})

    assert (certain_value(tagged_costs) == "prod") is certain


def test_a_condition_must_hold_in_each_currency() -> None:
    usd, eur = {"USD": Decimal(99)}, {"USD": Decimal(1), "EUR": Decimal(5)}

    assert certain_value(TaggedCosts({"prod": usd, "dev": eur}, without={"USD": Decimal(9)})) is None
