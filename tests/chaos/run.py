"""A chaos run: a baseline without faults, faults with pauses between them, recovery, and a comparison of the totals
at the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.report import WELL_SECONDS, Report, Span, Window
from tests.chaos.services import ServiceStack, running
from tests.chaos.tenants import BILL_TOTAL, Answers, Tenant
from tests.waiting import wait_until

TENANTS = 10
WARM_UP_SECONDS = 15.0
"""The first requests fill caches, so they count neither to the baseline nor to the run."""
BETWEEN_SECONDS = 6.0
SETTLED_SECONDS = 120.0


def run(*, seconds: float, seed: int = 0) -> Report:
    """Run a tenth of the time without faults, then all faults repeatedly in random order, then another tenth without
    faults."""
    pause = seconds / 10
    faults = by_chance(random.Random(seed), seconds - 2 * pause - WARM_UP_SECONDS)
    with running(seed=seed) as stack:
        return run_in(stack, faults, tenants=TENANTS, rest=pause)


def by_chance(chance: random.Random, seconds: float) -> Iterator[Fault]:
    until = time.monotonic() + seconds
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            if time.monotonic() > until:
                return
            yield fault


def run_in(
    stack: ServiceStack,
    faults: Iterable[Fault],
    *,
    tenants: int,
    rest: float,
    warm_up: float = WARM_UP_SECONDS,
    between: float = BETWEEN_SECONDS,
) -> Report:
    answers, ended = Answers(), threading.Event()
    clients = [
        Tenant(stack.console.url, answers=answers, ended=ended, **credentials)
        for credentials in stack.console.inside.run("tests.chaos.accounts:tenants", tenants)
    ]
    report, begin = Report(answers.all), time.monotonic()
    for client in clients:
        client.start()
    time.sleep(warm_up)  # the duration of a phase, here and below, not a wait for a condition
    report.rests.append(_rest(rest))
    for fault in faults:
        if fault.needs_disk and stack.disk is None:
            report.omitted.add(fault.name)
            continue
        report.spans.append(_span(stack, clients, fault, report))
        time.sleep(between)
    report.rests.append(_rest(rest))
    ended.set()
    for client in clients:
        client.join()
    last_request = time.monotonic()
    report.seconds = last_request - begin
    for client in clients:
        _check_books(stack, client, report)
    report.settled_seconds = time.monotonic() - last_request
    report.check_answers()
    return report


def _rest(seconds: float) -> Window:
    begin = time.monotonic()
    time.sleep(seconds)
    return begin, time.monotonic()


def _span(stack: ServiceStack, tenants: list[Tenant], fault: Fault, report: Report) -> Span:
    begin = time.monotonic()
    with fault.make(stack, tenants):
        time.sleep(fault.seconds)
    end = time.monotonic()
    try:
        wait_until(
            lambda: _is_well(stack, tenants[0]),
            f"not well after {fault.name}",
            seconds=4 * WELL_SECONDS,
            pause=0.1,
        )
    except AssertionError as error:
        report.wrong.append(f"{error}; /readyz: {stack.console.readiness()}")
    return Span(fault, begin, end, time.monotonic())


def _is_well(stack: ServiceStack, tenant: Tenant) -> bool:
    """Return whether every readiness check succeeds, and a push, a question and a page are answered."""
    if stack.console.process_ended() or not stack.console.is_well():
        return False
    event = {"metric": "probe", "quantity": 1, "customer_id": "c", "timestamp": "2026-01-01T00:00:00Z"}
    bearer = {"Authorization": f"Bearer {tenant.usage}"}
    push, _ = tenant.request("probe", "POST", "/api/usage/events", {"events": [event]}, bearer)
    question, body = tenant.call_tool("probe", "listDimensionValues", {"dimension": "service"})
    page, _ = tenant.open_page("probe", "")
    return (push, question, page) == (200, 200, 200) and b'"isError":true' not in body


def _check_books(stack: ServiceStack, tenant: Tenant, report: Report) -> None:
    """Check that the stored usage is what was acknowledged, that each accepted bill counts once, and that failed
    imports have an error."""
    book = report.books[tenant.slug] = {
        **_wait_for_imports(stack, tenant, report),
        "acknowledged": tenant.acknowledged,
    }
    if Decimal(book["usage"]) != tenant.acknowledged:
        report.wrong.append(f"{tenant.slug}: acknowledged {tenant.acknowledged}, stored {book['usage']}")
    bills = [each for each in book["imports"] if each["status"] == "done"]
    silent = [each for each in book["imports"] if each["status"] == "failed" and not each["error"]]
    if Decimal(book["cost"]) != BILL_TOTAL * len(bills):
        report.wrong.append(f"{tenant.slug}: {len(bills)} bills, {book['cost']} USD stored")
    if not bills:
        report.wrong.append(f"{tenant.slug}: no bill was stored: {book['imports']}")
    if silent:
        report.wrong.append(f"{tenant.slug}: imports failed without a word: {silent}")


def _wait_for_imports(stack: ServiceStack, tenant: Tenant, report: Report) -> dict[str, Any]:
    """Return what is stored after every import of the tenant has ended."""
    book: dict[str, Any] = {}

    def is_settled() -> bool:
        book.update(stack.console.inside.run("tests.chaos.accounts:book", tenant.slug))
        return not _open_imports(book)

    try:
        wait_until(is_settled, f"no end of all imports of {tenant.slug}", seconds=SETTLED_SECONDS, pause=0.1)
    except AssertionError as error:
        report.wrong.append(f"{error}: {_open_imports(book)}")
    return book


def _open_imports(book: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in book["imports"] if each["status"] in ("queued", "running")]
