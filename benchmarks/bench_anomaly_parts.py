"""Detection in parts by one and by two worker processes, in turns of one run, and a projection for four.

BENCH_PART_SERIES (1,600) services with one line per day for 240 days, each with its own amounts, in parts of 100. A
turn gives one process two parts, then two processes one each; the processes have already started. Then the results of
all parts are merged.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from statistics import median

import numpy as np
import pyarrow as pa

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.table import Row
from finops.costs.models import CostSource
from finops.insights.anomalies import parts, services
from finops.insights.models import AnomalyRun
from finops.lake import schema
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib import clock
from finops.lib.cost_access import cost_access

SERIES = int(os.environ.get("BENCH_PART_SERIES", "1_600"))
OF_A_PART = 100
DAYS = 240
LARGE = 100_000


def measure() -> list[Row]:
    parts.SERIES, parts.LEAST_LINES = OF_A_PART, 1  # type: ignore[misc]
    account = Account.objects.create(name="parts", slug="parts")
    with account_scope(account), cost_access(None):
        _write_bill(account)
        used = time.process_time()
        services.detect_if_due(account)
        plan_seconds = time.process_time() - used
        count = len(AnomalyRun.objects.get().parts["parts"])
    by_one, by_two, cpu_one, cpu_two = [], [], [], []
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(account)) for _ in range(2)]
        numbers = iter(range(count))
        for process in workers:
            _detect(process, [next(numbers)])  # the first detection of a process imports what it needs
        for first in numbers:
            remaining = [
                number for number in (first, *(next(numbers, None) for _ in range(3))) if number is not None
            ]
            if len(remaining) < 4:
                _detect(workers[0], remaining)
                break
            clock_one, cpu = _measure([(workers[0], remaining[:2])])
            by_one.append(clock_one)
            cpu_one.append(cpu)
            clock_two, cpu = _measure([(workers[0], remaining[2:3]), (workers[1], remaining[3:])])
            by_two.append(clock_two)
            cpu_two.append(cpu)
    with account_scope(account), cost_access(None):
        used = time.process_time()
        services.detect_if_due(account)
        end_seconds = time.process_time() - used
        assert AnomalyRun.objects.get().series == SERIES
    ratio = median(a / b for a, b in zip(by_one, by_two, strict=True))
    cpu_per_series = median(cpu_one) / (2 * OF_A_PART)
    return [
        {
            "series": SERIES,
            "parts": count,
            "plan, processor s": plan_seconds,
            "two parts by one worker, s": median(by_one),
            "by two workers, s": median(by_two),
            "speedup": ratio,
            "ms per series, one worker": cpu_per_series * 1_000,
            "ms per series, two workers": median(cpu_two) / (2 * OF_A_PART) * 1_000,
            "merging results, processor s": end_seconds,
        },
        *(
            {
                "workers": workers_,
                "100,000 series, minutes": cpu_per_series * LARGE / 60 / workers_,
                "how": "processor seconds of one, over cores of their own",
            }
            for workers_ in (1, 2, 4)
        ),
    ]


def _write_bill(account: Account) -> None:
    source = CostSource.objects.create(account=account, name="Bill")
    last = clock.today() - timedelta(days=1)
    days = [last - timedelta(days=back) for back in range(DAYS)]
    for month in sorted({day.replace(day=1) for day in days}):
        _write_month(account, source, month, sorted(day for day in days if day.replace(day=1) == month))


def _write_month(account: Account, source: CostSource, month: date, days: Sequence[date]) -> None:
    random = np.random.default_rng(month.toordinal())
    rows = SERIES * len(days)
    size = np.repeat(np.random.default_rng(1).lognormal(3, 2, SERIES), len(days))
    week = np.tile([0.6 if day.weekday() > 4 else 1.0 for day in days], SERIES)
    cost = pa.array(np.round(size * week * random.normal(1, 0.05, rows), 6)).cast(pa.decimal128(30, 6))
    columns = {
        "charge_date": pa.array(list(days) * SERIES, pa.date32()),
        "billing_period": pa.array([month] * rows, pa.date32()),
        "source": pa.array([str(source.pk)] * rows),
        "service": pa.array(np.repeat([f"service {number:06}" for number in range(SERIES)], len(days))),
        "billed_cost": cost.cast(schema.MONEY),
        "effective_cost": cost.cast(schema.MONEY),
        "currency": pa.array(["USD"] * rows),
    }
    full = schema.segment_schema(Kind.COST, [])
    table = pa.table(
        {field.name: columns.get(field.name, pa.nulls(rows, field.type)) for field in full}, schema=full
    )
    new = segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=source.pk,
        month=month,
        batches=table.to_batches(),
        schema=full,
    )
    segments.swap_segments(account=account, kind=Kind.COST, source_id=source.pk, months=[month], new=[new])


@contextmanager
def _worker(account: Account) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.anomaly_part_process", str(account.pk)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _detect(process: subprocess.Popen[str], numbers: Sequence[int]) -> float:
    """Return the processor seconds of these parts."""
    return _measure([(process, numbers)])[1]


def _measure(work: Sequence[tuple[subprocess.Popen[str], Sequence[int]]]) -> tuple[float, float]:
    """Seconds of the clock, and of the processors."""
    start, cpu = time.perf_counter(), 0.0
    for process, numbers in work:
        assert process.stdin is not None
        process.stdin.write("".join(f"{number}\n" for number in numbers))
        process.stdin.flush()
    for process, numbers in work:
        assert process.stdout is not None
        cpu += sum(float(process.stdout.readline()) for _ in numbers)
    return time.perf_counter() - start, cpu
