"""Which anomalies are one incident: pure."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

from finops.insights.anomalies.reconciliation import IncidentRole, View, incidents

DAY = date(2026, 3, 10)


def a_view(number: int, dimension: str, value: str, impact: int, **given: Any) -> View:
    causes = {
        name: {each: Decimal(amount) for each, amount in by_value.items()}
        for name, by_value in given.pop("causes", {}).items()
    }
    days = {"source_id": 1, "currency": "USD", "first": DAY, "last": DAY + timedelta(days=2), **given}
    return View(
        id=number,
        dimension=dimension,
        value=value,
        is_service=dimension == "service",
        impact=Decimal(impact),
        causes=causes,
        **days,
    )


SERVICE = a_view(1, "service", "Compute", 100, causes={"resource": {"vm-1": 90, "vm-2": 10}})
OTHER = a_view(2, "service", "Storage", 300)
TEAM = a_view(3, "team", "Search", 400, causes={"service": {"Storage": 300, "Compute": 95}})
TAG = a_view(4, "tag:env", "prod", 90, causes={"service": {"Compute": 90}, "resource": {"vm-1": 90}})


def test_what_a_service_explains_is_a_view_of_the_one_that_holds_most_of_it() -> None:
    for order in permutations([SERVICE, OTHER, TEAM, TAG]):
        assert incidents(order) == {
            1: IncidentRole(),
            2: IncidentRole(),
            3: IncidentRole(2, Decimal(395)),
            4: IncidentRole(1, Decimal(90)),
        }


def test_a_team_that_a_service_explains_a_little_of_is_its_own_and_says_how_much_is_shared() -> None:
    roles = incidents([SERVICE, TEAM])

    assert roles[3] == IncidentRole(None, Decimal(95))


def test_two_dimensions_without_a_service_are_told_apart_by_their_finest_causes() -> None:
    team = a_view(3, "team", "Search", 100, causes={"service": {"Compute": 100}, "resource": {"vm-1": 100}})
    elsewhere = a_view(5, "tag:env", "dev", 80, causes={"service": {"Compute": 80}, "resource": {"vm-9": 80}})

    assert incidents([team, TAG])[4] == IncidentRole(3, Decimal(90))
    assert incidents([team, elsewhere])[5] == IncidentRole()


def test_another_source_currency_direction_or_time_is_another_incident() -> None:
    for variant in (
        {"source_id": 2},
        {"currency": "EUR"},
        {"first": DAY - timedelta(days=9), "last": DAY},
        {"first": DAY + timedelta(days=9), "last": DAY + timedelta(days=9)},
    ):
        other = a_view(4, "tag:env", "prod", 90, causes={"service": {"Compute": 90}}, **variant)
        assert incidents([SERVICE, other])[4] == IncidentRole(), variant
    less = a_view(4, "tag:env", "prod", -90, causes={"service": {"Compute": -90}})
    assert incidents([SERVICE, less])[4] == IncidentRole()
