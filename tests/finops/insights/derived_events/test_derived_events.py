"""Derived change events: their days and sums against the raw lines, what is noise, and that a second run changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.rules.document import Rule, Test
from finops.allocation.services.cost_tags import create_cost_tag, save_cost_tag
from finops.budgets.services import change_budget, delete_budget
from finops.change_events.models import ChangeEvent, EventMonth
from finops.insights.derived_events import events as rules
from finops.insights.derived_events.lake import CommitmentDays
from finops.insights.derived_events.services import derive_if_due, due_accounts
from finops.insights.models import DerivedEventRun
from finops.lib import clock
from finops.lib.periods import DateRange
from tests.cast import ACTOR
from tests.factories.budgets import budget_draft, create_budget
from tests.factories.costs import Line, add_source, add_up, cost, store_lines
from tests.factories.days import at

TODAY = date(2026, 3, 20)
FIRST = date(2025, 11, 1)


@pytest.fixture(autouse=True)
def today() -> Iterable[None]:
    with at(TODAY):
        yield


def days(first: date, last: date = TODAY - timedelta(days=1)) -> list[date]:
    return [first + timedelta(days=index) for index in range((last - first).days + 1)]


def steady(first: date = FIRST) -> list[Line]:
    """100 USD a day of Compute in one region."""
    return [cost(day, 100, service="Compute", region="eu-west-1") for day in days(first)]


def derive(account: Account) -> dict[str, ChangeEvent]:
    """The derived events by title."""
    derive_if_due(account)
    with account_scope(account):
        return {event.title: event for event in ChangeEvent.objects.filter(origin="derived")}


def test_a_new_service_has_its_first_day_and_the_sum_of_its_first_30(acme: Account) -> None:
    first_day = date(2026, 1, 10)
    lines = [*steady(), *(cost(day, "7.25", service="Search", region="eu-west-1") for day in days(first_day))]
    add_source(acme, lines)

    (event,) = derive(acme).values()

    own = [each for each in lines if each["service"] == "Search"]
    first = min(each["charge_date"] for each in own)
    until = first + timedelta(days=30)
    whole = add_up(
        [each for each in own if each["charge_date"] < until], lambda _one: "", column="effective_cost"
    )[""]
    assert (event.occurred_at.date(), whole) == (first, Decimal("217.50"))
    assert event.title == f"New service: Search, {whole} USD in the first 30 days"
    assert (event.kind, event.origin, event.scope) == (
        "change",
        "derived",
        {"service": ["Search"], "source": ["Bill"]},
    )
    assert "/a/acme/cost-explorer/?" in event.url
    assert "f0v=Search" in event.url
    with account_scope(acme):
        assert not EventMonth.objects.exists()


def test_a_new_region_is_one_and_what_began_with_the_source_is_none(acme: Account) -> None:
    lines = [
        *steady(),
        *(cost(day, 9, service="Compute", region="us-east-1") for day in days(date(2026, 3, 17))),
    ]
    add_source(acme, lines)
    add_source(
        acme,
        [cost(day, 50, service="Queries", region="asia") for day in days(date(2026, 2, 1))],
        name="New bill",
    )

    assert list(derive(acme)) == ["New region: us-east-1, 27.00 USD in the first 3 days"]


@pytest.mark.parametrize(
    ("amount", "is_noise"),
    [("0.01", True), ("0.09", True), ("0.12", False)],
    ids=["under one unit", "under 0.1% of the account", "enough"],
)
def test_a_service_of_a_few_cents_is_noise(acme: Account, amount: str, is_noise: bool) -> None:
    """30 days of the account are 3,000 USD and more, of which 0.1% is 3."""
    lines = [
        *steady(),
        *(cost(day, amount, service="Mail", region="eu-west-1") for day in days(date(2026, 1, 10))),
    ]
    add_source(acme, lines)

    assert (derive(acme) == {}) == is_noise


def test_a_commitment_begins_and_ends_on_its_first_and_last_line(acme: Account) -> None:
    def commitment_lines(name: str, first: date, last: date) -> list[Line]:
        return [
            cost(
                day,
                20,
                service="Compute",
                region="eu-west-1",
                commitment_id=name,
                commitment_name=f"{name} 1yr",
                commitment_status="Used",
            )
            for day in days(first, last)
        ]

    until = TODAY - timedelta(days=1)
    lines = [
        *steady(),
        *commitment_lines("sp-before", FIRST, until),
        *commitment_lines("sp-old", FIRST, date(2026, 1, 31)),
        *commitment_lines("sp-new", date(2026, 2, 1), until),
        *commitment_lines("sp-late", date(2026, 2, 1), until - timedelta(days=2)),
    ]
    add_source(acme, lines)

    events = {title: (event.kind, event.occurred_at.date()) for title, event in derive(acme).items()}

    assert events == {
        "Commitment ends: sp-old 1yr": ("change", date(2026, 1, 31)),
        "Commitment begins: sp-new 1yr": ("purchase", date(2026, 2, 1)),
        "Commitment begins: sp-late 1yr": ("purchase", date(2026, 2, 1)),
    }


def test_a_list_price_that_follows_another_is_a_change_and_tiers_are_none(acme: Account) -> None:
    moved = date(2026, 2, 1)

    def usage_lines(sku: str, price: str, some: list[date]) -> list[Line]:
        return [
            cost(
                day,
                10,
                service="Compute",
                region="eu-west-1",
                sku_id=sku,
                pricing_category="Standard",
                list_unit_price=Decimal(price),
                pricing_unit="Hours",
            )
            for day in some
        ]

    lines = [
        *steady(),
        *usage_lines("VM-4", "0.10", days(FIRST, moved - timedelta(days=1))),
        *usage_lines("VM-4", "0.12", days(moved)),
        *usage_lines("TRAFFIC", "0.09", days(FIRST)),
        *usage_lines("TRAFFIC", "0.05", days(moved)),
    ]
    add_source(acme, lines)

    ((title, event),) = derive(acme).items()

    assert title == "Price +20.0%: Compute VM-4, 0.1 → 0.12 USD per Hours"
    assert event.occurred_at.date() == moved
    assert event.scope == {"sku": ["VM-4"], "service": ["Compute"], "source": ["Bill"]}


def test_a_changed_budget_and_cost_tag_are_events_once_a_day(acme: Account) -> None:
    add_source(acme, steady())
    budget = create_budget(acme, "Production", 500)
    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("Production", 600))
    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("Production", 600, warning_percent=50))
    rule = Rule(value="prod", when=Test(dimension="service", op="in", values=("Compute",)))
    with account_scope(acme):
        tag = create_cost_tag(
            account=acme, actor=ACTOR, key="env", rules=[], default_value="", description=""
        )
        save_cost_tag(cost_tag=tag, actor=ACTOR, version=1, rules=[rule], default_value="", description="")

    events = derive(acme)

    assert set(events) == {
        "Budget 'Production' changed: 500.00 USD → 600.00 USD",
        "Rules of cost tag 'env' changed",
    }
    tag_event = events["Rules of cost tag 'env' changed"]
    assert (tag_event.scope, tag_event.actor) == ({"cost_tag:env": ["prod"]}, ACTOR.label)
    assert tag_event.url.endswith(f"/a/acme/cost-tags/{tag.pk}/")

    delete_budget(budget=budget, actor=ACTOR)
    assert "Budget 'Production' deleted" in derive(acme)


def test_a_second_run_changes_nothing_and_what_is_no_longer_so_goes(acme: Account) -> None:
    lines = [
        *steady(),
        *(cost(day, 7, service="Search", region="eu-west-1") for day in days(date(2026, 1, 10))),
    ]
    source = add_source(acme, lines)
    assert due_accounts() == [acme.pk]
    first = {title: event.pk for title, event in derive(acme).items()}
    assert due_accounts() == []

    with account_scope(acme):
        DerivedEventRun.objects.update(data_version="")
    assert {title: event.pk for title, event in derive(acme).items()} == first

    note = ChangeEvent(account=acme, origin="note", kind="note", title="Stays", occurred_at=clock.now())
    with account_scope(acme):
        note.save()
        store_lines(acme, source, steady())
    assert due_accounts() == [acme.pk]
    assert derive(acme) == {}
    with account_scope(acme):
        assert ChangeEvent.objects.get().title == "Stays"


def test_a_month_has_the_largest_of_a_kind_alone(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_A_MONTH", 2)
    lines = steady()
    for place, name in enumerate(("a", "b", "c"), start=1):
        lines += [
            cost(day, place, service=f"Service {name}", region="eu-west-1") for day in days(date(2026, 2, 3))
        ]
    add_source(acme, lines)

    assert sorted(event.scope["service"][0] for event in derive(acme).values()) == ["Service b", "Service c"]


def test_an_event_of_a_longer_past_stays_until_its_retention(acme: Account) -> None:
    add_source(acme, steady())
    with account_scope(acme):
        ChangeEvent.objects.create(
            account=acme,
            origin="derived",
            kind="change",
            title="New service of 2024",
            external_id="derived/old",
            occurred_at=datetime(2024, 12, 31, tzinfo=UTC),
        )

    assert list(derive(acme)) == ["New service of 2024"]


@pytest.mark.parametrize("currencies", [("EUR", "USD"), ("USD", "EUR")])
def test_a_commitment_of_two_currencies_has_its_newest_name_and_its_largest_cost(
    currencies: tuple[str, str],
) -> None:
    """Whatever order the engine returns their rows in."""
    sums = {
        "EUR": CommitmentDays(1, "sp-1", "New", "EUR", TODAY, TODAY, Decimal(5)),
        "USD": CommitmentDays(1, "sp-1", "Old", "USD", FIRST, FIRST, Decimal(90)),
    }
    source = rules.SourcePeriod("Bill", date(2025, 1, 1), TODAY)

    (event,) = rules.commitment_events(
        [sums[currency] for currency in currencies], {1: source}, DateRange(date(2025, 1, 1), TODAY)
    )

    assert (event.title, event.weight) == ("Commitment begins: New", Decimal(90))
