"""Cost by team: with any teams, the parts add up to the whole in every currency, to the last digit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.allocation.queries.team_values import owned_values, unowned_values
from finops.allocation.queries.teams import teams_with_costs
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.allocation.team_dimension import NO_TEAM
from finops.costs.dictionary_encoding import fold_case
from finops.costs.models import CostSource
from finops.costs.queries import list_dimension_values, query_spend
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import Filter, SpendQuery
from tests.cast import Cast
from tests.examples import examples
from tests.factories.costs import Line, add_source, add_up, cost, store_lines

DAY, FEBRUARY = date(2026, 3, 5), date(2026, 2, 5)
VALUES = ["payments", "PAYMENTS", "Search", "İstanbul", "straße", " data ", "a'b\\c", "", None]
OWNABLE = [value for value in VALUES if value]

amounts = st.decimals(-1_000_000, 1_000_000, places=12, allow_nan=False)
lines = st.lists(
    st.builds(
        lambda value, amount, currency, category: cost(
            DAY,
            amount,
            tags={} if value is None else {"team": value},
            currency=currency,
            charge_category=category,
        ),
        st.sampled_from(VALUES),
        amounts,
        st.sampled_from(["USD", "EUR"]),
        st.sampled_from(["Usage", "Credit"]),
    ),
    max_size=20,
)
owners = st.dictionaries(st.sampled_from(OWNABLE), st.sampled_from(["Alpha", "Beta", "Gamma"]), max_size=6)


@pytest.fixture
def source(acme: Account) -> CostSource:
    TeamKey.objects.create(account=acme, dimension="tag:team")
    for name in ("Alpha", "Beta", "Gamma"):
        Team.objects.create(account=acme, name=name)
    # There is always a line with the tag, and one outside the asked days.
    return add_source(acme, [cost(date(2025, 12, 1), 1, tags={"team": "x"})])


def by_team(account: Account, **options: Any) -> dict[tuple[str, str], Decimal]:
    query = SpendQuery(period="month_to_date", group_by=["team"], **options)
    return {(row.group["team"], row.currency): row.amount for row in query_spend(account, query).rows}


def set_team_values(account: Account, owned: dict[str, str]) -> dict[str, str]:
    """Teams by folded value; of values that differ in case only, the first is kept, as the constraint has it."""
    TeamValue.objects.all().delete()
    teams = {team.name: team for team in Team.objects.all()}
    teams_by_value: dict[str, str] = {}
    for value, team in owned.items():
        if value.lower() not in teams_by_value:
            teams_by_value[value.lower()] = team
            TeamValue.objects.create(account=account, team=teams[team], value=value)
    return teams_by_value


@given(rows=lines, owned=owners)
@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_with_any_teams_the_parts_add_up_to_the_whole(
    acme: Account, source: CostSource, rows: list[Line], owned: dict[str, str]
) -> None:
    store_lines(acme, source, [*rows, cost(DAY, 0, tags={"team": "x"})])
    teams_by_value = set_team_values(acme, owned)

    parts = by_team(acme)

    def owner(line: Mapping[str, Any]) -> tuple[str, str]:
        return teams_by_value.get((line.get("tag:team") or "").lower(), NO_TEAM), line["currency"]

    expected = add_up([*rows, cost(DAY, 0)], owner)
    assert parts == expected
    whole = query_spend(acme, SpendQuery(period="month_to_date"))
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for (_team, currency), amount in parts.items():
        sums[currency] += amount
    assert {total.currency: total.amount for total in whole.totals} == dict(sums)
    filtered = [
        by_team(acme, filters=[Filter(dimension="team", values=[team])]) for team in ("alpha", NO_TEAM)
    ]
    assert all(
        each == {key: amount for key, amount in expected.items() if key[0].casefold() == team}
        for each, team in zip(filtered, ("alpha", NO_TEAM), strict=True)
    )


COPIES: list[dict[str, Any]] = [
    {"copy": {"keys": ["team", "app"], "normalise": ["trim", "lower"]}},
    {"copy": {"keys": ["app"], "map": {"data": "search", "x": "payments"}}},
    {"when": {"dimension": "service", "op": "contains", "values": ["3"]}, "copy": {"keys": ["team"]}},
    {"when": {"dimension": "tag:team", "op": "in", "values": ["payments", "data"]}, "value": "search"},
    {"copy": {"keys": ["team"]}, "valid_from": "2026-03-05"},
    {"when": {"dimension": "service", "op": "in", "values": ["EC2"]}, "value": "Payments"},
]

tagged_lines = st.lists(
    st.builds(
        lambda team, app, amount, service: cost(
            DAY,
            amount,
            tags={key: value for key, value in (("team", team), ("app", app)) if value is not None},
            service=service,
        ),
        st.sampled_from(VALUES),
        st.sampled_from(VALUES),
        amounts,
        st.sampled_from(["S3", "EC2"]),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(
    rows=tagged_lines,
    owned=owners,
    rules=st.lists(st.sampled_from(COPIES), max_size=4),
    default=st.sampled_from(["", "data"]),
)
@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_filter_by_team_takes_what_grouping_gives_and_a_team_what_the_cost_tag_gives(
    acme: Account,
    source: CostSource,
    rows: list[Line],
    owned: dict[str, str],
    rules: list[dict[str, Any]],
    default: str,
) -> None:
    store_lines(acme, source, [*rows, cost(DAY, 0, tags={"team": "x", "app": "x"})])
    CostTag.objects.all().delete()
    CostTag.objects.create(account=acme, key="kind", rules=rules, default_value=default)
    TeamKey.objects.update(dimension="cost_tag:kind")
    set_team_values(acme, owned)
    teams_by_value = {fold_case(value): team for value, team in reversed(owned.items())}

    parts = by_team(acme)

    query = SpendQuery(period="month_to_date", group_by=["cost_tag:kind"], limit=100)
    expected: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in query_spend(acme, query).rows:
        expected[teams_by_value.get(fold_case(row.group["cost_tag:kind"]), NO_TEAM), row.currency] += (
            row.amount
        )
    assert parts == expected
    for team in ("Alpha", NO_TEAM):
        team_rows = by_team(acme, filters=[Filter(dimension="team", values=[team])])
        assert team_rows == {key: amount for key, amount in expected.items() if key[0] == team}
        other_rows = by_team(acme, filters=[Filter(dimension="team", op="not_in", values=[team])])
        assert other_rows == {key: amount for key, amount in expected.items() if key[0] != team}


def test_without_a_team_key_all_cost_is_of_no_team_and_the_answer_says_why(acme: Account) -> None:
    add_source(acme, [cost(DAY, 5, tags={"team": "payments"})])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["team"]))

    assert [(row.group["team"], row.amount) for row in answer.rows] == [(NO_TEAM, Decimal(5))]
    assert any(
        ("No team key is set, so all cost is in (no team). Members set it on the Teams page.") in warning
        for warning in answer.warnings
    )


def test_teams_can_own_values_of_a_cost_tag(cast: Cast, acme: Account) -> None:
    add_source(acme, [cost(DAY, 5, service="S3"), cost(DAY, 7, service="EC2"), cost(DAY, 1)])
    rule = {"when": {"dimension": "service", "op": "in", "values": ["s3"]}, "value": "Storage"}
    CostTag.objects.create(account=acme, key="kind", rules=[rule])
    set_team_key(account=acme, actor=cast.actor, dimension="cost_tag:kind")
    own_value(
        team=create_team(account=acme, actor=cast.actor, name="Disks"), actor=cast.actor, value="STORAGE"
    )

    assert by_team(acme) == {("Disks", "USD"): Decimal(5), (NO_TEAM, "USD"): Decimal(8)}


def test_teams_are_values_to_search_and_to_filter_by(acme: Account, source: CostSource) -> None:
    store_lines(
        acme, source, [cost(DAY, 5, tags={"team": "payments"}), cost(DAY, 3, tags={"team": "search"})]
    )
    set_team_values(acme, {"payments": "Alpha", "search": "Beta"})

    values = list_dimension_values(acme, "Team", search="alp")

    assert [value.value for value in values.values] == ["Alpha"]
    misspelt = query_spend(acme, SpendQuery(filters=[Filter(dimension="team", values=["Alpa"])]))
    assert any("Nearest: 'Alpha'" in warning for warning in misspelt.warnings)


def test_the_list_has_this_month_the_last_and_the_share(acme: Account, source: CostSource) -> None:
    store_lines(
        acme,
        source,
        [
            cost(DAY, 30, tags={"team": "payments"}),
            cost(FEBRUARY, 20, tags={"team": "payments"}),
            cost(date(2026, 2, 27), 7, tags={"team": "payments"}),
            cost(DAY, 10, tags={"team": "nobody"}),
            cost(DAY, 8, currency="EUR", tags={"team": "payments"}),
            cost(date(2026, 3, 19), 0),
        ],
    )
    set_team_values(acme, {"payments": "Alpha"})
    sources = load_sources(acme)

    costs = teams_with_costs(acme, sources, date(2026, 3, 19))

    alpha = next(line for line in costs.lines if line.name == "Alpha")
    usd, eur = alpha.costs
    assert (usd.currency, usd.this_month, usd.last_month, usd.share) == (
        "USD",
        Decimal(30),
        Decimal(27),
        Decimal("0.75"),
    )
    assert usd.change is not None
    assert (usd.change.previous_amount, usd.change.change) == (Decimal(20), Decimal(10))
    assert (eur.currency, eur.this_month, eur.share) == ("EUR", Decimal(8), Decimal(1))
    assert [line.name for line in costs.lines] == ["Alpha", "Beta", "Gamma", NO_TEAM]
    assert costs.lines[1].costs == ()
    assert costs.lines[-1].costs[0].this_month == 10


def test_values_are_listed_by_cost_with_and_without_a_team(acme: Account, source: CostSource) -> None:
    store_lines(
        acme,
        source,
        [
            cost(DAY, 3, tags={"team": "payments"}),
            cost(DAY, 2, tags={"team": "PAYMENTS"}),
            cost(DAY, 50, tags={"team": "search-api"}),
            cost(DAY, 9, tags={"team": "search-ui"}),
            cost(DAY, 4, tags={"team": "rest"}),
            cost(DAY, 100),
        ],
    )
    set_team_values(acme, {"payments": "Alpha", "idle": "Alpha"})
    sources, team = load_sources(acme), Team.objects.get(name="Alpha")

    owned = owned_values(acme, team, "tag:team", sources, DAY)
    unowned = unowned_values(acme, "tag:team", sources, DAY, limit=3)
    searched = unowned_values(acme, "tag:team", sources, DAY, search="SEARCH")

    assert [(each.value, [m.amount for m in each.amounts]) for each in owned] == [
        ("payments", [Decimal(5)]),
        ("idle", []),
    ]
    assert [(each.value, each.can_be_owned) for each in unowned.values] == [
        ("(untagged)", False),
        ("search-api", True),
        ("search-ui", True),
    ]
    assert (unowned.more, [m.amount for m in unowned.more_amounts]) == (1, [Decimal(4)])
    assert [each.value for each in searched.values] == ["search-api", "search-ui"]
