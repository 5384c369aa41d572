"""The clients of `bench_mixed`, in a separate process: `python -m benchmarks.mixed_load PLAN ANSWERS`.

PLAN is JSON with the url, the plan and the accounts; ANSWERS gets a line of JSON for each request.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.mixed_plan import Plan
from tests.chaos.tenants import Answers, Tenant, bill

THREADS = 256
LIMIT_SECONDS = 60 / 1_000
PAGES = {
    "overview": ("", "overview/movers/", "budgets/at-risk/", "anomalies/open/", "savings/potential/"),
    "cost explorer": ("cost-explorer/",),
    "cost explorer by service": ("cost-explorer/?group_by=service&granularity=month",),
    "cost explorer by day": ("cost-explorer/?group_by=service&granularity=day",),
    "spend change": ("spend-change/",),
    "anomalies": ("anomalies/",),
    "budgets": ("budgets/",),
    "forecast": ("forecast/",),
    "unit economics": ("unit-economics/",),
    "savings": ("savings/",),
    "usage": ("usage/",),
    "customers": ("customers/",),
    "dashboards": ("dashboards/",),
    "reports": ("reports/",),
    "alerts": ("alerts/",),
    "connections": ("connections/",),
    "members": ("settings/members/",),
    "cost CSV": ("cost-explorer/?group_by=service&granularity=month&format=csv",),
}
"""The paths that a browser loads for each: the page, then its tiles."""
OFTEN = {"overview": 5, "cost explorer": 3, "cost explorer by service": 3}
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("querySpend", {"group_by": "service", "period": "last_12_months"}),
    ("querySpend", {"group_by": "service", "period": "last_30_days", "granularity": "day"}),
    ("queryUsage", {"usage_metric": "requests", "period": "last_30_days"}),
    ("explainSpendChange", {}),
    ("forecastSpend", {}),
    ("listBudgets", {}),
    ("listAnomalies", {}),
    ("listDimensionValues", {"dimension": "service"}),
]


@dataclass
class Load:
    """All clients. `pause` waits and returns False when the time is over."""

    url: str
    plan: Plan
    answers: Answers
    pool: ThreadPoolExecutor
    ended: asyncio.Event

    async def pause(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self.ended.wait(), seconds)
        except TimeoutError:
            return True
        return False

    async def do(self, request: Callable[..., Any], *arguments: object, **options: object) -> Any:
        call = asyncio.get_running_loop().run_in_executor
        return await call(self.pool, lambda: request(*arguments, **options))

    def client(self, account: Mapping[str, Any], session: str = "") -> Tenant:
        return Tenant(
            self.url,
            account["slug"],
            account["mcp"],
            account["usage"],
            session,
            self.answers,
            threading.Event(),
        )


async def visit(load: Load, account: Mapping[str, Any], session: str, chance: random.Random) -> None:
    """Open pages one after the other, pause, and repeat, starting at a random point."""
    plan, client = load.plan, load.client(account, session)
    phase = chance.uniform(0, plan.visit_seconds + plan.away_seconds)
    pages_left = plan.visit_pages - int(phase // plan.think_seconds)
    if pages_left <= 0:
        if not await load.pause(plan.visit_seconds + plan.away_seconds - phase):
            return
        pages_left = plan.visit_pages
    elif not await load.pause(plan.think_seconds * chance.random()):
        return
    names, weights = list(PAGES), [OFTEN.get(name, 1) for name in PAGES]
    while True:
        for _ in range(pages_left):
            name = chance.choices(names, weights)[0]
            page, *tiles = PAGES[name]
            await load.do(client.open_page, f"page {name}", page)
            for tile in tiles:
                await load.do(client.open_page, f"tile {tile}", tile)
            if not await load.pause(around(plan.think_seconds, chance)):
                return
        pages_left = plan.visit_pages
        if not await load.pause(around(plan.away_seconds, chance)):
            return


async def assist(load: Load, account: Mapping[str, Any], chance: random.Random) -> None:
    plan, client = load.plan, load.client(account)
    if not await load.pause(chance.uniform(0, plan.idle_seconds)):
        return
    while True:
        for _ in range(plan.burst_questions):
            tool, arguments = chance.choice(QUESTIONS)
            status, body = await load.do(client.call_tool, f"question {tool}", tool, arguments)
            if status == 200 and b'"isError":true' in body:
                sys.stderr.write(f"{tool} {arguments}: {body[:300].decode()}\n")
            if not await load.pause(around(plan.burst_seconds, chance)):
                return
        if not await load.pause(around(plan.idle_seconds, chance)):
            return


async def repeat(
    load: Load, seconds: float, chance: random.Random, work: Callable[[int], Awaitable[None]]
) -> None:
    if not await load.pause(chance.uniform(0, seconds)):
        return
    number = 0
    while True:
        number += 1
        await work(number)
        if not await load.pause(around(seconds, chance)):
            return


async def push_at_limit(load: Load, account: Mapping[str, Any]) -> None:
    """Send a request every 60 ms regardless of response times, like several senders together."""
    client, begin, sent = load.client(account), time.monotonic(), 0
    running: set[asyncio.Task[Any]] = set()
    while await load.pause(max(0.0, begin + sent * LIMIT_SECONDS - time.monotonic())):
        sent += 1
        task = asyncio.create_task(load.do(push, client, "push at the limit", load.plan.limit_events))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)


def push(client: Tenant, kind: str, count: int) -> None:
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    events = [
        {"metric": "requests", "quantity": 1, "customer_id": f"c-{number % 50}", "timestamp": moment}
        for number in range(count)
    ]
    headers = {"Authorization": f"Bearer {client.usage}", "Idempotency-Key": str(uuid4())}
    client.request(kind, "POST", "/api/usage/events", {"events": events}, headers)


def programs_of(load: Load, account: Mapping[str, Any], number: int) -> list[Awaitable[None]]:
    """Return the programs that push, upload, sync and enter rates for an account."""
    plan, owner = load.plan, load.client(account, account["sessions"][0])
    token = "a" * 32
    signed = {
        "Cookie": f"finops_session={owner.session}; finops_csrf={token}",
        "X-CSRFToken": token,
        "Origin": load.url,
    }

    async def send(_number: int) -> None:
        await load.do(push, owner, "push", 20)

    async def upload(number: int) -> None:
        month = today().replace(day=1) - timedelta(days=31 * (number + 12))
        await load.do(owner.upload, "import", f"Bill {number}", bill(month))

    async def sync(number: int) -> None:
        await load.do(write_month, Path(account["folder"]), number)
        path = f"/a/{owner.slug}/connections/{account['source']}/sync/"
        await load.do(owner.request, "sync", "POST", path, None, signed)

    async def enter_rate(number: int) -> None:
        day = f"{today() - timedelta(days=number)}"
        form = {"day": day, "base": "EUR", "quote": "USD", "rate": "1.0876"}
        path = f"/a/{owner.slug}/exchange-rates/new/"
        await load.do(owner.request, "exchange rate", "POST", path, b"", signed, form=form)

    works = [
        (plan.import_seconds, upload),
        (plan.sync_seconds, sync),
        (plan.rate_seconds, enter_rate),
        *([(plan.push_seconds, send)] if number else []),
    ]
    chances = [random.Random(f"{number} {at}") for at in range(len(works))]
    return [
        repeat(load, seconds, chance, work) for (seconds, work), chance in zip(works, chances, strict=True)
    ]


def write_month(folder: Path, extra: int) -> None:
    """Restate the current month with this many more lines than at first."""
    month = today().replace(day=1)
    first = bill(month)
    last = first.splitlines(keepends=True)[-1]
    target = folder / f"{month:%Y-%m}" / "part-1.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_bytes(first + last * extra)
    part.replace(target)


def today() -> date:
    """Return today's date in the console, which uses UTC."""
    return datetime.now(UTC).date()


def around(seconds: float, chance: random.Random) -> float:
    return seconds * chance.uniform(0.5, 1.5)


async def run(url: str, plan: Plan, accounts: list[dict[str, Any]], answers: Answers) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        load = Load(url, plan, answers, pool, asyncio.Event())
        clients: list[Awaitable[None]] = [push_at_limit(load, accounts[0])]
        for number, account in enumerate(accounts):
            slug = account["slug"]
            clients += [
                visit(load, account, session, random.Random(f"{slug} {at}"))
                for at, session in enumerate(account["sessions"])
            ]
            clients += [
                assist(load, account, random.Random(f"{slug} assistant {at}"))
                for at in range(plan.assistants)
            ]
            clients += programs_of(load, account, number)
        asyncio.get_running_loop().call_later(plan.seconds, load.ended.set)
        await asyncio.gather(*clients)


def main(plan_file: Path, answers_file: Path) -> None:
    config = json.loads(plan_file.read_text())
    answers, start = Answers(), time.monotonic()
    asyncio.run(run(config["url"], Plan(**config["plan"]), config["accounts"], answers))
    with answers_file.open("w") as file:
        file.writelines(
            json.dumps(answer._replace(at=answer.at - start)._asdict()) + "\n" for answer in answers.all
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
