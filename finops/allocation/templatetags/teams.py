"""Template filters and tags for teams."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from finops.allocation.queries.teams import Person, TeamCost
from finops.lib.formats import dates, numbers

register = template.Library()


@register.filter
def people(persons: Sequence[Person], limit: int) -> str:
    """Format people: `Ana, Ben and 3 more`."""
    names = ", ".join(person.name for person in persons[:limit])
    return f"{names} and {len(persons) - limit} more" if len(persons) > limit else names


@register.filter
def about_trend(cost: TeamCost, team: str) -> str:
    """Describe a trend to a screen reader: its first and last month with their amounts."""
    points = [
        (dates.bucket(day[:7]), numbers.money(amount, cost.currency))
        for day, amount in cost.trend.items()
        if amount is not None
    ]
    if not points:
        return f"{team}: no data"
    (first, before), (last, now) = points[0], points[-1]
    return f"{team}: {before} in {first}, {now} in {last}"


@register.filter
def is_like(name: str, value: str) -> bool:
    """Whether a team's name equals the value, ignoring case and word separators: the default choice of its owner."""
    return _letters(name) == _letters(value)


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())
