"""A run: rest, faults with rests between them, recovery, and the books at the end."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import quantiles
from typing import Any

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.services import World, running, wait_for
from tests.chaos.tenants import BILL_TOTAL, Answer, Answers, Tenant

TENANTS = 10
REST_SECONDS = 20.0
BETWEEN_SECONDS = 6.0
WELL_SECONDS = 30.0
SETTLED_SECONDS = 120.0
KINDS = ("push", "question", "page", "import")


@dataclass(frozen=True)
class Span:
    """A fault from its beginning until everything answered again, of time.monotonic."""

    fault: Fault
    began: float
    mended: float
    well: float


@dataclass
class Report:
    answers: Sequence[Answer]
    spans: list[Span] = field(default_factory=list)
    rest: tuple[float, float] = (0.0, 0.0)
    books: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    recovery: float = 0.0

    @property
    def failures(self) -> list[Answer]:
        """Answers that no fault excuses: 500 and the like."""
        return [each for each in self.answers if each.status >= 500 and each.status != 503]

    def p99(self, kind: str, spans: Sequence[tuple[float, float]], tenant: str | None = None) -> float:
        taken = [
            each.seconds
            for each in self.answers
            if each.kind == kind
            and each.status == (200 if kind != "import" else 202)
            and tenant in (None, each.tenant)
            and any(begin <= each.at - each.seconds <= end for begin, end in spans)
        ]
        return quantiles(taken, n=100)[98] if len(taken) > 1 else (taken[0] if taken else 0.0)

    def lines(self) -> list[str]:
        found = [f"{len(self.answers):,} requests of {len(self.books)} tenants, {len(self.spans)} faults", ""]
        found.append(
            "| fault | until well, s | not answered | refused | p99 push | p99 question | p99 page |"
        )
        found.append("|---|---|---|---|---|---|---|")
        found.append(self._row("at rest", [self.rest], ""))
        for fault in dict.fromkeys(span.fault.name for span in self.spans):
            spans = [span for span in self.spans if span.fault.name == fault]
            longest = max(span.well - span.mended for span in spans)
            found.append(self._row(fault, [(span.began, span.well) for span in spans], f"{longest:.1f}"))
        return found

    def _row(self, name: str, spans: Sequence[tuple[float, float]], well: str) -> str:
        inside = [each for each in self.answers if any(begin <= each.at <= end for begin, end in spans)]
        statuses = Counter(each.status for each in inside)
        times = " | ".join(f"{self.p99(kind, spans) * 1_000:,.0f} ms" for kind in KINDS[:3])
        return f"| {name} | {well} | {statuses[0]} | {statuses[503] + statuses[429]} | {times} |"


def run(*, seconds: float, seed: int = 0, faults: Sequence[Fault] = tuple(FAULTS)) -> Report:
    """At rest, then every fault at least once while the time lasts, in an order by chance."""
    random.seed(seed)
    with running() as world:
        made = world.console.inside.run("tests.chaos.accounts:tenants", TENANTS)
        answers, ended = Answers(), threading.Event()
        tenants = [Tenant(world.console.url, answers=answers, ended=ended, **each) for each in made]
        for tenant in tenants:
            tenant.start()
        report = Report(answers.all)
        began = time.monotonic()
        threading.Event().wait(REST_SECONDS)
        report.rest = (began, time.monotonic())
        _faults(world, tenants, report, faults, began + seconds)
        ended.set()
        for tenant in tenants:
            tenant.join()
        _books(world, tenants, report)
        return report


def _faults(
    world: World, tenants: list[Tenant], report: Report, faults: Sequence[Fault], until: float
) -> None:
    order: list[Fault] = []
    while time.monotonic() < until:
        order = order or random.sample(list(faults), len(faults))
        report.spans.append(_fault(world, tenants, order.pop(), report))
        threading.Event().wait(BETWEEN_SECONDS)


def _fault(world: World, tenants: list[Tenant], fault: Fault, report: Report) -> Span:
    began = time.monotonic()
    with fault.make(world, tenants):
        threading.Event().wait(fault.lasts)
    mended = time.monotonic()
    try:
        wait_for(lambda: _is_well(world, tenants[0]), 4 * WELL_SECONDS, f"everything well after {fault.name}")
    except TimeoutError as error:
        report.wrong.append(f"{error}; /readyz: {world.console.readiness()}")
    return Span(fault, began, mended, time.monotonic())


def _is_well(world: World, tenant: Tenant) -> bool:
    """Ready, and a push, a question and a page are answered."""
    if world.console.process_ended():
        return False
    if not world.console.is_ready():
        return False
    event = {"metric": "probe", "quantity": 1, "customer_id": "c", "timestamp": "2026-01-01T00:00:00Z"}
    bearer = {"Authorization": f"Bearer {tenant.usage}"}
    push, _ = tenant.request("probe", "POST", "/api/usage/events", {"events": [event]}, bearer)
    ping = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "listDimensionValues", "arguments": {"dimension": "service"}},
    }
    question, body = tenant.request(
        "probe", "POST", "/api/mcp", ping, {"Authorization": f"Bearer {tenant.mcp}"}
    )
    cookie = {"Cookie": f"finops_session={tenant.session}"}
    page, _ = tenant.request("probe", "GET", f"/a/{tenant.slug}/", None, cookie)
    return (push, question, page) == (200, 200, 200) and b'"isError":true' not in body


def _books(world: World, tenants: list[Tenant], report: Report) -> None:
    """What is stored is what was acknowledged; each bill that was taken is counted once, or its import says why not."""
    for tenant in tenants:
        found = report.books[tenant.slug] = _settled(world, tenant, report)
        if Decimal(found["usage"]) != tenant.acknowledged:
            report.wrong.append(f"{tenant.slug}: acknowledged {tenant.acknowledged}, stored {found['usage']}")
        bills = [each for each in found["imports"] if each["status"] == "done"]
        silent = [each for each in found["imports"] if each["status"] == "failed" and not each["error"]]
        if Decimal(found["cost"]) != BILL_TOTAL * len(bills):
            report.wrong.append(f"{tenant.slug}: {len(bills)} bills, {found['cost']} USD stored")
        if silent:
            report.wrong.append(f"{tenant.slug}: imports failed without a word: {silent}")
    report.wrong += [
        f"{each.kind} of {each.tenant}: {each.status} {each.detail}" for each in report.failures[:20]
    ]


def _settled(world: World, tenant: Tenant, report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def is_settled() -> bool:
        found.clear()
        found.update(world.console.inside.run("tests.chaos.accounts:stored", tenant.slug))
        open_ones = [each for each in found["imports"] if each["status"] in ("queued", "running")]
        return not open_ones

    try:
        wait_for(is_settled, SETTLED_SECONDS, f"the end of all imports of {tenant.slug}")
    except TimeoutError as error:
        waiting = [each for each in found["imports"] if each["status"] in ("queued", "running")]
        report.wrong.append(f"{error}: {waiting}")
    return found
