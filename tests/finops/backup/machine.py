"""Machines of a backup's tests: one that works, and empty ones to restore on. Functions here run in a machine's own process."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.backup import records
from finops.backup.models import BackupRun
from finops.backup.runs import run_scheduled_backup
from finops.backup.services import read_record
from finops.backup.targets import open_target, target_name
from finops.costs.models import CostImport, CostSource
from finops.costs.services import files
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollup_scheduler
from finops.lake.rollups.rollups import RESOURCE_COLUMNS, Level
from finops.lake.storage import garbage_collection
from finops.lake.storage.storage import storage
from finops.lake.usage import compaction
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from tests.database_template import template
from tests.finops.lake.events import quantity_by as usage_by
from tests.finops.lake.facts import FEBRUARY, JANUARY, line, store, total
from tests.servers import LiveServer, _database

NO_SETTINGS: Mapping[str, str] = {}
KEYS = {"SECRET_KEY": "secret key of the backup's tests", "KEY_PEPPER": "pepper of the backup's tests"}


@contextmanager
def empty_machine(
    variables: Mapping[str, str] = NO_SETTINGS, *, migrated: bool = True
) -> Iterator[LiveServer]:
    """No rows, no files, no web process; without `migrated` no tables either."""
    with (
        _database(template() if migrated else None) as database,
        tempfile.TemporaryDirectory(prefix="finops-empty-") as var,
    ):
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "DATABASE_URL": database,
            "VAR_DIR": var,
            "DATABASE_POOL": "0",
            **KEYS,
            **variables,
        }
        machine = LiveServer("", environment, Path(var) / "log")
        machine.keeps_caller = True
        try:
            yield machine
        finally:
            machine.end_calls()


def run(machine: LiveServer, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a management command there."""
    code, text = machine.run("tests.finops.backup.machine:manage", *arguments)
    return int(code), str(text)


def record_of(target: Path) -> records.BackupRecord:
    return read_record(open_target(str(target)))


# In the machine's process


def scheduled_runs(hours: int = 0) -> list[tuple[str, str, str]]:
    """Status, trigger and error of each run, oldest first, after the worker's task so many hours from now."""
    with clock.frozen(datetime.now(UTC) + timedelta(hours=hours)):
        run_scheduled_backup()
    return backup_runs()


def backup_runs() -> list[tuple[str, str, str]]:
    return list(BackupRun.objects.order_by("pk").values_list("status", "trigger", "error"))


def add_interrupted_run() -> None:
    target = target_name(settings.BACKUP_TARGET)
    BackupRun.objects.create(
        trigger="schedule", target=target, started_at=datetime.now(UTC) - timedelta(hours=5)
    )


def manage(*arguments: str) -> tuple[int, str]:
    output = io.StringIO()
    try:
        call_command(*arguments, stdout=output)
    except CommandError as error:
        return error.returncode, f"{output.getvalue()}{error}"
    return 0, output.getvalue()


def company() -> None:
    """An account with two months of cost, their rollups, usage in the lake and a sealed secret."""
    owner = User.objects.create_user("owner@example.com", "a long enough secret")
    account = create_account(name="Acme", owner=owner, slug="acme")
    lines = [line(JANUARY, "0.10", resource_id=f"vm-{number}", service="Compute") for number in range(40)]
    store(account, lines)
    store(account, [line(FEBRUARY, "7.77")], month=FEBRUARY)
    rollups_again()


def more_cost() -> None:
    store(Account.objects.get(slug="acme"), [line(FEBRUARY, "8.88"), line(FEBRUARY, "1.00")], month=FEBRUARY)


def facts() -> dict[str, Any]:
    """What people would see."""
    account = Account.objects.get(slug="acme")
    return {
        "cost": str(total(account)),
        "segments": LakeSegment.objects.unscoped().filter(retired_at=None).count(),
        "rollups": LakeRollup.objects.unscoped().count(),
        "people": list(User.objects.values_list("email", flat=True)),
        "next_account": Account.objects.create(name="Next", slug="next").pk,
    }


def cost() -> str:
    return str(total(Account.objects.get(slug="acme")))


def event_counts(slug: str) -> dict[str, str]:
    """How often each pushed event counts, by its dimension `name`."""
    account = Account.objects.get(slug=slug)
    return {str(name): f"{count:.3f}" for name, count in usage_by(account, "dim:name", "name").items()}


def flush(slug: str) -> None:
    flush_usage(Account.objects.get(slug=slug))


def housekeeping(slug: str) -> int:
    """What workers do all the time, and a sweep of a time when all that was retired may go: files that it removed."""
    account = Account.objects.get(slug=slug)
    flush_usage(account)
    compaction.tidy_usage(account)
    with clock.frozen(datetime.now(UTC) + timedelta(hours=2)):
        return garbage_collection.sweep().retired


def damage(path: str) -> None:
    """Change a byte in the middle of a file of the lake."""
    file = Path(storage().local(path, ""))
    flip(file)


def remove(path: str) -> None:
    storage().delete(path)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def lake_paths() -> dict[str, str]:
    """A file of each kind: the newest segment of cost, a rollup."""
    segments = LakeSegment.objects.unscoped().filter(retired_at=None)
    return {
        "segment": segments.get(month=FEBRUARY).path,
        "rollup": LakeRollup.objects.unscoped().filter(segment__month=JANUARY)[0].path,
    }


def misstate_rows(path: str) -> None:
    LakeSegment.objects.unscoped().filter(path=path).update(rows=5)


def add_orphan() -> str:
    path = "1/cost/2026-01/1-nobody.parquet"
    new = storage().new_file()
    new.write_bytes(b"of an import that was killed")
    storage().put(new, path)
    old = datetime.now(UTC).timestamp() - 48 * 3600
    os.utime(storage().local(path, ""), (old, old))
    return path


def pretend_newer() -> None:
    MigrationRecorder(connection).record_applied("lake", "0999_of_next_year")


def older_version() -> None:
    """The database of a version that lacked a migration of the lake: the column that it adds, and its record."""
    MigrationRecorder(connection).record_unapplied("lake", "0002_usage_inbox")
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE lake_usageinbox")


def waiting_import() -> str:
    """An upload whose import waits: the name of its file."""
    file = files.uploads() / "waiting"
    file.write_text("a,b\n1,2\n")
    account = Account.objects.get(slug="acme")
    with account_scope(account):
        source = CostSource.objects.create(account=account, name="Bills")
        stored = {"name": "a.csv", "path": str(file), "bytes": 8, "remove": True}
        CostImport.objects.create(account=account, source=source, files=[stored])
    return file.name


def import_file() -> str:
    (job,) = CostImport.objects.unscoped().all()
    return Path(job.files[0]["path"]).read_text()


def foreign_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop_orders (id int)")


def rollups_again() -> int:
    account = Account.objects.get(slug="acme")
    rollup_scheduler.roll_up_account(account, levels=(Level(RESOURCE_COLUMNS, share=10),), least_rows=1)
    return LakeRollup.objects.unscoped().count()


def mistake_rollup() -> str:
    """A rollup of January that has the lines of February."""
    other = LakeSegment.objects.unscoped().get(month=FEBRUARY, retired_at=None)
    LakeRollup.objects.unscoped().filter(segment__month=JANUARY).update(
        path=other.path, checksum=other.checksum, bytes=other.bytes
    )
    return other.path
