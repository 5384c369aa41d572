"""The answers about teams, for tools."""

from __future__ import annotations

from datetime import date

import msgspec

from finops.costs.answers import AppliedCostView, MoneyAmount
from finops.lib.answers import AccountAnswer, AppliedPeriod


# `values` are those of the team key that it owns, `other_values` how many more. `costs`: one for each currency.
class TeamEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    members: list[str]
    values: list[str]
    costs: list[MoneyAmount]
    description: str = ""
    other_members: int = 0
    other_values: int = 0


# The answer of `list_teams`. `period` is the month that the costs are of; `no_team` is the cost that no team owns.
class TeamsAnswer(AccountAnswer, frozen=True, kw_only=True):
    team_key: str
    view: AppliedCostView
    period: AppliedPeriod
    teams: list[TeamEntry]
    no_team: list[MoneyAmount]
    total_teams: int
    cursor: str
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
