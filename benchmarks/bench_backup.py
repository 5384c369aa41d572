"""Backup and restore of a large lake, compared with basic operations on the same bytes in the same run.

Files of random bytes stand for zstd-compressed Parquet; their content does not matter for a backup. For a folder the
peers are `cp` with `sync`, and `sha256sum`; for a bucket, a plain upload to the same server and a plain download.
Each turn is peer, backup, backup without changes, restore, with a separate target. BENCH_BACKUP_MB (2,000; a fifth of
it for the bucket), BENCH_BACKUP_TURNS (3).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final

import boto3  # type: ignore[import-untyped] # comes with moto
from django.conf import settings
from django.db import connection

from accounts.models import Account, User
from accounts.services import create_account
from benchmarks.table import Row
from finops.backup.encryption import new_key
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.segments import sha256
from finops.lake.storage.storage import storage
from tests.s3 import KEY, REGION, create_bucket, variables
from tests.waiting import wait_until

MB: Final = int(os.environ.get("BENCH_BACKUP_MB", "2000"))
FILE_MB: Final = 40
TURNS: Final = int(os.environ.get("BENCH_BACKUP_TURNS", "3"))


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of processors in the processes that did it (servers not counted)."""

    clock: float
    cpu: float


Turn = dict[str, Spent]


def measure() -> list[Row]:
    files = _make_lake(MB)
    identity, _recipient = new_key()
    rows = _rows("folder", MB, [_folder_turn(files, "") for _ in range(TURNS)])
    rows += _rows("folder, encrypted", MB, [_folder_turn(files, identity) for _ in range(TURNS)])
    LakeSegment.objects.unscoped().filter(pk__gt=_pk_of(files[MB // FILE_MB // 5 - 1])).delete()
    small = files[: MB // FILE_MB // 5]
    with _s3_server() as url:
        rows += _rows("bucket", len(small) * FILE_MB, [_bucket_turn(small, url) for _ in range(TURNS)])
    return rows


def _make_lake(megabytes: int) -> list[Path]:
    owner = User.objects.create_user("owner@example.com", "a long enough secret")
    account: Account = create_account(name="Backup", owner=owner, slug="backup")
    files = []
    for number in range(megabytes // FILE_MB):
        new = storage().new_file()
        with new.open("wb") as file:
            for _ in range(FILE_MB):
                file.write(secrets.token_bytes(10**6))
        month = date(2015 + number // 12, number % 12 + 1, 1)
        segment = LakeSegment(
            account=account, kind=Kind.COST, source_id=1, month=month, first_day=month, last_day=month
        )
        segment.path = f"{account.pk}/cost/{month:%Y-%m}/{number}.parquet"
        segment.columns, segment.rows = ["billed_cost"], 1
        segment.bytes, segment.checksum = new.stat().st_size, sha256(new)
        storage().put(new, segment.path)
        segment.save()
        files.append(Path(storage().local(segment.path, segment.checksum)))
    return files


def _pk_of(file: Path) -> int:
    return LakeSegment.objects.unscoped().get(path__endswith=f"/{file.name}").pk


def _folder_turn(files: list[Path], key: str) -> Turn:
    with tempfile.TemporaryDirectory(prefix="bench-backup-", dir=settings.VAR_DIR) as folder:
        copies = Path(folder, "copies")
        copies.mkdir()
        turn = {
            "cp and sync": _spent(
                lambda: _command(["sh", "-c", 'cp "$@" && sync', "sh", *map(str, files), str(copies)])
            ),
            "sha256sum": _spent(lambda: _command(["sha256sum", *map(str, files)])),
        }
        shutil.rmtree(copies)
        environment = {"BACKUP_KEY": key}
        turn |= _backup_and_restore(f"{folder}/target", files, environment)
    return turn


def _bucket_turn(files: list[Path], url: str) -> Turn:
    bucket = f"b{secrets.token_hex(4)}"
    create_bucket(url, bucket)
    client = boto3.client(
        "s3", endpoint_url=url, aws_access_key_id=KEY, aws_secret_access_key=KEY, region_name=REGION
    )

    def upload() -> None:
        for file in files:
            client.upload_file(str(file), bucket, f"bare/{file.name}")

    def download() -> None:
        for file in files:
            with tempfile.NamedTemporaryFile(dir=settings.VAR_DIR) as copy:
                client.download_file(bucket, f"bare/{file.name}", copy.name)

    turn = {"bare upload": _spent(upload), "bare download": _spent(download)}
    return turn | _backup_and_restore(f"s3://{bucket}/target", files, variables(url))


def _backup_and_restore(target: str, files: list[Path], environment: dict[str, str]) -> Turn:
    turn = {
        "backup": _in_process("backup", target, environment),
        "unchanged": _in_process("backup", target, environment),
    }
    for file in files:
        file.unlink()
    turn["restore"] = _in_process("restore", target, environment)
    return turn


def _in_process(command: str, target: str, environment: dict[str, str]) -> Spent:
    """Run in a child process, whose start is not counted, because a restore needs exclusive use of the database."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined] # PostgreSQL's has it
    output = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import django; django.setup(); from benchmarks.bench_backup import child; child({command!r}, {target!r})",
        ],
        env={**os.environ, **environment, "DATABASE_POOL": "0"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return Spent(**json.loads(output.splitlines()[-1]))


def child(command: str, target: str) -> None:
    """Run a backup or restore in this process and print its figures."""
    from finops.backup.encryption import encryption_of
    from finops.backup.restoration import restore_backup
    from finops.backup.services import create_backup
    from finops.backup.targets import open_target

    opened, encryption = open_target(target), encryption_of(settings.BACKUP_KEY)

    def work() -> None:
        if command == "backup":
            create_backup(target=opened, encryption=encryption, progress=_ignore)
        else:
            restore_backup(target=opened, encryption=encryption, progress=_ignore, replace=True)

    spent = _spent(work)
    sys.stdout.write(json.dumps({"clock": spent.clock, "cpu": spent.cpu}) + "\n")


def _ignore(_text: str) -> None:
    return


def _command(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def _spent(work: Callable[[], None]) -> Spent:
    def cpu() -> float:
        children = getrusage(RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    clock_before, cpu_before = time.perf_counter(), cpu()
    work()
    return Spent(time.perf_counter() - clock_before, cpu() - cpu_before)


def _rows(target: str, megabytes: int, turns: list[Turn]) -> list[Row]:
    """Return rows whose ratios are the median of each turn's ratio by the clock."""
    peers = [name for name in turns[0] if name not in ("backup", "unchanged", "restore")]
    rows: list[Row] = []
    for name in turns[0]:
        row: dict[str, str | float] = {
            "target": target,
            "what": name,
            "MB/s": round(median(megabytes / turn[name].clock for turn in turns)),
            "CPU s a GB": round(median(turn[name].cpu for turn in turns) * 1000 / megabytes, 2),
        }
        for peer in peers:
            ratios = [turn[name].clock / turn[peer].clock for turn in turns]
            row[f"times {peer}"] = round(median(ratios), 2)
        rows.append(row)
    return rows


@contextmanager
def _s3_server() -> Iterator[str]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _answers(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
