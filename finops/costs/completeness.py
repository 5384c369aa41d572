"""Which days of a source are complete: settle times, and days that are only partly there. Pure.

A day is complete when it is covered, over, as old at its newest import as its source takes to settle, and not partial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Final

ACCOUNT, LEARNT, DOCUMENTED = "account", "learnt", "documented"
"""Where a settle time comes from."""

MAX_SETTLE_DAYS: Final = 14
DEFAULT_SETTLE_DAYS: Final = 2
"""Of a provider that is not in the table: most bill a day within the next one."""

# Days after which an import has all of a day, by what the provider's name has in it. The providers say hours after the
# usage: a day is over at midnight, so "up to 24 hours" is the day after the next one, and "24 to 48 hours" one more.
_DOCUMENTED: Final[tuple[tuple[str, int], ...]] = (
    # AWS Data Exports user guide: refreshed at least once a day; charges can take 24 to 48 hours to appear.
    ("aws", 3),
    ("amazon", 3),
    # Microsoft Cost Management, "Understand data": usage appears within 8 to 24 hours, of some services within 48.
    ("microsoft", 3),
    ("azure", 3),
    # Cloud Billing export to BigQuery: "usage data is usually available within a day, and can take more than 24 hours".
    ("google", 2),
    # OCI cost reports: written every 6 hours; files for late usage come up to 24 hours after it.
    ("oracle", 2),
    ("oci", 2),
)

SETTLED_SHARE: Final = 0.98
"""A day is there when it has this share of what it has in the end, from below or above."""

OFTEN: Final = 0.9
FINISHED_AGE: Final = 7
"""A day that was seen at this age or later says what it was in the end."""

FEWEST_DAYS: Final = 5
"""Days that must say the same before a settle time is learnt."""

LOOKED_AT_DAYS: Final = 7
"""The newest days of a source that may be partial: what is older and low has changed."""

_WEEKS: Final = 8
_FEWEST_WEEKS: Final = 3
_FAR_BELOW: Final = 0.75
_BELOW_ANY: Final = 0.9
_REGULAR: Final = 0.9
_REGULAR_DAYS: Final = 28
_MAIN: Final = 0.01
_SAME: Final = 0.99


def documented_settle_days(provider: str) -> int:
    """What the provider of this name says."""
    words = provider.casefold()
    return next((days for name, days in _DOCUMENTED if name in words), DEFAULT_SETTLE_DAYS)


@dataclass(frozen=True)
class SourceDays:
    """What is known of a source's days. `usage_through` is the newest day with daily usage, None where the source bills
    by the month: `billed_through` then ends what it has billed. `seen_on` is the day of the newest import of its newest
    days; `observed` says whether that is known at all."""

    usage_through: date | None
    billed_through: date | None
    seen_on: date
    settle_days: int
    settle_from: str
    documented_days: int
    learnt_days: int | None = None
    partial: frozenset[date] = frozenset()
    provider: str = ""

    def through(self, today: date) -> date | None:
        """The last complete day; never today, which is not over."""
        yesterday = today - timedelta(days=1)
        if self.usage_through is None:
            return min(self.billed_through, yesterday) if self.billed_through else None
        settled = self.seen_on - timedelta(days=self.settle_days)
        last = min(self.usage_through, settled, yesterday)
        first_partial = min((day for day in self.partial if day <= last), default=None)
        return first_partial - timedelta(days=1) if first_partial else last

    @property
    def is_billed_monthly(self) -> bool:
        return self.usage_through is None


def settle_words(days: SourceDays) -> str:
    """How long a source's days take, and how that is known."""
    if days.is_billed_monthly:
        return "Billed monthly, complete to the end of the last bill."
    count = "1 day" if days.settle_days == 1 else f"{days.settle_days} days"
    origin = {
        ACCOUNT: "set in this account",
        LEARNT: "from its imports",
        DOCUMENTED: f"as documented by {days.provider or 'its provider'}; not confirmed by imports yet",
    }[days.settle_from]
    return f"{count}, {origin}."


AmountByAge = Mapping[int, float]
"""The amount of a day by its age, in days, when it was seen."""


def learnt_settle_days(days: Iterable[AmountByAge]) -> int | None:
    """The smallest age at which nearly all of a day was there on nine of ten days; None without evidence.

    A day is evidence when it was seen young and again at FINISHED_AGE or later; its last amount is what it was.
    """
    finished = [amounts for amounts in days if amounts and max(amounts) >= FINISHED_AGE and len(amounts) > 1]
    finished = [amounts for amounts in finished if amounts[max(amounts)]]
    for age in range(1, MAX_SETTLE_DAYS + 1):
        evidence = [amounts for amounts in finished if min(amounts) <= age]
        if len(evidence) < FEWEST_DAYS:
            continue
        settled = sum(_is_settled(amounts, age) for amounts in evidence)
        if settled >= OFTEN * len(evidence):
            return age
    return MAX_SETTLE_DAYS if len(finished) >= FEWEST_DAYS else None


def _is_settled(amounts: AmountByAge, age: int) -> bool:
    last = amounts[max(amounts)]
    then = amounts[max(each for each in amounts if each <= age)]
    return abs(then - last) <= (1 - SETTLED_SHARE) * abs(last)


ByService = Mapping[str, Mapping[date, float]]
"""Daily cost of what is billed by the day, by service, in one currency."""


def partial_days(
    costs: ByService, through: date, *, grown: Mapping[date, Sequence[float]] | None = None
) -> frozenset[date]:
    """The newest days, up to `through`, that are only partly there.

    Such a day is far below what its weekday leads to expect, lower than any of that weekday's, and either a service that
    is there on nearly every day is missing or all services are far below at once. One service that falls alone leaves
    the others as they are and is a change, unless it was so large that the day is far below: then it is missing until
    the same amount was seen twice, on different days (`grown`: what a day had at its imports, in order).
    """
    first = through - timedelta(days=LOOKED_AT_DAYS - 1)
    totals: dict[date, float] = {}
    for days in costs.values():
        for day, amount in days.items():
            totals[day] = totals.get(day, 0.0) + amount
    before = first - timedelta(days=1)
    if _is_far_below(totals, before, totals.get(before, 0.0)):
        return frozenset()  # lower for longer than a bill takes: another level
    partial: set[date] = set()
    level: float | None = None
    for offset in range(LOOKED_AT_DAYS):
        day = first + timedelta(days=offset)
        amount = totals.get(day, 0.0)
        if not _is_far_below(totals, day, amount, first) or not _lacks_services(costs, day, first):
            continue
        if level is not None and amount >= _FAR_BELOW * level:
            continue
        if _is_stable(day, grown or {}):
            level = amount
            continue
        partial.add(day)
    return frozenset(partial)


def _is_stable(day: date, grown: Mapping[date, Sequence[float]]) -> bool:
    """Whether two imports brought the same amount of a day."""
    amounts = grown.get(day, ())
    return len(amounts) > 1 and min(amounts[-2:]) >= _SAME * max(amounts[-2:])


def _weekdays(day: date, first: date) -> list[date]:
    """The same weekdays before the newest days, the newest first."""
    candidates = [day - timedelta(weeks=week) for week in range(1, _WEEKS + 2)]
    return [each for each in candidates if each < first][:_WEEKS]


def _is_far_below(totals: Mapping[date, float], day: date, amount: float, first: date | None = None) -> bool:
    amounts = [totals[each] for each in _weekdays(day, first or day) if each in totals]
    if len(amounts) < _FEWEST_WEEKS:
        return False
    expected = median(amounts)
    return expected > 0 and amount < _FAR_BELOW * expected and amount < _BELOW_ANY * min(amounts)


def _lacks_services(costs: ByService, day: date, first: date) -> bool:
    expected = {
        service: median([days.get(each, 0.0) for each in _weekdays(day, first)] or [0.0])
        for service, days in costs.items()
    }
    whole = sum(amount for amount in expected.values() if amount > 0)
    main = {service: amount for service, amount in expected.items() if amount > _MAIN * whole}
    recent = [first - timedelta(days=back) for back in range(1, _REGULAR_DAYS + 1)]
    regular = {
        service
        for service in main
        if sum(each in costs[service] for each in recent) >= _REGULAR * len(recent)
    }
    if any(not costs[service].get(day) for service in regular):
        return True
    low = {service for service, amount in main.items() if costs[service].get(day, 0.0) < _FAR_BELOW * amount}
    return len(low) > 1 and len(low) == len(main)
