"""The impact of deleting a budget, team, source or channel is shown before and stored in the audit log; a changed
budget is evaluated at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts.models import Account, AuditEntry
from finops.alerts import services, tasks
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.allocation.models import Team
from finops.budgets.models import Budget
from finops.budgets.services import change_budget
from finops.costs.dependants import deletion_impact_text, dependants
from finops.costs.models import CostSource
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import (
    create_channel,
    delivery_titles,
    subscribe_to_anomalies,
    subscribe_to_budget,
)
from tests.factories.budgets import budget_draft, create_budget, source_scope
from tests.factories.costs import add_source, cost

YESTERDAY = date(2026, 3, 19)
BUDGET_WORDS = [f"Budget Cloud at {each}% of the actual cost, to Ops" for each in (100, 80)]


def budget(account: Account) -> tuple[Model, list[str]]:
    row = create_budget(account, "Cloud")
    subscribe_to_budget(account, "Cloud", 80)
    subscribe_to_budget(account, "Cloud", 100)
    return row, BUDGET_WORDS


def team(account: Account) -> tuple[Model, list[str]]:
    row = Team.objects.create(account=account, name="Core")
    subscribe_to_anomalies(account, scope="team", team="Core")
    return row, ["Anomalies of team Core, to Ops"]


def source(account: Account) -> tuple[Model, list[str]]:
    row = add_source(account, [cost(YESTERDAY, 5)], name="AWS")
    subscribe_to_anomalies(account, scope="cost_source", cost_source="AWS")
    return row, ["Anomalies of cost source AWS, to Ops"]


def ops(account: Account) -> tuple[Model, list[str]]:
    _row, words = budget(account)
    create_channel(account, "Chat")
    subscribe_to_anomalies(account, channel="Chat")
    return AlertChannel.objects.get(name="Ops"), words


PAGES: dict[Callable[[Account], tuple[Model, list[str]]], tuple[str, str]] = {
    budget: ("/a/acme/budgets/{}/", "/a/acme/budgets/{}/delete/"),
    team: ("/a/acme/teams/{}/edit/", "/a/acme/teams/{}/delete/"),
    source: ("/a/acme/connections/{}/", "/a/acme/connections/{}/delete/"),
    ops: ("/a/acme/alerts/channels/{}/", "/a/acme/alerts/channels/{}/delete/"),
}


@pytest.mark.parametrize("create_row", PAGES, ids=lambda create_row: create_row.__name__)
def test_a_deletion_lists_its_subscriptions_on_the_page_and_in_the_audit_log(
    acme: Account, cast: Cast, create_row: Callable[[Account], tuple[Model, list[str]]]
) -> None:
    (row, words), member = create_row(acme), signed_in(cast.member)
    page, delete = (each.format(row.pk) for each in PAGES[create_row])
    count = "1 alert subscription" if len(words) == 1 else f"{len(words)} alert subscriptions"

    assert escape(f"Also deletes {count}: ") in member.get(page).content.decode()
    assert all(escape(each) in member.get(page).content.decode() for each in words)
    member.post(delete)

    entry = AuditEntry.objects.filter(action__endswith=".delete").get()
    assert entry.detail["alert_subscriptions"] == words
    assert AlertSubscription.objects.count() == (1 if create_row is ops else 0)


def test_without_deleted_rows_no_impact_is_shown(acme: Account, cast: Cast) -> None:
    row = create_budget(acme, "Cloud")

    assert deletion_impact_text(row) == ""
    assert "Also deletes" not in signed_in(cast.member).get(f"/a/acme/budgets/{row.pk}/").content.decode()


def test_a_deletion_impact_names_some_of_many_with_one_query(acme: Account) -> None:
    row = create_budget(acme, "Cloud")
    for percent in range(1, 9):
        subscribe_to_budget(acme, "Cloud", percent)

    with CaptureQueriesContext(connection) as queries:
        text = deletion_impact_text(row)

    assert text.startswith("Also deletes 8 alert subscriptions: “Budget Cloud at 8%")
    assert text.endswith("to Ops” and 5 more.")
    assert len(queries) == 1
    with pytest.raises(ValueError, match="registered twice"):
        dependants.register("alert subscription")(lambda _row: [])


def test_a_viewers_page_asks_nothing_of_it(acme: Account, cast: Cast) -> None:
    row, _words = budget(acme)

    page = signed_in(cast.viewer).get(f"/a/acme/budgets/{row.pk}/").content.decode()

    assert "Also deletes" not in page


def test_a_source_that_a_budget_is_of_is_not_deleted_and_that_is_said(acme: Account, cast: Cast) -> None:
    row, _words = source(acme)
    create_budget(acme, "Cloud", scope=source_scope("AWS"))

    answer = signed_in(cast.member).post(f"/a/acme/connections/{row.pk}/delete/", follow=True)

    assert answer.redirect_chain == [(f"/a/acme/connections/{row.pk}/", 302)]
    text = "Source 'AWS' is used by the budget 'Cloud': change or delete it first."
    assert escape(text) in answer.content.decode()
    assert CostSource.objects.filter(pk=row.pk).exists()
    assert not AuditEntry.objects.filter(action="cost_source.delete").exists()


# A changed budget


@pytest.fixture
def budget_below_threshold(acme: Account) -> Budget:
    """A budget that is at 40 %, with a subscription at 80 %, evaluated."""
    add_source(acme, [cost(YESTERDAY, 40)])
    row = create_budget(acme, "Cloud", 100)
    subscribe_to_budget(acme, "Cloud", 80)
    tasks.evaluate(acme.pk)
    assert acme.pk not in services.due_accounts()
    return row


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 50},
        {"amounts": {date(2026, 3, 1): Decimal(50)}},
        {"amount": 45, "scope": source_scope("Bill")},
    ],
    ids=["amount", "amount of the period", "scope"],
)
def test_a_changed_budget_is_evaluated_at_once(
    acme: Account,
    budget_below_threshold: Budget,
    task_arguments: list[list[int]],
    change: dict[str, Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    assert delivery_titles(acme) == []
    other_changes = {key: value for key, value in change.items() if key != "amount"}

    with django_capture_on_commit_callbacks(execute=True):
        change_budget(
            budget=budget_below_threshold,
            actor=ACTOR,
            draft=budget_draft("Cloud", change.get("amount", 100), **other_changes),
        )

    assert task_arguments == [[acme.pk]]
    tasks.evaluate(acme.pk)
    (title,) = delivery_titles(acme)
    assert title.startswith("budget 'Cloud' is at ")


def test_renaming_a_budget_or_changing_one_without_subscriptions_starts_no_evaluation(
    acme: Account,
    budget_below_threshold: Budget,
    task_arguments: list[list[int]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    other = create_budget(acme, "Other", 100)

    with django_capture_on_commit_callbacks(execute=True):
        change_budget(budget=budget_below_threshold, actor=ACTOR, draft=budget_draft("Clouds", 100))
        change_budget(budget=other, actor=ACTOR, draft=budget_draft("Other", 5))

    assert task_arguments == []
    assert acme.pk not in services.due_accounts()
