"""The load of `bench_mixed`: how many people, assistants and programs, and how long each waits between two requests."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Seconds are means; each pause is between half and one and a half of its mean."""

    minutes: float = 60.0
    accounts: int = 50
    people: int = 20
    """People per account, each with a session."""
    visit_pages: int = 10
    think_seconds: float = 30.0
    away_seconds: float = 1_200.0
    assistants: int = 2
    """Assistants per account."""
    burst_questions: int = 5
    burst_seconds: float = 2.0
    """Seconds between the calls of a burst."""
    idle_seconds: float = 120.0
    """Seconds between the bursts of an assistant."""
    push_seconds: float = 10.0
    limit_events: int = 100
    """Events per push of the account that pushes at its limit, 1,000 requests per minute."""
    import_seconds: float = 600.0
    sync_seconds: float = 900.0
    rate_seconds: float = 300.0
    """Seconds between the exchange rates that a member of an account enters."""

    @property
    def seconds(self) -> float:
        return self.minutes * 60

    @property
    def visit_seconds(self) -> float:
        return self.visit_pages * self.think_seconds

    @property
    def at_once(self) -> float:
        """People who use the console at the same time."""
        share = self.visit_seconds / (self.visit_seconds + self.away_seconds)
        return self.accounts * self.people * share

    def rates(self) -> dict[str, tuple[str, float]]:
        """Return requests per second of each kind, with the calculation."""
        burst = self.burst_questions * self.burst_seconds + self.idle_seconds
        cycle = self.visit_seconds + self.away_seconds
        people, assistants = self.accounts * self.people, self.accounts * self.assistants
        at_console = f"{people} people at the console for {self.visit_seconds:g} s of {cycle:g} s"
        return {
            "page": (
                f"{at_console}: {self.at_once:.0f} at once, each {self.think_seconds:g} s",
                self.at_once / self.think_seconds,
            ),
            "question": (
                f"{assistants} assistants, {self.burst_questions} questions each {burst:g} s",
                assistants * self.burst_questions / burst,
            ),
            "push": (
                f"{self.accounts - 1} accounts, 20 events each {self.push_seconds:g} s",
                (self.accounts - 1) / self.push_seconds,
            ),
            "push at the limit": (f"1 account, {self.limit_events} events, 1,000 a minute", 1_000 / 60),
            "import": self._of_accounts(self.import_seconds),
            "sync": self._of_accounts(self.sync_seconds),
            "exchange rate": self._of_accounts(self.rate_seconds),
        }

    def _of_accounts(self, seconds: float) -> tuple[str, float]:
        return f"{self.accounts} accounts, each {seconds:g} s", self.accounts / seconds


def plan_of_environment() -> Plan:
    """Return the plan with the values of BENCH_MIXED_MINUTES, …_ACCOUNTS, …_PEOPLE and …_LIMIT_EVENTS."""
    fields = {
        name: os.environ.get(f"BENCH_MIXED_{name.upper()}")
        for name in ("minutes", "accounts", "people", "limit_events")
    }
    minutes, accounts, people, events = fields.values()
    return Plan(
        minutes=float(minutes or Plan.minutes),
        accounts=int(accounts or Plan.accounts),
        people=int(people or Plan.people),
        limit_events=int(events or Plan.limit_events),
    )
