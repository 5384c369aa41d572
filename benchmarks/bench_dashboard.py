"""A dashboard of twelve widgets over a year of 12 million lines: seconds until the last widget is loaded.

Each dashboard is loaded in a new process without caches (`board_process.py`): cold, then again with its caches.
Widgets are requested in parallel, six at a time like a browser, through the pages (Django's test client in threads,
without network and rendering). *typed* is the lower bound in the same run: the same queries as SQL over the lines,
one script in a separate DuckDB with the same number of threads; it only computes sums, without texts.

BENCH_LAKE_DIR=/some/folder keeps the year and its rollups for the next run (1 GB).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import duckdb
import msgspec

from accounts.audit import Actor
from accounts.models import Account, Role, User
from accounts.scoping import account_scope
from accounts.services import add_member, create_account
from benchmarks import lake_data
from benchmarks.table import Row
from finops.budgets.models import Budget
from finops.costs.models import CostSource
from finops.dashboards.services import create_dashboard
from finops.dashboards.starters import draft
from finops.lake import queries
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.storage import storage

TURNS = int(os.environ.get("BENCH_BOARD_TURNS", "3"))
LIMIT_SECONDS = 2.0
ACTOR = Actor.command("bench")
TYPES = (
    *("total", "total, month", "spend_over_time", "spend_over_time, year", "spend_by region", "spend_by tag"),
    *("top_movers", "budget_status", "anomalies", "commitment_utilization", "table", "text"),
)

_AMOUNT = "sum(billed_cost)"
_MONTH = "charge_date BETWEEN '2025-11-20' AND '2025-12-19'"
_TWO = "charge_date BETWEEN '2025-10-21' AND '2025-12-19'"
_YEAR = "charge_date BETWEEN '2024-12-21' AND '2025-12-20'"
_SIDES = f"sum(billed_cost) FILTER ({_MONTH}), sum(billed_cost) FILTER (NOT {_MONTH})"
_COMMITMENT = (
    "source, provider, service, commitment_id, commitment_type, commitment_category, commitment_status, charge_category, "
    "charge_frequency, commitment_unit"
)
TYPED = (
    f"SELECT charge_date, charge_category, {_AMOUNT} FROM {{files}} WHERE {_TWO} GROUP BY ALL",
    f"SELECT charge_date, charge_category, {_AMOUNT} FROM {{files}} WHERE {_TWO} GROUP BY ALL",
    f"SELECT charge_date, service, {_AMOUNT} FROM {{files}} WHERE {_MONTH} GROUP BY ALL",
    f"SELECT date_trunc('month', charge_date), service, {_AMOUNT} FROM {{files}} WHERE {_YEAR} GROUP BY ALL",
    f"SELECT region, {_AMOUNT} FROM {{files}} WHERE {_MONTH} GROUP BY ALL",
    f'SELECT "tag:team", {_AMOUNT} FROM {{files}} WHERE {_MONTH} GROUP BY ALL',
    (
        "SELECT service, sku_id, consumed_unit, sum(consumed_quantity), "
        f"{_SIDES} FROM {{files}} WHERE {_TWO} GROUP BY ALL"
    ),
    f"SELECT charge_date, source, {_AMOUNT} FROM {{files}} WHERE {_YEAR} GROUP BY ALL",
    (
        f"SELECT {_COMMITMENT}, sum(effective_cost), sum(list_cost), sum(contracted_cost), sum(commitment_quantity), "
        f"max(commitment_name), max(charge_description) FROM {{files}} WHERE {_MONTH} GROUP BY ALL"
    ),
    "SELECT source, commitment_id, max(charge_date) FROM {files} WHERE commitment_id IS NOT NULL GROUP BY ALL",
    f"SELECT service, region, {_SIDES} FROM {{files}} WHERE {_TWO} GROUP BY ALL",
)
"""Queries of the widgets; anomalies and text do not query the bill."""


def measure() -> list[Row]:
    owner, viewer = (User.objects.create(email=f"{name}@bench.example") for name in ("owner", "viewer"))
    account = create_account(name="Board", owner=owner, slug="board")
    add_member(account=account, user=viewer, role=Role.VIEWER, actor=ACTOR)
    lake_data.make_year(account, 2025, lake_data.FEW_TAGS)
    with account_scope(account):
        CostSource.objects.create(account=account, pk=1, name="Bills")
        urls = _board(account)
    over_lines = _draw(viewer, urls)
    start = process_time()
    lake_data.summarise(account, lake_data.FEW_TAGS)
    setup_seconds = process_time() - start
    painted, typed = [], []
    for _ in range(TURNS):
        painted.append(_draw(viewer, urls))
        typed.append(_bare_seconds(account))
    return [
        _row("typed into DuckDB, over the lines", typed, typed),
        _row("cold, over the lines (no summary yet)", [over_lines["cold"]], typed),
        _row("cold", [each["cold"] for each in painted], typed, limit=True),
        _row("then all of them: last 30 days", [each["days"] for each in painted], typed, limit=True),
        _row("warm, nothing kept", [each["warm"] for each in painted], typed, limit=True),
        _row("again, answers kept", [each["kept"] for each in painted], typed, limit=True),
        *_idle_rows(painted),
        _summaries(account, setup_seconds),
    ]


def _row(title: str, timings: list[list[float]], typed: list[list[float]], *, limit: bool = False) -> Row:
    seconds, cpu = (statistics.median(values) for values in zip(*timings, strict=True))
    beside, beside_cpu = (statistics.median(values) for values in zip(*typed, strict=True))
    return {
        "12 widgets": title,
        "all loaded, s": round(seconds, 2),
        "CPU s": round(cpu, 2),
        "ratio to SQL": round(seconds / beside, 2),
        "CPU of typed": round(cpu / beside_cpu, 2),
        "within 2 s": seconds <= LIMIT_SECONDS if limit else "",
    }


def _idle_rows(painted: list[Any]) -> list[Row]:
    return [
        {
            "one widget, warm, uncached": name,
            "ms": statistics.median(each["alone"][at][0] * 1_000 for each in painted),
            "CPU ms": statistics.median(each["alone"][at][1] * 1_000 for each in painted),
        }
        for at, name in enumerate(TYPES)
    ]


def _summaries(account: Account, cpu: float) -> Row:
    lines = list(LakeSegment.objects.unscoped().filter(account=account).values_list("rows", "bytes"))
    rollups = list(LakeRollup.objects.unscoped().filter(account=account).values_list("rows", "bytes"))
    return {
        "lines": f"{sum(rows for rows, _ in lines):,}",
        "MB": round(sum(size for _, size in lines) / 10**6),
        "rows of their rollups": f"{sum(rows for rows, _ in rollups):,}",
        "MB of summaries": round(sum(size for _, size in rollups) / 10**6),
        "CPU s to make (0: kept of an earlier run)": round(cpu, 1),
    }


def _draw(viewer: User, urls: list[str]) -> Any:
    """Return the output of `board_process` in a new process without caches."""
    script = Path(__file__).with_name("board_process.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(viewer.pk), *urls],
        capture_output=True,
        check=False,
        cwd=script.parent.parent,
        env={**os.environ, "PYTHONPATH": str(script.parent.parent)},
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode()[-2_000:])
    return msgspec.json.decode(ran.stdout.splitlines()[-1])


def _bare_seconds(account: Account) -> list[float]:
    """Return seconds and processor seconds of the queries as one script."""
    store, year = storage(), (date(2024, 12, 1), date(2025, 12, 31))
    paths = [
        store.local(each.path, each.checksum) for each in queries.live_segments(account, Kind.COST, *year)
    ]
    with duckdb.connect(config={"threads": os.cpu_count() or 1}) as bare:
        start, used = perf_counter(), process_time()
        for sql in TYPED:
            bare.execute(sql.format(files=f"read_parquet({paths})")).to_arrow_table()
        return [perf_counter() - start, process_time() - used]


def _board(account: Account) -> list[str]:
    for number in range(6):
        Budget.objects.create(name=f"Budget {number}", amount=Decimal(10**7), currency="USD")
    places = [((number % 3) * 4, (number // 3) * 5, 4, 5) for number in range(12)]
    dashboard = create_dashboard(
        account=account,
        actor=ACTOR,
        name="Twelve",
        widgets=[
            draft("total", places[0]),
            draft("total", places[1], period="month_to_date"),
            draft("spend_over_time", places[2]),
            draft("spend_over_time", places[3], period="last_12_months", granularity="month"),
            draft("spend_by", places[4], group_by="region"),
            draft("spend_by", places[5], group_by="tag:team"),
            draft("top_movers", places[6]),
            draft("budget_status", places[7]),
            draft("anomalies", places[8]),
            draft("commitment_utilization", places[9]),
            draft("table", places[10], group_by=["service", "region"], compare_to="previous_period"),
            draft("text", places[11], text="What this board is about."),
        ],
    )
    return [f"/a/{account.slug}/dashboards/widgets/{each.pk}/" for each in dashboard.widgets.all()]
