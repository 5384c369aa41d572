"""Saving and deleting cost tags: what moves, what uses them, circles, and other accounts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, SharedCostSplit, TeamKey
from finops.allocation.queries.cost_tags import effect
from finops.allocation.rules import CostTagDraft, RuleError, read_rules
from finops.allocation.services.cost_tags import (
    cost_tag_from_yaml,
    cost_tag_to_yaml,
    create_cost_tag,
    delete_cost_tag,
    draft_of,
    save_cost_tag,
)
from finops.budgets.models import Budget
from finops.costs.models import ClosedMonth
from finops.costs.queries import query_spend
from finops.costs.services import change_cost_view
from finops.costs.spend_query import SpendQuery
from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerKey, UnitMetric
from finops.unitcosts.services.customer_mappings import set_customer_key
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, add_up, cost

PROD = {"when": {"dimension": "tag:env", "values": ["prod"]}, "value": "Production"}
STORAGE = {"when": {"dimension": "service", "op": "contains", "values": ["s3"]}, "value": "Storage"}


def rule_on(dimension: str, *values: str) -> dict[str, Any]:
    return {"when": {"dimension": dimension, "values": list(values)}, "value": "x"}


@pytest.fixture
def payer(acme: Account) -> Account:
    add_source(
        acme,
        [
            cost(date(2026, 1, 5), "1.000000000000000001", service="S3", tags={"env": "prod"}),
            cost(date(2026, 2, 5), 2, service="S3", tags={"env": "prod"}),
            cost(date(2026, 2, 6), 4, service="S3", currency="EUR"),
            cost(date(2026, 3, 5), 8, service="EC2"),
            cost(date(2026, 3, 18), 16, service="S3"),
        ],
    )
    return acme


@pytest.fixture
def make(cast: Cast, payer: Account) -> Callable[..., CostTag]:
    def create(key: str, *rules: dict[str, Any], default: str = "") -> CostTag:
        return create_cost_tag(
            account=payer, actor=cast.actor, key=key, rules=read_rules(list(rules)), default_value=default
        )

    return create


def save(cast: Cast, tag: CostTag, *rules: dict[str, Any], default: str = "") -> CostTag:
    return save_cost_tag(
        cost_tag=tag,
        actor=cast.actor,
        version=tag.version,
        rules=read_rules(list(rules)),
        default_value=default,
        description="",
    )


def test_the_effect_says_by_month_what_leaves_and_what_arrives(
    payer: Account, make: Callable[..., CostTag]
) -> None:
    tag = make("kind", PROD)

    result = effect(payer, tag, CostTagDraft(key="kind", rules=read_rules([STORAGE, PROD])))

    rows = [
        (f"{row.month:%m}", row.value, row.currency, row.before, row.after, row.moved) for row in result.rows
    ]
    first = Decimal("1.000000000000000001")
    assert rows == [
        ("01", "Production", "USD", first, 0, -first),
        ("01", "Storage", "USD", 0, first, first),
        ("02", "(untagged)", "EUR", 4, 0, -4),
        ("02", "Storage", "EUR", 0, 4, 4),
        ("02", "Production", "USD", 2, 0, -2),
        ("02", "Storage", "USD", 0, 2, 2),
        ("03", "(untagged)", "USD", 24, 8, -16),
        ("03", "Storage", "USD", 0, 16, 16),
    ]
    assert [
        (f"{each.month:%m}", each.currency, each.total, each.changed, each.changed_lines)
        for each in result.months
    ] == [
        ("01", "USD", first, first, 1),
        ("02", "EUR", 4, 4, 1),
        ("02", "USD", 2, 2, 1),
        ("03", "USD", 24, 16, 1),
    ]


def test_moves_add_up_to_nothing_in_every_month_and_currency(
    payer: Account, make: Callable[..., CostTag]
) -> None:
    result = effect(payer, make("kind", PROD), CostTagDraft(key="kind", rules=read_rules([STORAGE])))

    moved = [{"key": (row.month, row.currency), "billed_cost": row.moved} for row in result.rows]
    assert set(add_up(moved, lambda row: row["key"]).values()) == {0}


def test_months_that_the_account_has_closed_are_marked(payer: Account, make: Callable[..., CostTag]) -> None:
    for month in (1, 2):
        ClosedMonth.objects.create(account=payer, month=date(2026, month, 1))
    result = effect(payer, make("kind"), CostTagDraft(key="kind", default_value="All"))

    assert {f"{month.month:%m}": month.is_closed for month in result.months} == {
        "01": True,
        "02": True,
        "03": False,
    }


def test_rules_that_say_the_same_have_no_effect(payer: Account, make: Callable[..., CostTag]) -> None:
    tag = make("kind", PROD)
    again = {**PROD, "when": {"all": [PROD["when"]]}}

    result = effect(payer, tag, CostTagDraft(key="kind", rules=read_rules([PROD, again])))

    assert (result.months, result.rows) == ([], [])


def test_the_audit_log_keeps_what_moved(cast: Cast, make: Callable[..., CostTag]) -> None:
    ClosedMonth.objects.create(account=cast.account, month=date(2026, 1, 1))
    save(cast, make("kind", PROD), STORAGE)

    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.target, entry.actor_label) == ("cost_tag.change", "kind", cast.member.email)
    assert entry.detail["effect"][0] == {
        "month": "2026-01",
        "closed": True,
        "changed": "1.000000",
        "of": "1.000000",
        "currency": "USD",
    }
    assert {"month": "2026-02", "value": "Storage", "before": "0.000000", "after": "4.000000", "moved": "4.000000", "currency": "EUR"} in entry.detail["moved"]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected_message"),
    [
        (rule_on("servise", "S3"), "Rule 1: dimension: 'servise' does not exist. Nearest: service"),
        (rule_on("cost_tag:nothing", "x"), "Rule 1: cost_tag: 'nothing' does not exist"),
        (rule_on("cost_tag:Kind", "x"), "Circular reference in cost tag 'kind': kind → kind"),
    ],
    ids=["dimension", "cost tag", "itself"],
)
def test_rules_that_the_account_cannot_have_are_refused(
    cast: Cast, make: Callable[..., CostTag], rule: dict[str, Any], expected_message: str
) -> None:
    tag = make("kind")

    with pytest.raises(RuleError) as error:
        save(cast, tag, rule)

    assert expected_message in error.value.message
    assert CostTag.objects.get().version == 1


def test_cost_tags_on_cost_tags_end_where_a_question_would_not(make: Callable[..., CostTag]) -> None:
    make("inner", *[rule_on("service", str(number)) for number in range(200)])
    make("middle", *[rule_on("cost_tag:inner", str(number)) for number in range(40)])

    with pytest.raises(RuleError, match="16,082 conditions including used cost tags; the maximum is 10,000"):
        make("outer", rule_on("cost_tag:middle", "a"), rule_on("cost_tag:middle", "b"))


def test_a_circle_is_refused_by_the_names_in_it(cast: Cast, make: Callable[..., CostTag]) -> None:
    first = make("first")
    make("second", rule_on("cost_tag:first", "a"))
    make("third", rule_on("cost_tag:second", "a"))

    with pytest.raises(
        RuleError, match="Circular reference in cost tag 'first': first → third → second → first"
    ):
        save(cast, first, rule_on("cost_tag:third", "a"))


def test_a_circle_through_the_product_key_or_the_team_key_is_refused(
    cast: Cast, payer: Account, make: Callable[..., CostTag]
) -> None:
    tag = make("kind", PROD)
    change_cost_view(
        account=payer, actor=cast.actor, basis="billed", charge_categories=[], product_key="cost_tag:kind"
    )
    TeamKey.objects.create(account=payer, dimension="cost_tag:kind")

    for dimension in ("product", "team"):
        with pytest.raises(RuleError, match="Circular reference in cost tag 'kind': kind → kind"):
            save(cast, tag, rule_on(dimension, "a"))


def test_a_product_key_that_asks_for_the_product_is_refused(
    cast: Cast, payer: Account, make: Callable[..., CostTag]
) -> None:
    make("kind", rule_on("product", "a"))

    for key, message in (
        ("cost_tag:kind", "Circular reference in cost tag 'kind': kind → kind"),
        ("cost_tag:knd", "Nearest: 'kind'"),
    ):
        with pytest.raises(UserError, match=message):
            change_cost_view(
                account=payer, actor=cast.actor, basis="billed", charge_categories=[], product_key=key
            )


def test_the_product_and_the_customer_key_can_be_a_cost_tag(
    cast: Cast, payer: Account, make: Callable[..., CostTag]
) -> None:
    make("kind", STORAGE)
    change_cost_view(
        account=payer, actor=cast.actor, basis="billed", charge_categories=[], product_key="cost_tag:Kind"
    )
    set_customer_key(account=payer, actor=cast.actor, dimension="cost_tag:KIND")

    answer = query_spend(payer, SpendQuery(period="month_to_date", group_by=["product"]))
    assert {row.group["product"]: row.amount for row in answer.rows} == {"Storage": 16, "(untagged)": 8}
    assert CustomerKey.objects.get().dimension == "cost_tag:kind"


def test_a_cost_tag_in_use_is_kept_and_what_uses_it_named(
    cast: Cast, payer: Account, make: Callable[..., CostTag]
) -> None:
    tag = make("kind", PROD)
    make("outer", rule_on("cost_tag:kind", "Production"))
    TeamKey.objects.create(account=payer, dimension="cost_tag:kind")
    CustomerKey.objects.create(account=payer, dimension="cost_tag:kind")
    UnitMetric.objects.create(
        account=payer,
        name="Per order",
        usage_metric="orders",
        filters=[{"dimension": "cost_tag:kind", "values": ["x"]}],
    )
    SharedCostSplit.objects.create(
        account=payer, name="Shared", dimension="cost_tag:kind", source_value="x", method="even"
    )
    Budget.objects.create(
        account=payer,
        name="Live",
        amount=1,
        currency="USD",
        scope="cost_tag",
        cost_tag=tag,
        cost_tag_value="x",
    )
    change_cost_view(
        account=payer, actor=cast.actor, basis="billed", charge_categories=[], product_key="cost_tag:kind"
    )

    with pytest.raises(UserError) as error:
        delete_cost_tag(cost_tag=tag, actor=cast.actor)

    for use in (
        "cost tag outer",
        "the team key",
        "the customer key",
        "unit metric Per order",
        "split Shared",
        "budget Live",
        "the product key",
    ):
        assert use in error.value.message
    assert CostTag.objects.filter(pk=tag.pk).exists()


def test_a_cost_tag_that_nothing_uses_goes(cast: Cast, make: Callable[..., CostTag]) -> None:
    delete_cost_tag(cost_tag=make("kind", PROD), actor=cast.actor)

    assert not CostTag.objects.exists()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.target, entry.detail["rules"][0]["value"]) == (
        "cost_tag.delete",
        "kind",
        "Production",
    )


def test_a_key_is_taken_once_whatever_its_case(make: Callable[..., CostTag]) -> None:
    make("kind")

    with pytest.raises(ValidationError, match="A cost tag with this key already exists"):
        make("KIND")


def test_a_stored_cost_tag_comes_back_from_its_file(make: Callable[..., CostTag]) -> None:
    tag = make("kind", PROD, {"copy": {"keys": ["env"]}, "valid_from": "2026-01-01"}, default="Rest")

    assert cost_tag_from_yaml(cost_tag_to_yaml(tag)) == draft_of(tag)


def test_another_account_has_cost_tags_of_its_own(
    cast: Cast, payer: Account, make: Callable[..., CostTag]
) -> None:
    make("kind", PROD)
    with account_scope(cast.other_account):
        add_source(cast.other_account, [cost(date(2026, 3, 5), 5, tags={"env": "prod"})])
        with pytest.raises(
            UserError,
            match=r"does not exist\. The account has no cost tags; create them on the Cost tags page",
        ):
            query_spend(cast.other_account, SpendQuery(group_by=["cost_tag:kind"]))
        create_cost_tag(
            account=cast.other_account,
            actor=cast.other_actor,
            key="kind",
            rules=read_rules([{**PROD, "value": "Theirs"}]),
        )
        answer = query_spend(
            cast.other_account, SpendQuery(period="month_to_date", group_by=["cost_tag:kind"])
        )

    assert {row.group["cost_tag:kind"]: row.amount for row in answer.rows} == {"Theirs": 5}


def test_the_explorer_offers_cost_tags(cast: Cast, payer: Account, make: Callable[..., CostTag]) -> None:
    make("kind", PROD)

    page = signed_in(cast.viewer).get(f"/a/{payer.slug}/cost-explorer/", {"group_by": "cost_tag:kind"})

    assert 'value="cost_tag:kind"' in page.content.decode()
    assert "kind (cost tag)" in page.content.decode()
