"""Peak memory and duration of exporting a month of 10 million lines to a folder, with a team and a cost tag.

BENCH_EXPORT_LINES (10,000,000) in segments of a million; LAKE_MEMORY_BYTES is DuckDB's part of the memory. The peer
is DuckDB's own COPY of the same files to Parquet.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any, Final

import duckdb
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, connections

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks import lake_data
from benchmarks.memory import growth
from benchmarks.table import Row
from finops.allocation.rules import Rule, Test
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.data_exports.models import DataExport
from finops.data_exports.services import exports, runs
from finops.lake.queries import lake_files
from finops.lake.schema import Kind
from finops.lake.storage import segments

LINES: Final = int(os.environ.get("BENCH_EXPORT_LINES", "10000000"))
WANTED_MB: Final = 1_024
MONTH: Final = date(2026, 1, 1)
ACTOR: Final = Actor.command("bench")


def measure() -> list[Row]:
    owner = get_user_model().objects.create_user("bench@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-exports")
    with account_scope(account), tempfile.TemporaryDirectory(dir=settings.VAR_DIR) as folder:
        settings.DATA_EXPORT_FOLDERS = [folder]
        for source in range(1, LINES // lake_data.LINES_A_MONTH + 1):
            new = lake_data.write_month(account, MONTH, lake_data.FEW_TAGS, source)
            segments.swap_segments(
                account=account, kind=Kind.COST, source_id=source, months=[MONTH], new=[new]
            )
        _allocate(account)
        return [_export(account, folder), _unchanged_export_row(account), _copy(account, Path(folder))]


def _allocate(account: Account) -> None:
    set_team_key(account=account, actor=ACTOR, dimension="tag:team")
    for name in ("core", "data"):
        own_value(team=create_team(account=account, actor=ACTOR, name=name), actor=ACTOR, value=name)
    rules = [Rule(value="production", when=Test(dimension="tag:env", values=("prod", "production")))]
    create_cost_tag(account=account, actor=ACTOR, key="stage", rules=rules, default_value="other")


def _copy(account: Account, folder: Path) -> Row:
    paths = [str(Path(settings.LAKE_URL, file.path)) for file in lake_files(account, Kind.COST)]
    started = time.monotonic()
    duckdb.sql(f"COPY (SELECT * FROM read_parquet({paths})) TO '{folder}/peer.parquet' (COMPRESSION snappy)")
    return _row("DuckDB COPY (peer)", time.monotonic() - started, (folder / "peer.parquet").stat().st_size)


def _export(account: Account, folder: str) -> Row:
    export = exports.create_data_export(
        account=account, actor=ACTOR, name="focus", destination="folder", values={"folder": folder}
    )
    run = export.runs.get()
    most = _growth_in_child(run.pk)
    run.refresh_from_db()
    row = _row("data export", run.seconds or 0, run.bytes)
    reached = most < WANTED_MB and run.status == "done" and run.rows == LINES
    return {**row, "peak, MB": round(most), "target, MB": WANTED_MB, "met": reached}


def _unchanged_export_row(account: Account) -> Row:
    export = DataExport.objects.get(account=account)
    run = runs.queue_run(export=export, actor=ACTOR)
    most = _growth_in_child(run.pk)
    run.refresh_from_db()
    row = _row("data export, unchanged", run.seconds or 0, 0)
    return {**row, "peak, MB": round(most), "met": run.months_unchanged == 1}


def _growth_in_child(run_id: int) -> float:
    """Measure in a child process, whose memory does not include the generated data."""
    connections.close_all()
    close_pool: Any = connection
    close_pool.close_pool()  # its threads stay with this process
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def do() -> None:
        sender.send(growth(lambda: runs.run_export(run_id)))

    child = multiprocessing.get_context("fork").Process(target=do)
    child.start()
    most: float = receiver.recv()
    child.join()
    return most


def _row(operation: str, seconds: float, size: int) -> Row:
    return {"month": operation, "lines": LINES, "seconds": round(seconds, 1), "MB": round(size / 10**6)}
