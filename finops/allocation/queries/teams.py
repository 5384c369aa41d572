"""Reads about teams: members, owned values and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from msgspec.structs import replace

from accounts.models import Account
from finops.allocation.models import Team, TeamKey, TeamMember, TeamValue
from finops.allocation.team_dimension import NO_TEAM
from finops.allocation.team_schemas import TeamEntry, TeamsAnswer
from finops.costs.answers import Change, MoneyAmount, SpendAnswer, SpendRow
from finops.costs.coverage import Coverage
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import uncovered_words
from finops.costs.spend_query import SpendQuery, month_so_far
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.periods import DateRange, add_months, month_end
from finops.lib.sentences import join_with_and, money, quote, truncate

EVERY_TEAM = 10_000
TREND_MONTHS = 12


def team_key(account: Account) -> str:
    """Return the dimension whose values teams own, such as `tag:team`; empty when none is set. One query."""
    return TeamKey.objects.filter(account=account).values_list("dimension", flat=True).first() or ""


def team_names(account: Account) -> list[str]:
    """Every team by name. One query."""
    return list(Team.objects.filter(account=account).values_list("name", flat=True))


@dataclass(frozen=True)
class Person:
    """A member of a team."""

    member_id: int
    name: str
    email: str


@dataclass(frozen=True)
class TeamInfo:
    """A team as stored: its members and the values of the team key that it owns."""

    pk: int
    name: str
    description: str
    people: tuple[Person, ...]
    values: tuple[str, ...]


def team_infos(account: Account, teams: Iterable[Team] | None = None) -> list[TeamInfo]:
    """Return these teams, or all, by name. Three queries."""
    team_rows = list(Team.objects.filter(account=account)) if teams is None else list(teams)
    people: dict[int, list[Person]] = {team.pk: [] for team in team_rows}
    values: dict[int, list[str]] = {team.pk: [] for team in team_rows}
    members = TeamMember.objects.filter(team__in=people).order_by("membership__user__name", "pk")
    for pk, team, name, email in members.values_list(
        "pk", "team_id", "membership__user__name", "membership__user__email"
    ):
        people[team].append(Person(pk, name or email, email))
    owned = TeamValue.objects.filter(team__in=people)
    for team, value in owned.values_list("team_id", "value"):
        values[team].append(value)
    return [
        TeamInfo(team.pk, team.name, team.description, tuple(people[team.pk]), tuple(values[team.pk]))
        for team in team_rows
    ]


@dataclass(frozen=True)
class TeamCost:
    """A team's cost in one currency. `last_month` None: no data. `trend` has the twelve months before this one by
    their first day, oldest first."""

    currency: str
    this_month: Decimal
    share: Decimal | None
    change: Change | None
    last_month: Decimal | None
    trend: dict[str, Decimal | None] = field(default_factory=dict)


@dataclass(frozen=True)
class TeamLine:
    """A team and its costs, the currency with the largest cost first. `info` None: the cost without a team."""

    name: str
    info: TeamInfo | None
    costs: tuple[TeamCost, ...]


@dataclass(frozen=True)
class TeamCosts:
    """The cost of every team and the cost without a team, with this month's answer that the figures come from."""

    lines: list[TeamLine]
    answer: SpendAnswer
    currencies: list[str]


def teams_with_costs(account: Account, sources: Sources, newest: date) -> TeamCosts:
    """Return every team with its cost of this month and the twelve before. Two lake queries, three of PostgreSQL.

    In each currency the lines add up to the account's cost, exact to the last digit.
    """
    month = month_so_far(newest, group_by=["team"], compare_to="previous_period", limit=EVERY_TEAM)
    answer = query_spend(account, month, sources=sources)
    months = SpendQuery(
        start_date=add_months(answer.period.start_date, -TREND_MONTHS),
        end_date=answer.period.end_date,
        granularity="month",
        group_by=["team"],
        limit=EVERY_TEAM,
    )
    trend = query_spend(account, months, sources=sources)
    costs = _costs(answer, trend)
    infos = team_infos(account)
    lines = [TeamLine(info.name, info, costs.get(info.name, ())) for info in infos]
    lines += [TeamLine(NO_TEAM, None, costs[NO_TEAM])] if NO_TEAM in costs else []
    return TeamCosts(lines, answer, [total.currency for total in answer.totals])


def _costs(answer: SpendAnswer, trend: SpendAnswer) -> dict[str, tuple[TeamCost, ...]]:
    """Return costs by team in the order of the answer's currencies; currencies that only the trend has come last."""
    now = {_key(row): row for row in answer.rows}
    months = {_key(row): row.series for row in trend.rows}
    by_team: dict[str, list[TeamCost]] = {}
    for key in dict.fromkeys([*now, *months]):
        by_team.setdefault(key[0], []).append(_cost(key[1], now.get(key), months.get(key, {})))
    return {team: tuple(costs) for team, costs in by_team.items()}


def _key(row: SpendRow) -> tuple[str, str]:
    return row.group["team"], row.currency


def _cost(currency: str, row: SpendRow | None, series: Mapping[str, Decimal | None]) -> TeamCost:
    before = dict(list(series.items())[:-1])
    return TeamCost(
        currency=currency,
        this_month=row.amount if row else Decimal(0),
        share=row.share if row else None,
        change=row.change if row else None,
        last_month=list(before.values())[-1] if before else None,
        trend=before,
    )


SHOWN_VALUES = 30
SHOWN_MEMBERS = 20
MAX_TEXT = 120


def list_teams(
    account: Account, *, search: str = "", cursor: str = "", limit: int = 50, deadline: float | None = None
) -> TeamsAnswer:
    """Return teams by name with members, values, and cost of the last month with complete data. One lake query.

    `search` is a part of a team's name, a member or a value, ignoring case. Raises UserError for a cursor of another
    query.
    """
    sources, key = load_sources(account), team_key(account)
    question = _last_month(sources.coverage)
    spent = query_spend(account, question, sources=sources, deadline=deadline)
    infos = team_infos(account)
    matching = [info for info in infos if _matches(info, search.strip().casefold())]
    start = offset_of(cursor, search)
    page = matching[start : start + limit]
    after = start + len(page)
    return TeamsAnswer(
        account=spent.account,
        summary=_summary(account, infos, matching, spent, sources.coverage),
        team_key=key,
        view=spent.view,
        period=spent.period,
        teams=[_entry(info, spent) for info in page],
        no_team=_team_costs(spent, NO_TEAM),
        total_teams=len(matching),
        cursor=next_cursor(after, search) if after < len(matching) else "",
        data_through=spent.data_through,
        truncated=f"{len(page)} of {len(matching)} teams. Use cursor for the next page."
        if len(page) < len(matching)
        else "",
        warnings=spent.warnings,
        hint=_hint(infos, key),
    )


def _last_month(coverage: Coverage) -> SpendQuery:
    """Return the query for the last month whose days are all complete; without data, for the previous month."""
    by_team = SpendQuery(group_by=["team"], limit=EVERY_TEAM)
    if coverage.complete_through is None:
        return replace(by_team, period="last_month")
    first = add_months(coverage.complete_through + timedelta(days=1), -1)
    return replace(by_team, start_date=first, end_date=month_end(first))


def _matches(info: TeamInfo, search: str) -> bool:
    texts = [info.name, *info.values, *(text for each in info.people for text in (each.name, each.email))]
    return not search or any(search in text.casefold() for text in texts)


def _entry(info: TeamInfo, spent: SpendAnswer) -> TeamEntry:
    return TeamEntry(
        name=info.name,
        description=truncate(info.description, MAX_TEXT),
        members=[truncate(person.name, MAX_TEXT) for person in info.people[:SHOWN_MEMBERS]],
        other_members=max(0, len(info.people) - SHOWN_MEMBERS),
        values=[truncate(value, MAX_TEXT) for value in info.values[:SHOWN_VALUES]],
        other_values=max(0, len(info.values) - SHOWN_VALUES),
        costs=_team_costs(spent, info.name),
    )


def _team_costs(spent: SpendAnswer, team: str) -> list[MoneyAmount]:
    return [
        MoneyAmount(amount=row.amount, currency=row.currency)
        for row in spent.rows
        if row.group["team"] == team
    ]


def _summary(
    account: Account,
    infos: Sequence[TeamInfo],
    matching: Sequence[TeamInfo],
    spent: SpendAnswer,
    coverage: Coverage,
) -> str:
    if not infos:
        return f"{quote(account.name)} has no teams yet."
    counted = f"{len(infos)} team{'' if len(infos) == 1 else 's'}"
    teams_text = counted if len(matching) == len(infos) else f"{len(matching)} of {counted} matching"
    days = f"from {spent.period.start_date} to {spent.period.end_date}"
    amounts = [money(each.amount, each.currency) for each in _team_costs(spent, NO_TEAM)]
    unowned = (
        f"{join_with_and(amounts)} of its cost {days} has no team"
        if amounts
        else f"all of its cost {days} has a team"
    )
    if not spent.totals:
        unowned = f"it has no cost {days}"
    uncovered = uncovered_words(coverage, DateRange(spent.period.start_date, spent.period.end_date))
    return f"{quote(account.name)} has {teams_text}; {unowned}{uncovered}."


def _hint(infos: Sequence[TeamInfo], key: str) -> str:
    if not infos or not key:
        return "Members set the team key and create teams on the Teams page."
    return "Use querySpend to group and filter by team, listBudgets for budgets."
