"""Complete days of a source: settle times, and days with only part of their cost. Pure.

A day is complete when it is covered, over, not partial, and at its newest import as old as its settle time.
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
"""The settle time of a provider that is not in the table: most bill a day within the next one."""

# Days after which an import has a complete day, by a part of the provider's name. Providers state hours after the usage:
# a day ends at midnight, so "up to 24 hours" is the day after the next one, and "24 to 48 hours" one more.
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
"""The share of its final cost at which a day counts as settled, from below or above."""

OFTEN: Final = 0.9
FINISHED_AGE: Final = 7
"""The age in days at which a day's cost counts as final."""

FEWEST_DAYS: Final = 5
"""The minimum of days that agree before a settle time is learnt."""

LOOKED_AT_DAYS: Final = 7
"""The newest days of a source that may be partial; the cost of an older low day has really changed."""

_WEEKS: Final = 8
_FEWEST_WEEKS: Final = 3
_FAR_BELOW: Final = 0.75
_BELOW_ANY: Final = 0.9
_REGULAR: Final = 0.9
_REGULAR_DAYS: Final = 28
_MAIN: Final = 0.01
_SAME: Final = 0.99


def documented_settle_days(provider: str) -> int:
    """Return the settle time of the provider with this name."""
    words = provider.casefold()
    return next((days for name, days in _DOCUMENTED if name in words), DEFAULT_SETTLE_DAYS)


@dataclass(frozen=True)
class SourceDays:
    """The completeness data of a source. `usage_through` is the newest day with daily usage, None for a source that
    bills by the month, for which `billed_through` is the last billed day. `seen_on` is the day of the newest import
    of its newest days."""

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
    """Describe how long a source's days take to settle, and how that is known."""
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
"""The amount of a day by its age, in days, when it was imported."""


def learnt_settle_days(days: Iterable[AmountByAge]) -> int | None:
    """Return the smallest age at which nine of ten days had nearly all their cost; None without evidence.

    A day is evidence if it was seen young and again at FINISHED_AGE or later; its last amount is the final one.
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
"""Daily cost of services that are billed by the day, by service, in one currency."""


def partial_days(
    costs: ByService, through: date, *, grown: Mapping[date, Sequence[float]] | None = None
) -> frozenset[date]:
    """Return the newest days, up to `through`, that have only part of their cost.

    Such a day is far below the expectation for its weekday and lower than any earlier day of that weekday, and either
    a service that has cost on nearly every day is missing, or all services are far below at once. A fall of one
    service alone is a change, unless that service was so large that the day is far below: then it is missing until
    the same amount was seen twice, on different days (`grown`: the day's amounts at its imports, in order).
    """
    first = through - timedelta(days=LOOKED_AT_DAYS - 1)
    totals: dict[date, float] = {}
    for days in costs.values():
        for day, amount in days.items():
            totals[day] = totals.get(day, 0.0) + amount
    before = first - timedelta(days=1)
    if _is_far_below(totals, before, totals.get(before, 0.0)):
        return frozenset()  # lower for longer than a bill takes to complete: a real change of cost
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
    """Return whether two imports had the same amount for a day."""
    amounts = grown.get(day, ())
    return len(amounts) > 1 and min(amounts[-2:]) >= _SAME * max(amounts[-2:])


def _weekdays(day: date, first: date) -> list[date]:
    """Return the earlier days of the same weekday, newest first."""
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
