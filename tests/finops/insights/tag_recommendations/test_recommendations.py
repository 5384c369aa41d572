"""Recommendations for bills with known tags, and that they cover the cost of the editor's preview."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.queries.cost_tags import preview
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.costs.models import CostSource
from finops.insights.tag_recommendations.queries import (
    RecommendationDetail,
    find_recommendations,
    tag_recommendations,
)
from finops.insights.tag_recommendations.schemas import TagRecommendationsQuery
from finops.lake import schema
from finops.lib.money import exact_sum
from tests.cast import Cast
from tests.examples import examples
from tests.factories.costs import Line, add_source, add_up, cost, store_lines

START, END = date(2026, 3, 1), date(2026, 3, 19)


def tagged_line(amount: str, tags: dict[str, str], **columns: Any) -> Line:
    return cost(END, amount, tags=tags, **columns)


UNTIDY = [
    tagged_line("60", {"env": "prod"}, account_id="1", service="EC2", resource_name="web-1"),
    tagged_line("20", {"Env": "Production"}, account_id="1", service="S3", resource_name="web-2"),
    tagged_line("10", {"user:env": "dev"}, account_id="2", service="EC2", resource_name="lab-1"),
    tagged_line("7", {}, account_id="1", service="EC2", resource_name="web-3"),
    tagged_line("3", {}, account_id="3", service="Tax"),
]


def by_kind(account: Account) -> dict[str, list[RecommendationDetail]]:
    by_kind_name: dict[str, list[RecommendationDetail]] = {}
    for each in find_recommendations(account).details:
        by_kind_name.setdefault(each.row.kind, []).append(each)
    return by_kind_name


def covers(detail: RecommendationDetail) -> dict[str, Decimal]:
    return {cover.currency: cover.amount for cover in detail.row.covers}


def test_keys_by_coverage_of_cost(acme: Account) -> None:
    add_source(acme, [*UNTIDY, tagged_line("500", {"env": "prod"}, charge_category="Tax")])

    keys = find_recommendations(acme).keys

    assert [(each.key, each.covers[0].amount, each.covers[0].share) for each in keys] == [
        ("env", Decimal(60), Decimal("0.6")),
        ("Env", Decimal(20), Decimal("0.2")),
        ("user:env", Decimal(10), Decimal("0.1")),
    ]


def test_keys_that_mean_the_same_become_one_cost_tag(acme: Account) -> None:
    add_source(acme, UNTIDY)

    (detail,) = by_kind(acme)["same_keys"]

    assert detail.row.sentence.startswith("Tags 'env', 'Env' and 'user:env' mean the same")
    assert covers(detail) == {"USD": Decimal(90)}
    assert detail.row.covers[0].share == Decimal("0.9")
    (rule,) = detail.suggestion.draft.rules
    assert rule.copy
    assert rule.copy.keys == ("env", "Env", "user:env")
    assert detail.suggestion.draft.key == "env"


def test_values_that_mean_the_same_are_put_right(acme: Account) -> None:
    add_source(acme, UNTIDY)

    (detail,) = by_kind(acme)["same_values"]

    assert "'prod' and 'Production'" in detail.row.sentence
    assert covers(detail) == {"USD": Decimal(80)}
    (rule,) = detail.suggestion.draft.rules
    assert rule.copy
    assert (rule.copy.normalise, rule.copy.map) == (("trim", "lower"), (("production", "prod"),))


def test_untagged_cost_gets_the_rule_that_the_rest_says(acme: Account) -> None:
    add_source(acme, UNTIDY)

    by_rule = {each.suggestion.draft.rules[-1].when: each for each in by_kind(acme)["untagged_cost"]}
    dimensions = {
        when.dimension: each for when, each in by_rule.items() if when and hasattr(when, "dimension")
    }

    assert set(dimensions) == {"account", "resource"}  # EC2 is 14 % dev
    assert covers(dimensions["account"]) == {"USD": Decimal(7)}
    assert dimensions["account"].row.rules[-1] == "account is 1 → prod"
    assert dimensions["resource"].row.rules[-1] == "resource starts with web- → prod"


def test_what_a_rule_would_catch_by_the_ids_of_resources_counts_as_its_cost(acme: Account) -> None:
    """All of `api-`: most of it has no tag, so the rest says nothing of it."""
    named = tagged_line("10", {"service": "api"}, resource_name="api-1")
    add_source(acme, [named, tagged_line("90", {}, resource_id="API-key")])

    rules = [each.row.rules[-1] for each in by_kind(acme).get("untagged_cost", [])]

    assert not [rule for rule in rules if "api-" in rule]


def test_an_existing_cost_tag_gains_rules_at_its_end(acme: Account, cast: Cast) -> None:
    add_source(acme, UNTIDY)
    rules = read_rules([{"copy": {"keys": ["env"], "normalise": ["trim", "lower"]}}])
    create_cost_tag(account=acme, actor=cast.actor, key="environment", rules=rules, default_value="shared")

    by_name = by_kind(acme)
    (keys,) = by_name["same_keys"]

    assert keys.cost_tag
    assert keys.suggestion.draft.key == "environment"
    assert keys.suggestion.draft.rules[:1] == rules
    assert covers(keys) == {"USD": Decimal(30)}
    assert "which cost tag 'environment' already includes." in keys.row.sentence
    account = next(each for each in by_name["untagged_cost"] if "account is" in each.row.rules[-1])
    assert account.row.rules == [
        "account is 1, and tag:Env has no value, and tag:user:env has no value → prod"
    ]
    assert covers(account) == {"USD": Decimal(7)}


def test_an_existing_cost_tag_has_its_own_values_put_right(acme: Account, cast: Cast) -> None:
    add_source(acme, UNTIDY)
    rules = read_rules([{"copy": {"keys": ["env", "Env", "user:env"], "map": {"dev": "Development"}}}])
    create_cost_tag(account=acme, actor=cast.actor, key="stage", rules=rules)

    by_name = by_kind(acme)
    (values,) = by_name["same_values"]

    assert "same_keys" not in by_name
    (rule,) = values.suggestion.draft.rules
    assert rule.copy
    assert dict(rule.copy.map) == {"dev": "Development", "Production": "prod"}
    assert covers(values) == {"USD": Decimal(80)}


SAME = [
    tagged_line("50", {"stage": "prod"}),
    tagged_line("30", {"tier": "Production"}),
    tagged_line("20", {"stage": "dev"}),
    tagged_line("5", {"tier": "dev"}),
]


def test_keys_with_the_same_values_become_one_cost_tag(acme: Account) -> None:
    add_source(acme, [*SAME, tagged_line("9", {"stage": "prod", "tier": "production"})])

    (detail,) = by_kind(acme)["same_keys"]

    assert "Tags 'stage' and 'tier' mean the same, by the values" in detail.row.sentence
    assert covers(detail) == {"USD": Decimal(114)}


def test_keys_that_differ_on_one_line_do_not_mean_the_same(acme: Account) -> None:
    add_source(acme, [*SAME, tagged_line("9", {"stage": "prod", "tier": "dev"})])

    assert "same_keys" not in by_kind(acme)


def test_tidy_tags_are_left_alone(acme: Account) -> None:
    add_source(acme, [tagged_line("60", {"env": "prod"}), tagged_line("40", {"env": "dev"})])

    answer = tag_recommendations(acme, TagRecommendationsQuery())

    assert answer.recommendations == []
    assert "have no recommendations." in answer.summary
    assert answer.keys[0].covers[0].share == 1


def test_bills_without_tags_say_so(acme: Account) -> None:
    assert "has no cost with tags" in tag_recommendations(acme, TagRecommendationsQuery()).summary


def test_ids_stay_as_cost_grows(acme: Account) -> None:
    source = add_source(acme, UNTIDY)
    before = {each.row.id for each in find_recommendations(acme).details}
    store_lines(acme, source, [*UNTIDY, tagged_line("100", {"Env": "prod"}, account_id="1", service="S3")])

    assert before == {each.row.id for each in find_recommendations(acme).details}


KEYS = ("env", "Env", "stage", "team")
lines = st.builds(
    lambda amount, tags, **columns: cost(END, amount, tags=tags, effective_cost=amount, **columns),
    st.decimals(min_value="-1e3", max_value="9e14", places=18, allow_nan=False),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["prod", "Prod ", "production", "dev", "x", ""])),
    account_id=st.sampled_from(["1", "2", None]),
    service=st.sampled_from(["EC2", "S3"]),
    resource_name=st.sampled_from(["web-1", "web-2", "db_1", None]),
    currency=st.sampled_from(["USD", "EUR"]),
)


@pytest.fixture
def empty(acme: Account) -> CostSource:
    return CostSource.objects.create(account=acme, name="Bill")


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(lines, min_size=1, max_size=14))
def test_coverage_is_plain_sums_and_a_draft_covers_what_its_preview_says(
    acme: Account, empty: CostSource, found: list[Line]
) -> None:
    store_lines(acme, empty, found)

    answer = find_recommendations(acme)

    for each in answer.keys:
        column = schema.tag_column(each.key)
        plain = add_up(
            (each for each in found if each.get(column) is not None),
            lambda one: one["currency"],
            column="effective_cost",
        )
        assert {cover.currency: cover.amount for cover in each.covers} == {
            currency: amount for currency, amount in plain.items() if amount
        }
    for details in answer.details:
        assert covers(details) == _preview_covers(acme, details)


def _preview_covers(account: Account, detail: RecommendationDetail) -> dict[str, Decimal]:
    suggestion = detail.suggestion
    preview_answer = preview(account, suggestion.draft)
    caught = [rule.amounts for rule in preview_answer.rules if rule.number in suggestion.rules]
    caught += [each.amounts for each in preview_answer.values if each.value in suggestion.values]
    amounts: dict[str, Decimal] = {}
    for part in [item for each in caught for item in each]:
        amounts[part.currency] = exact_sum([amounts.get(part.currency, Decimal(0)), part.amount])
    return {currency: amount for currency, amount in amounts.items() if amount}
