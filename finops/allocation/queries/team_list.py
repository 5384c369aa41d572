"""Teams as an assistant reads them: who is in them, what they own, and what that cost last month."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from accounts.models import Account
from finops.allocation.queries.teams import EVERY_TEAM, TeamInfo, team_infos, team_key
from finops.allocation.team_dimension import NO_TEAM
from finops.allocation.team_schemas import TeamEntry, TeamsAnswer
from finops.costs.answers import MoneyAmount, SpendAnswer
from finops.costs.coverage import Coverage
from finops.costs.queries import query_spend
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import SpendQuery
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.periods import add_months, month_end
from finops.lib.sentences import join_with_and, money, quote, truncate

SHOWN_VALUES = 30
SHOWN_MEMBERS = 20
MAX_TEXT = 120


def list_teams(
    account: Account, *, search: str = "", cursor: str = "", limit: int = 50, deadline: float | None = None
) -> TeamsAnswer:
    """Teams by name with their people, values, and cost of the last month with complete data. One lake query.

    `search` is a part of a team's name, a member or a value, in any case. Raises UserError for a foreign cursor.
    """
    sources, key = load_sources(account), team_key(account)
    question = _last_month(sources.coverage)
    spent = query_spend(account, question, sources=sources, deadline=deadline)
    infos = team_infos(account)
    matching = [info for info in infos if _matches(info, search.strip().casefold())]
    begin = offset_of(cursor, search)
    page = matching[begin : begin + limit]
    after = begin + len(page)
    return TeamsAnswer(
        account=spent.account,
        summary=_summary(account, infos, matching, spent),
        team_key=key,
        view=spent.view,
        period=spent.period,
        teams=[_entry(info, spent) for info in page],
        no_team=_costs(spent, NO_TEAM),
        total_teams=len(matching),
        cursor=next_cursor(after, search) if after < len(matching) else "",
        data_through=spent.data_through,
        truncated=f"{len(page)} of {len(matching)} teams: go on with cursor."
        if len(page) < len(matching)
        else "",
        warnings=spent.warnings,
        hint=_hint(infos, key),
    )


def _last_month(coverage: Coverage) -> SpendQuery:
    """Of the last month whose days are all complete; of the month before this one without any data."""
    by_team = SpendQuery(group_by=["team"], top=EVERY_TEAM)
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
        costs=_costs(spent, info.name),
    )


def _costs(spent: SpendAnswer, team: str) -> list[MoneyAmount]:
    return [
        MoneyAmount(amount=row.amount, currency=row.currency)
        for row in spent.rows
        if row.group["team"] == team
    ]


def _summary(
    account: Account, infos: Sequence[TeamInfo], matching: Sequence[TeamInfo], spent: SpendAnswer
) -> str:
    if not infos:
        return f"{quote(account.name)} has no teams yet."
    counted = f"{len(infos)} team{'' if len(infos) == 1 else 's'}"
    what = counted if len(matching) == len(infos) else f"{len(matching)} of {counted} that match"
    days = f"from {spent.period.start_date} to {spent.period.end_date}"
    amounts = [money(each.amount, each.currency) for each in _costs(spent, NO_TEAM)]
    unowned = (
        f"{join_with_and(amounts)} of its cost {days} has no team"
        if amounts
        else f"all of its cost {days} has a team"
    )
    return f"{quote(account.name)} has {what}; {unowned}."


def _hint(infos: Sequence[TeamInfo], key: str) -> str:
    if not infos or not key:
        return "Members choose the team key and make teams on the page Teams."
    return "querySpend groups and filters by team; listBudgets says where their budgets stand."
