"""Which anomalies are one incident: pure."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.insights.anomalies.grouping import IncidentGroup, View, incident_groups
from tests.examples import examples

DAY = date(2026, 3, 10)


def a_view(number: int, dimension: str, value: str, impact: int, **given: Any) -> View:
    amounts: dict[str, Any] = {
        field: {
            name: {each: Decimal(amount) for each, amount in by_value.items()}
            for name, by_value in given.pop(field, {}).items()
        }
        for field in ("causes", "overlaps")
    }
    days = {"source_id": 1, "currency": "USD", "first": DAY, "last": DAY + timedelta(days=2), **given}
    return View(
        id=number,
        dimension=dimension,
        value=value,
        is_service=dimension == "service",
        impact=Decimal(impact),
        **amounts,
        **days,
    )


SERVICE = a_view(1, "service", "Compute", 100, causes={"resource": {"vm-1": 90, "vm-2": 10}})
OTHER = a_view(2, "service", "Storage", 300)
TEAM = a_view(3, "team", "Search", 400, causes={"service": {"Storage": 300, "Compute": 95}})
TAG = a_view(4, "tag:env", "prod", 90, causes={"service": {"Compute": 90}, "resource": {"vm-1": 90}})


def test_a_view_joins_the_service_that_holds_most_of_it_and_the_services_are_counted() -> None:
    for order in permutations([SERVICE, OTHER, TEAM, TAG]):
        assert incident_groups(order) == [
            IncidentGroup(2, (2, 3), counted=(2,)),
            IncidentGroup(1, (1, 4), counted=(1,)),
        ]


def test_a_team_that_a_service_explains_a_little_of_is_its_own_and_says_how_much_is_shared() -> None:
    assert incident_groups([SERVICE, TEAM])[1] == IncidentGroup(3, (3,), counted=(3,), shared=Decimal(95))


def test_a_team_with_much_more_than_its_service_is_the_headline_and_all_of_it_counts_once() -> None:
    team = a_view(3, "team", "Search", 400, causes={"service": {"Storage": 210, "Mail": 190}})
    storage = a_view(2, "service", "Storage", 210)

    assert incident_groups([storage, team]) == [IncidentGroup(3, (2, 3), counted=(3,))]


def test_a_broad_dimension_is_the_headline_only_where_no_other_has_as_much() -> None:
    account = a_view(4, "account", "prod", 420, overlaps={"team": {"Search": 400}})
    team = a_view(3, "team", "Search", 400, overlaps={"account": {"prod": 400}})

    (group,) = incident_groups([account, team])

    assert (group.headline, set(group.members), group.counted) == (3, {3, 4}, (3,))


def test_two_services_of_one_resource_are_one_and_both_are_counted() -> None:
    causes = {"resource": {"bucket-a": 95}}
    storage = a_view(1, "service", "S3", 100, causes=causes)
    transfer = a_view(2, "service", "Data Transfer", 100, causes=causes)
    elsewhere = a_view(3, "service", "Compute", 100, causes={"resource": {"vm-1": 95}})
    nameless = [
        a_view(number, "service", f"S{number}", 100, causes={"resource": {"(no resource)": 100}})
        for number in (4, 5)
    ]

    groups = incident_groups([storage, transfer, elsewhere, *nameless])

    assert {group.counted for group in groups} == {(1, 2), (3,), (4,), (5,)}


def test_two_services_of_one_account_at_the_same_time_stay_two() -> None:
    """The account shows both; it is a view of one of them, and no money of it is left over."""
    compute = a_view(1, "service", "Compute", 300, overlaps={"account": {"prod": 300}})
    storage = a_view(2, "service", "Storage", 200, overlaps={"account": {"prod": 200}})
    account = a_view(3, "account", "prod", 500, overlaps={"service": {"Compute": 300, "Storage": 200}})

    assert incident_groups([compute, storage, account]) == [
        IncidentGroup(1, (1, 3), counted=(1,)),
        IncidentGroup(2, (2,), counted=(2,)),
    ]


def test_a_measured_cause_precedes_suggested_ones() -> None:
    """Team and tag both cost 90 more in the same service, in different lines of it."""
    team = a_view(
        1, "team", "Search", 90, causes={"service": {"Compute": 90}}, overlaps={"tag:env": {"dev": 90}}
    )
    tag = a_view(
        2, "tag:env", "prod", 90, causes={"service": {"Compute": 90}}, overlaps={"team": {"Ads": 90}}
    )

    assert len(incident_groups([team, tag])) == 2


def test_two_dimensions_without_a_service_are_distinguished_by_their_finest_causes() -> None:
    team = a_view(3, "team", "Search", 100, causes={"service": {"Compute": 100}, "resource": {"vm-1": 100}})
    elsewhere = a_view(5, "tag:env", "dev", 80, causes={"service": {"Compute": 80}, "resource": {"vm-9": 80}})

    assert incident_groups([team, TAG]) == [IncidentGroup(3, (3, 4), counted=(3,))]
    assert len(incident_groups([team, elsewhere])) == 2


def test_another_source_currency_direction_or_time_is_another_incident() -> None:
    for variant in (
        {"source_id": 2},
        {"currency": "EUR"},
        {"first": DAY - timedelta(days=9), "last": DAY},
        {"first": DAY + timedelta(days=9), "last": DAY + timedelta(days=9)},
    ):
        other = a_view(4, "tag:env", "prod", 90, causes={"service": {"Compute": 90}}, **variant)
        assert len(incident_groups([SERVICE, other])) == 2, variant
    less = a_view(4, "tag:env", "prod", -90, causes={"service": {"Compute": -90}})
    assert len(incident_groups([SERVICE, less])) == 2


LINES = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from("xyz"), st.sampled_from("mn"), st.integers(1, 1_000)),
    min_size=1,
    max_size=12,
)
NAMES = ("service", "team", "tag:env")


def views_of(lines: list[tuple[str, str, str, int]]) -> list[View]:
    """The excess of these lines by each dimension, with overlaps as the lake has them."""
    views: list[View] = []
    for place, name in enumerate(NAMES):
        for value in sorted({line[place] for line in lines}):
            own = [line for line in lines if line[place] == value]
            overlaps = {
                other: {
                    each: sum(line[3] for line in own if line[at] == each)
                    for each in {line[at] for line in own}
                }
                for at, other in enumerate(NAMES)
                if other != name
            }
            views.append(
                a_view(len(views), name, str(value), sum(line[3] for line in own), overlaps=overlaps)
            )
    return views


def counted_money(views: list[View]) -> Decimal:
    by_id = {view.id: view.impact for view in views}
    return sum(
        (sum(by_id[pk] for pk in group.counted) - group.shared for group in incident_groups(views)),
        Decimal(0),
    )


@settings(max_examples=examples(300), deadline=None)
@given(LINES, st.sets(st.integers(0, 7)), st.randoms(use_true_random=False))
def test_no_money_counts_twice_and_where_services_are_seen_all_of_it_counts(
    lines: list[tuple[str, str, str, int]], without: set[int], rng: Random
) -> None:
    views = views_of(lines)
    total = sum(line[3] for line in lines)
    assert counted_money(views) == total

    part = [view for view in views if view.id not in without]
    groups = incident_groups(part)
    assert sorted(pk for group in groups for pk in group.members) == sorted(view.id for view in part)
    assert all(group.shared >= 0 for group in groups)
    assert counted_money(part) <= total

    rng.shuffle(part)
    assert incident_groups(part) == groups
