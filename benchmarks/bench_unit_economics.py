"""The page Unit economics on the demo: milliseconds of a request in process, wall and processor time, at p50 and p95.

Every usage metric and saved unit metric of the demo, by mode, days, bucket, comparison, filter and splits, with all of a
page: question, answer, charts, tables. *anew* runs every lake query; *again* finds the answers of a question asked before.
The processor time is that of this process, which runs DuckDB too; PostgreSQL's is in the wall time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from statistics import median, quantiles

from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.table import Row, Timing
from finops.demo.people import SLUG, demo_user
from finops.unitcosts.models import UnitMetric
from ingestion.queries import metrics_of
from tests.cast import signed_in
from tests.live_settings import STORAGES

ROUNDS = 3
LIMIT_MS = 300
PAGE = f"/a/{SLUG}/unit-economics/"

MODES = ("total", "per_customer")
DAYS = (
    {"period": "last_30_days", "granularity": "day"},
    {"period": "last_90_days", "granularity": "week"},
    {"period": "last_12_months", "granularity": "month"},
)
VARIANTS: tuple[dict[str, str], ...] = (
    {"compare_to": "previous_period"},
    {"compare_to": "previous_period", "splits": "after"},
    {"compare_to": "none", "f0": "tag:env", "f0op": "contains", "f0v": "prod"},
)


def measure() -> list[Row]:
    """Return one row per kind of query, and one for all; `in limit` refers to the wall time of an uncached query."""
    call_command("load_demo", verbosity=0)
    person, account = demo_user(), Account.objects.get(slug=SLUG)
    assert person is not None
    client = signed_in(person)
    with account_scope(account):
        questions = dict(_questions(account))
    anew: dict[str, list[Timing]] = {kind: [] for kind in questions}
    again: dict[str, list[Timing]] = {kind: [] for kind in questions}
    most_queries = dict.fromkeys(questions, 0)
    with override_settings(STORAGES=STORAGES):
        # Before any answer is kept: answers that are would be found, also where no more are kept.
        with override_settings(LAKE_ANSWERS_BYTES=0):
            for kind, params in _rounds(questions):
                anew[kind].append(_timing(client, params))
        for kind, params in _rounds(questions):
            with CaptureQueriesContext(connection) as queries:
                client.get(PAGE, params)
            most_queries[kind] = max(most_queries[kind], len(queries))
            again[kind].append(_timing(client, params))
    rows = [_row(kind, anew[kind], again[kind], most_queries[kind]) for kind in questions]
    every, every_again = (list(itertools.chain.from_iterable(timings.values())) for timings in (anew, again))
    return [*rows, _row("all", every, every_again, max(most_queries.values()))]


def _rounds(questions: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, dict[str, str]]]:
    for _ in range(ROUNDS):
        for kind, urls in questions.items():
            yield from ((kind, params) for params in urls)


def _questions(account: Account) -> Iterator[tuple[str, list[dict[str, str]]]]:
    names = [metric.name for metric in metrics_of(account)]
    for variant in VARIANTS:
        kind = "filtered" if "f0" in variant else "after splits" if "splits" in variant else "compared"
        for mode in MODES:
            of_mode = {"mode": mode, **variant}
            yield (
                f"{mode}, {kind}",
                [{"usage_metric": name, **of_mode, **days} for name in names for days in DAYS],
            )
    yield (
        "saved unit metrics",
        [
            {"unit_metric": name, **days}
            for name in UnitMetric.objects.values_list("name", flat=True)
            for days in DAYS
        ],
    )


def _timing(client: Client, params: dict[str, str]) -> Timing:
    wall, processor = time.perf_counter(), time.process_time()
    answer = client.get(PAGE, params)
    spent = Timing((time.perf_counter() - wall) * 1_000, (time.process_time() - processor) * 1_000)
    assert answer.status_code == 200, (params, answer.status_code)
    return spent


def _row(kind: str, anew: list[Timing], again: list[Timing], queries: int) -> Row:
    walls, processors = [each.clock for each in anew], [each.cpu for each in anew]
    return {
        "query": kind,
        "requests": len(anew),
        "uncached, p50 ms": median(walls),
        "uncached, p95 ms": _p95(walls),
        "uncached, processor p50 ms": median(processors),
        "uncached, processor p95 ms": _p95(processors),
        "cached, p95 ms": _p95([each.clock for each in again]),
        "cached, processor p95 ms": _p95([each.cpu for each in again]),
        "queries": queries,
        f"p95 under {LIMIT_MS} ms": _p95(walls) < LIMIT_MS,
    }


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]
