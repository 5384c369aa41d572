"""The result of a run: its targets, and the tables of `docs/chaos.md`."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tests.chaos.faults import Fault
from tests.chaos.tenants import REFUSED, Answer

KINDS = ("push", "question", "page")
TIMES_REST = 3.0
WELL_SECONDS = 30.0
ENOUGH = 100
"""Below this number of requests, p99 is the maximum."""
DETAILS = 20

Window = tuple[float, float]


class Span(NamedTuple):
    """A fault from its start until every check succeeded again, in seconds of time.monotonic."""

    fault: Fault
    begin: float
    end: float
    well: float

    @property
    def window(self) -> Window:
        return self.begin, self.well

    @property
    def recovery(self) -> float:
        return self.well - self.end


class Latency(NamedTuple):
    """p99 by nearest rank, in seconds, and the number of requests."""

    p99: float
    requests: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Latency:
        seconds = sorted(each.seconds for each in answers)
        return cls(seconds[math.ceil(0.99 * len(seconds)) - 1] if seconds else 0.0, len(seconds))

    def __str__(self) -> str:
        return f"{self.p99 * 1_000:,.0f} ms ({self.requests})" if self.requests else "none"


class Comparison(NamedTuple):
    """p99 of a tenant's requests of a kind, in the baseline and during faults that do not affect their dependencies."""

    tenant: str
    kind: str
    rest: Latency
    run: Latency

    @property
    def times(self) -> float:
        return self.run.p99 / self.rest.p99 if self.rest.requests else 0.0

    @property
    def is_measured(self) -> bool:
        return bool(self.rest.requests and self.run.requests)


@dataclass
class Report:
    answers: Sequence[Answer]
    rests: list[Window] = field(default_factory=list)
    """Windows before the first fault and after the last, because queries take longer with the data that the run
    stores."""
    spans: list[Span] = field(default_factory=list)
    books: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """Messages about failures that no fault excuses: lost or duplicate data, 500, no recovery."""
    omitted: set[str] = field(default_factory=set)
    """Faults that could not be injected on this machine."""
    seconds: float = 0.0
    settled_seconds: float = 0.0
    """Seconds from the last request until every import had ended."""

    def check_answers(self) -> None:
        """Add to `wrong` the responses that are neither a success nor a retryable refusal."""
        bad = [each for each in self.answers if _is_failure(each)]
        self.wrong += [f"{each.kind} of {each.tenant}: {each.status} {each.detail}" for each in bad[:DETAILS]]

    def comparisons(self) -> list[Comparison]:
        tenants = sorted({each.tenant for each in self.answers})
        return [
            Comparison(
                tenant, kind, self._latency(tenant, kind, _at_rest), self._latency(tenant, kind, _in_run)
            )
            for tenant in tenants
            for kind in KINDS
        ]

    def target_errors(self) -> list[str]:
        """Messages about the missed targets."""
        slow = [
            f"p99 of {each.kind} of {each.tenant}: {each.rest} baseline, {each.run} during faults, {each.times:.1f} times"
            for each in self.comparisons()
            if each.is_measured and each.times > TIMES_REST
        ]
        unmeasured = [
            f"p99 of {each.kind} of {each.tenant}: no requests to compare"
            for each in self.comparisons()
            if not each.is_measured
        ]
        late = [
            f"{span.fault.name}: recovered after {span.recovery:.1f} s"
            for span in self.spans
            if span.recovery > WELL_SECONDS
        ]
        return [*self.wrong, *unmeasured, *slow, *late]

    def markdown(self) -> str:
        moment = f"{datetime.now(UTC):%Y-%m-%d}"
        head = (
            f"{moment}, {self.seconds / 60:.0f} minutes, {os.cpu_count()} cores including the clients: "
            f"{len(self.answers):,} requests of {len(self.books)} tenants, {len(self.spans)} faults."
            + "".join(f" Skipped without a separate disk: {name}." for name in sorted(self.omitted))
        )
        target_errors = self.target_errors()
        verdict = (
            ["All targets are met."]
            if not target_errors
            else ["Missed targets:", "", *(f"* {each}" for each in target_errors)]
        )
        return "\n".join(
            [
                head,
                "",
                *self._aims(),
                "",
                *self._faults(),
                "",
                *self._tenants(),
                "",
                self._samples(),
                "",
                *verdict,
                "",
            ]
        )

    # -- tables ---------------------------------------------------------------------------------------------------

    def _aims(self) -> list[str]:
        of_events = sum(book["acknowledged"] for book in self.books.values())
        stored = sum(Decimal(book["usage"]) == book["acknowledged"] for book in self.books.values())
        failures = sum(_is_failure(each) for each in self.answers)
        compared = [each for each in self.comparisons() if each.is_measured]
        over = sum(each.times > TIMES_REST for each in compared)
        worst = max(compared, key=lambda each: each.times, default=None)
        longest = max(self.spans, key=lambda span: span.recovery, default=None)
        return [
            "| target | result |",
            "|---|---|",
            f"| acknowledged equals stored | {of_events:,} events; equal for {stored} of {len(self.books)} tenants |",
            f"| no 500 | {failures} |",
            f"| p99 at most {TIMES_REST:.0f} times the baseline | {over} of {len(compared)} over"
            + (f"; maximum {worst.times:.1f} times, {worst.kind} of {worst.tenant}" if worst else "")
            + " |",
            f"| everything works within {WELL_SECONDS:.0f} s of a fault's end | "
            + (f"longest {longest.recovery:.1f} s, {longest.fault.name}" if longest else "no fault")
            + " |",
            f"| all imports ended, after the last request | {self.settled_seconds:.1f} s |",
            f"| bills accepted | {self._bills('done')} stored, {self._bills('failed')} failed with a reason |",
        ]

    def _bills(self, status: str) -> int:
        """Return the number of bills with the status; hostile files have other source names."""
        return sum(
            (each["source"][:4], each["status"]) == ("Bill", status)
            for book in self.books.values()
            for each in book["imports"]
        )

    def _faults(self) -> list[str]:
        lines = [
            "| fault | count | recovery, s | no response | refused | p99 push | p99 query | p99 page |",
            "|---|---|---|---|---|---|---|---|",
            *(
                self._fault_row(name, "", "", [figures])
                for name, figures in zip(("baseline before", "baseline after"), self.rests, strict=False)
            ),
        ]
        for name in dict.fromkeys(span.fault.name for span in self.spans):
            spans = [span for span in self.spans if span.fault.name == name]
            longest = max(span.recovery for span in spans)
            lines.append(
                self._fault_row(name, str(len(spans)), f"{longest:.1f}", [span.window for span in spans])
            )
        return lines

    def _fault_row(self, name: str, times: str, well: str, windows: Sequence[Window]) -> str:
        inside = [each for each in self.answers if each.kind in KINDS and _overlaps(each, windows)]
        statuses = Counter(each.status for each in inside)
        refusals = sum(statuses[status] for status in REFUSED)
        latencies = " | ".join(
            str(Latency.of([each for each in inside if each.kind == kind])) for kind in KINDS
        )
        return f"| {name} | {times} | {well} | {statuses[0]} | {refusals} | {latencies} |"

    def _tenants(self) -> list[str]:
        lines = [
            "p99 of each tenant in the baseline and during faults, excluding outages of its dependencies (number of requests):",
            "",
            "| tenant | push, baseline | faults | ratio | query, baseline | faults | ratio | page, baseline | faults | ratio |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        by_tenant: dict[str, list[Comparison]] = {}
        for each in self.comparisons():
            by_tenant.setdefault(each.tenant, []).append(each)
        for tenant, comparisons in by_tenant.items():
            cells = " | ".join(f"{each.rest} | {each.run} | {each.times:.1f}" for each in comparisons)
            lines.append(f"| {tenant} | {cells} |")
        return lines

    def _samples(self) -> str:
        few = min((each.rest.requests for each in self.comparisons()), default=0)
        if few >= ENOUGH:
            return f"Each p99 is based on at least {few} requests."
        return f"The smallest baseline has {few} requests: below {ENOUGH} requests, p99 is the maximum."

    # -- which requests --------------------------------------------------------------------------------------------

    def _latency(self, tenant: str, kind: str, accepts: Callable[[Report, Answer], bool]) -> Latency:
        return Latency.of(
            [
                each
                for each in self.answers
                if (each.tenant, each.kind) == (tenant, kind) and accepts(self, each)
            ]
        )

    def away(self, kind: str) -> list[Window]:
        """Windows in which a dependency of this kind of request was down."""
        return [span.window for span in self.spans if kind in span.fault.needs]


def _at_rest(report: Report, answer: Answer) -> bool:
    return any(begin <= answer.begin and answer.at <= end for begin, end in report.rests)


def _in_run(report: Report, answer: Answer) -> bool:
    (_, begin), (end, _) = report.rests
    return begin < answer.begin < end and not _overlaps(answer, report.away(answer.kind))


def _overlaps(answer: Answer, windows: Sequence[Window]) -> bool:
    return any(answer.begin <= end and answer.at >= begin for begin, end in windows)


def _is_failure(answer: Answer) -> bool:
    """Return whether a response is a failure: 500 and the like for any request; for the tenants' own requests, which
    are valid, also any refusal that no fault explains."""
    if answer.status in (0, *REFUSED):
        return False
    return answer.status >= 500 or (answer.kind in KINDS and answer.status != 200)
