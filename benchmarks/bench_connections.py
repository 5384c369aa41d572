"""A month from an S3 server into the lake: listing, manifest, download and import, as a sync does it.

Peer in the same run: pyarrow reads the same objects from the same server into memory, without checks and without
storing. Azure's files are delivered in AWS's layout, because only the mapping is measured. The target is 0.8 of the
peer's speed. The server is moto's, in a separate process on the same two cores.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from django.conf import settings
from django.contrib.auth import get_user_model
from pyarrow.fs import S3FileSystem

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.azure_files import write_exports
from benchmarks.cur_reports import write_reports
from benchmarks.focus_files import write_csv
from benchmarks.memory import growth
from benchmarks.table import Row, timings
from finops.connections.aws import AwsBucketConfig
from finops.connections.connector import Fetch
from finops.connections.connectors import connector_of
from finops.costs import services
from finops.costs.models import CostSource
from tests.s3 import KEY, REGION, create_bucket
from tests.servers import free_port
from tests.waiting import wait_until

ROWS = int(os.environ.get("BENCH_CONNECTIONS_ROWS", "1000000"))
FILES = 10
TURNS = 2
ACTOR = Actor.command("bench")
BUCKET = "bench-exports"
MONTH = "2026-05"
WANTED = 0.8
SAMPLE_LINES = 20_000


def measure() -> list[Row]:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with tempfile.TemporaryDirectory(dir="/tmp") as name, _server() as url:
        folder = Path(name)
        create_bucket(url, BUCKET)
        exports = {
            "FOCUS 1.3 CSV.gz": ("focus", _csv_files),
            "CUR 2.0 Parquet": ("cur2", _parquet_files),
            "CUR 2.0 Parquet, few different lines": ("cur2-alike", _alike_files),
            "Azure CSV.gz": ("azure", _azure_files),
        }
        sizes = {form: _deliver(url, export, make(folder)) for form, (export, make) in exports.items()}
        owner = get_user_model().objects.create_user("bench@example.com")
        account = create_account(name="Bench", owner=owner, slug="bench-connections")
        with account_scope(account):
            return [
                _row(account, form, url, export, sizes[form], folder) for form, (export, _) in exports.items()
            ]


@contextmanager
def _server() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url), lambda: "the S3 server did not come up")
        yield url
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        _client(url).list_buckets()
    except Exception:  # noqa: BLE001 whatever it is, the server is not there yet
        return False
    return True


def _client(url: str) -> boto3.client:
    return boto3.client(
        "s3", endpoint_url=url, aws_access_key_id=KEY, aws_secret_access_key=KEY, region_name=REGION
    )


def _csv_files(folder: Path) -> Iterator[Path]:
    plain = folder / "plain.csv"
    for number in range(FILES):
        write_csv(plain, ROWS // FILES, seed=number)
        packed = folder / f"part-{number:05d}.csv.gz"
        with plain.open("rb") as file, gzip.open(packed, "wb", compresslevel=6) as into:
            shutil.copyfileobj(file, into)
        yield packed
    plain.unlink()


def _parquet_files(folder: Path) -> Iterator[Path]:
    return write_reports(folder, ROWS, FILES)


def _alike_files(folder: Path) -> Iterator[Path]:
    """Write files that are easiest for a reader: almost all values are in dictionaries."""
    return write_reports(folder, ROWS, FILES, different=SAMPLE_LINES)


def _azure_files(folder: Path) -> Iterator[Path]:
    return write_exports(folder, ROWS, FILES)


def _deliver(url: str, export: str, files: Iterator[Path]) -> int:
    """Upload files in the layout of AWS Data Exports and return the number of bytes."""
    client, urls, size = _client(url), [], 0
    for path in files:
        key = f"exports/{export}/data/BILLING_PERIOD={MONTH}/{path.name}"
        client.upload_file(str(path), BUCKET, key)
        urls.append(f"s3://{BUCKET}/{key}")
        size += path.stat().st_size
        path.unlink()
    manifest = f"exports/{export}/metadata/BILLING_PERIOD={MONTH}/{export}-Manifest.json"
    client.put_object(Bucket=BUCKET, Key=manifest, Body=json.dumps({"dataFiles": urls}).encode())
    return size


def _row(account: Account, form: str, url: str, export: str, size: int, folder: Path) -> Row:
    source = services.create_cost_source(account=account, name=form, actor=ACTOR)
    config = AwsBucketConfig(
        bucket=BUCKET,
        prefix="exports",
        export=export,
        region=REGION,
        access="access_key",
        access_key_id=KEY,
        secret_access_key=KEY,
        endpoint=url,
    )
    rows: list[int] = []

    def through_finops() -> None:
        rows.append(_sync(account, source, config, folder))

    peer = _by_pyarrow(url, export, is_csv=form.endswith("CSV.gz"))
    fetched = timings(1, fetch=lambda: _fetch_alone(config, folder))["fetch"].clock
    by_action = timings(TURNS, finops=through_finops, pyarrow=peer)
    share = by_action["pyarrow"].clock / by_action["finops"].clock
    return {
        "month": form,
        "rows": rows[0],
        "MB": round(size / 10**6),
        "rows/s": round(rows[0] / by_action["finops"].clock * 1_000),
        "fetch, s": fetched / 1_000,
        "pyarrow rows/s": round(rows[0] / by_action["pyarrow"].clock * 1_000),
        "ratio to pyarrow": share,
        "ratio to pyarrow, by CPU": by_action["pyarrow"].cpu / by_action["finops"].cpu,
        "target": WANTED,
        "met": share >= WANTED,
        "memory growth, MB": round(growth(through_finops)),
        "pyarrow's by, MB": round(growth(peer)),
    }


def _fetch_alone(config: AwsBucketConfig, folder: Path) -> None:
    connector = connector_of("aws_data_exports")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        (month,) = connector.months(config)
        assert month.month == date(2026, 5, 1)
        connector.fetch(config, month, Fetch(Path(name)))


def _sync(account: Account, source: CostSource, config: AwsBucketConfig, folder: Path) -> int:
    connector = connector_of("aws_data_exports")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        (month,) = connector.months(config)
        files = connector.fetch(config, month, Fetch(Path(name)))
        paths = [each.path for each in files]
        return int(services.import_files(account=account, source=source, paths=paths, actor=ACTOR).rows)


def _by_pyarrow(url: str, export: str, *, is_csv: bool) -> Callable[[], object]:
    server = S3FileSystem(
        access_key=KEY,
        secret_key=KEY,
        region=REGION,
        scheme="http",
        endpoint_override=url.removeprefix("http://"),
    )
    folder = f"{BUCKET}/exports/{export}/data/BILLING_PERIOD={MONTH}"
    if not is_csv:
        return lambda: pq.read_table(folder, filesystem=server, partitioning=None)

    def read() -> list[pa.Table]:
        tables = []
        for number in range(FILES):
            with server.open_input_stream(f"{folder}/part-{number:05d}.csv.gz", compression="gzip") as file:
                options = pacsv.ParseOptions(newlines_in_values=True)
                tables.append(pacsv.read_csv(file, parse_options=options))
        return tables

    return read
