"""Making, changing and deleting budgets: the checks, the cap, the audit log."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget, BudgetAmount
from finops.budgets.scopes import ScopeDraft
from finops.budgets.services import change_budget, delete_budget
from finops.costs.models import CostSource
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.budgets import budget_draft, cost_tag_scope, create_budget, source_scope, team_scope
from tests.waiting import is_blocking_others, threads, wait_until

MARCH = date(2026, 3, 1)


@pytest.mark.django_db
def test_a_budget_is_made_with_its_amounts_and_written_into_the_audit_log(acme: Account) -> None:
    budget = create_budget(acme, " Everything ", "250.50", currency="eur", amounts={MARCH: Decimal(300)})

    assert (budget.name, budget.amount, budget.currency) == ("Everything", Decimal("250.50"), "EUR")
    assert [(row.starts_on, row.amount) for row in budget.amounts.all()] == [(MARCH, Decimal(300))]
    entry = AuditEntry.objects.get(action="budget.create")
    assert (entry.target, entry.detail["amount"]) == ("Everything", "250.50 EUR")
    assert entry.detail["amounts"] == ["2026-03-01: 300 EUR"]


@pytest.mark.django_db
def test_a_name_that_is_taken_names_the_budget_that_has_it(acme: Account) -> None:
    first = create_budget(acme, "Production")

    with pytest.raises(UserError, match=f"'Production' already exists with id {first.pk}") as problem:
        create_budget(acme, "pRODUCTION")

    assert problem.value.field == "name"


@pytest.mark.django_db
def test_at_the_cap_a_retried_create_still_names_what_exists(acme: Account, settings: LazySettings) -> None:
    settings.BUDGETS_PER_ACCOUNT = 1
    create_budget(acme, "Production")

    with pytest.raises(UserError, match="already exists with id"):
        create_budget(acme, "Production")
    with pytest.raises(UserError, match="1 budgets; the maximum is 1"):
        create_budget(acme, "Another")


@pytest.mark.django_db
def test_the_limit_is_fifty_and_a_deleted_budget_frees_a_place(acme: Account) -> None:
    budgets = [create_budget(acme, f"Budget {number}") for number in range(50)]

    with pytest.raises(UserError, match="50 budgets; the maximum is 50"):
        create_budget(acme, "One more")
    delete_budget(budget=budgets[7], actor=ACTOR)
    create_budget(acme, "One more")

    assert Budget.objects.count() == 50


@pytest.mark.django_db
def test_another_accounts_budgets_do_not_count_and_their_names_are_free(acme: Account, cast: Cast) -> None:
    create_budget(cast.other_account, "Production")

    assert create_budget(acme, "Production").pk


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_creates_at_the_limit_succeeds(settings: LazySettings) -> None:
    """The second waits for the first, and counts what that one made."""
    settings.BUDGETS_PER_ACCOUNT = 3
    account = make_cast().account
    for number in range(2):
        create_budget(account, f"Budget {number}")

    with threads(1) as call:
        with transaction.atomic():
            create_budget(account, "First")
            second = call(create_budget, account, "Second")
            wait_until(is_blocking_others)
        with pytest.raises(UserError, match="3 budgets; the maximum is 3"):
            second.result()

    with account_scope(account):
        assert sorted(Budget.objects.values_list("name", flat=True)) == ["Budget 0", "Budget 1", "First"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_creates_succeed_up_to_the_limit(settings: LazySettings) -> None:
    settings.BUDGETS_PER_ACCOUNT = 5
    account = make_cast().account

    with threads(4) as call:
        calls = [call(create_budget, account, f"Budget {number}") for number in range(12)]
        problems = [each.exception() for each in calls]

    assert sum(problem is None for problem in problems) == 5
    assert all(isinstance(problem, UserError) for problem in problems if problem)


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_concurrent_creates_of_one_name_names_the_first() -> None:
    account = make_cast().account

    with threads(1) as call:
        with transaction.atomic():
            first = create_budget(account, "Same")
            second = call(create_budget, account, "Same")
            wait_until(is_blocking_others)
        with pytest.raises(UserError, match=f"already exists with id {first.pk}"):
            second.result()
    connection.close()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("scope", "field", "message"),
    [
        (ScopeDraft(scope="planet"), "scope", "Valid: account, cost_source, team, cost_tag"),
        (ScopeDraft(scope="team"), "team", "Use listTeams"),
        (ScopeDraft(scope="cost_tag", cost_tag="env"), "cost_tag_value", "cost_tag_value is missing"),
        (ScopeDraft(scope="account", team="Core"), "team", "is not allowed with scope account"),
        (source_scope("Bilss"), "cost_source", "Nearest: 'Bills'"),
        (team_scope("Cor"), "team", "Nearest: 'Core'"),
        (cost_tag_scope("enf", "prod"), "cost_tag", "Nearest: 'env'"),
        (source_scope(999_999), "cost_source", "'999999' does not exist"),
    ],
    ids=str,
)
def test_a_scope_that_is_not_there_is_refused_with_what_is(
    acme: Account, scope: ScopeDraft, field: str, message: str
) -> None:
    CostSource.objects.create(name="Bills")
    Team.objects.create(name="Core")
    CostTag.objects.create(key="env")

    with pytest.raises(UserError, match=message) as problem:
        create_budget(acme, scope=scope)

    assert problem.value.field == field


@pytest.mark.django_db
@pytest.mark.parametrize("scope", ["cost_source", "team", "cost_tag"])
def test_a_row_of_another_account_answers_as_one_that_does_not_exist(
    acme: Account, cast: Cast, scope: str
) -> None:
    with account_scope(cast.other_account):
        foreign_values = {
            "cost_source": CostSource.objects.create(name="Theirs"),
            "team": Team.objects.create(name="Theirs"),
            "cost_tag": CostTag.objects.create(key="Theirs"),
        }[scope].pk
    nowhere = foreign_values + 1_000_000
    value = {"cost_tag_value": "x"} if scope == "cost_tag" else {}

    messages = []
    for reference in (foreign_values, nowhere):
        with pytest.raises(UserError) as problem:
            create_budget(acme, scope=ScopeDraft(scope=scope, **{scope: reference}, **value))
        messages.append(problem.value.message.replace(str(reference), "…"))

    assert messages[0] == messages[1]
    assert "Theirs" not in messages[0]


@pytest.mark.django_db
def test_a_scope_is_found_by_id_and_by_name_in_any_case(acme: Account) -> None:
    row = CostSource.objects.create(name="Bills")

    assert create_budget(acme, "By id", scope=source_scope(row.pk)).cost_source == row
    assert create_budget(acme, "By name", scope=source_scope("bILLS")).cost_source == row


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"currency": "USB"}, "currency"),
        ({"currency": "dollars"}, "currency"),
        ({"period": "weekly"}, "period"),
        ({"amounts": {date(2026, 3, 2): Decimal(5)}}, "amounts"),
        ({"period": "quarterly", "amounts": {MARCH: Decimal(5)}}, "amounts"),
    ],
    ids=str,
)
def test_an_invalid_budget_is_refused_by_its_field(
    acme: Account, change: dict[str, object], field: str
) -> None:
    with pytest.raises(UserError) as problem:
        create_budget(acme, **change)

    assert problem.value.field == field


@pytest.mark.django_db
@pytest.mark.parametrize("amount", ["0", "-1", "1.001", "NaN", "1e30"])
def test_an_amount_is_more_than_nothing_in_cents(acme: Account, amount: str) -> None:
    with pytest.raises(ValidationError):
        create_budget(acme, "Odd", amount)
    with pytest.raises(ValidationError):
        create_budget(acme, "Odd period", amounts={MARCH: Decimal(amount)})


@pytest.mark.django_db
@pytest.mark.parametrize("percent", [0, 101, -5])
def test_a_threshold_lies_within_the_amount(acme: Account, percent: int) -> None:
    with pytest.raises(ValidationError):
        create_budget(acme, warning_percent=percent)


@pytest.mark.django_db
def test_the_periods_of_a_fiscal_year_begin_at_its_month(acme: Account) -> None:
    acme.fiscal_start_month = 2
    acme.save()

    budget = create_budget(acme, period="quarterly", amounts={date(2026, 2, 1): Decimal(9)})
    create_budget(acme, "A year", period="yearly", amounts={date(2027, 2, 1): Decimal(9)})

    assert budget.amounts.get().starts_on == date(2026, 2, 1)
    with pytest.raises(UserError, match="The period begins on 2025-11-01"):
        create_budget(acme, "Calendar", period="quarterly", amounts={date(2026, 1, 1): Decimal(9)})


@pytest.mark.django_db
def test_a_change_replaces_everything_and_the_log_says_what_changed(acme: Account) -> None:
    budget = create_budget(acme, "Before", 100, amounts={MARCH: Decimal(5)})
    team = Team.objects.create(name="Core")

    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("After", 200, scope=team_scope(team.pk)))

    budget.refresh_from_db()
    assert (budget.name, budget.amount, budget.scope, budget.team) == ("After", Decimal(200), "team", team)
    assert not BudgetAmount.objects.exists()
    detail = AuditEntry.objects.get(action="budget.change").detail
    assert (detail["from"]["name"], detail["to"]["name"]) == ("Before", "After")


@pytest.mark.django_db
def test_a_budget_may_keep_its_name_and_not_take_anothers(acme: Account) -> None:
    budget, other = create_budget(acme, "Mine"), create_budget(acme, "Other")

    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("MINE"))
    with pytest.raises(UserError, match=f"with id {other.pk}"):
        change_budget(budget=budget, actor=ACTOR, draft=budget_draft("other"))


@pytest.mark.django_db
def test_a_deleted_budget_is_gone_once(acme: Account) -> None:
    budget = create_budget(acme, "Gone")
    again = Budget.objects.get(pk=budget.pk)

    delete_budget(budget=budget, actor=ACTOR)

    assert AuditEntry.objects.get(action="budget.delete").target == "Gone"
    for act in (
        lambda: delete_budget(budget=again, actor=ACTOR),
        lambda: change_budget(budget=again, actor=ACTOR, draft=budget_draft()),
    ):
        with pytest.raises(UserError, match="was already deleted"):
            act()
