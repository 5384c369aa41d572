"""The content of a backup, and backups that a restore refuses."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from moto.server import ThreadedMotoServer

from finops.backup import encryption
from finops.backup.services import backup_ids
from finops.backup.targets import open_target
from tests.finops.backup.machine import empty_machine, flip, record_of, run
from tests.s3 import create_bucket, variables
from tests.servers import ROOT, LiveServer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HERE = "tests.finops.backup.machine"
IDENTITY, RECIPIENT = encryption.new_key()
_, OTHER_RECIPIENT = encryption.new_key()


@pytest.fixture(scope="module")
def company(django_db_setup: None) -> Iterator[LiveServer]:
    """A machine with an account that nothing changes."""
    with empty_machine() as machine:
        machine.run(f"{HERE}:company")
        yield machine


@pytest.fixture(scope="module")
def backup_folder(company: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("stored")
    assert run(company, "backup", str(target))[0] == 0
    return target


@pytest.fixture
def target(backup_folder: Path, tmp_path: Path) -> Path:
    """A copy of its backup, to do with as a test likes."""
    return Path(shutil.copytree(backup_folder, tmp_path / "target"))


@pytest.fixture(scope="module")
def empty(django_db_setup: None) -> Iterator[LiveServer]:
    """A machine that refuses whatever it is asked to restore."""
    with empty_machine() as machine:
        yield machine


def key_file(folder: Path, key: str) -> str:
    file = folder / "key"
    file.write_text(f"# of a test\n{key}\n")
    return str(file)


def objects(target: Path) -> dict[str, int]:
    return open_target(str(target)).sizes("objects")


def test_a_second_backup_stores_only_what_is_new(django_db_setup: None, tmp_path: Path) -> None:
    with empty_machine() as machine:
        machine.run(f"{HERE}:company")
        run(machine, "backup", str(tmp_path))
        first, files = objects(tmp_path), {file.path for file in record_of(tmp_path).lake}
        assert "New: 0 files, 0 bytes" in run(machine, "backup", str(tmp_path))[1]
        machine.run(f"{HERE}:more_cost")
        assert run(machine, "backup", str(tmp_path))[0] == 0

    record = record_of(tmp_path)
    (new_file,) = (file for file in record.lake if file.path not in files)
    manifest = next(table for table in record.tables if table.name == "lake_lakesegment")
    expected = {each.path: each.stored_bytes for each in (new_file.object, manifest.parts[0].object) if each}
    assert {path: size for path, size in objects(tmp_path).items() if path not in first} == expected
    assert len(backup_ids(open_target(str(tmp_path)))) == 3


def test_older_backups_go_with_what_only_they_need(django_db_setup: None, tmp_path: Path) -> None:
    with empty_machine() as machine, empty_machine() as other:
        machine.run(f"{HERE}:company")
        run(machine, "backup", str(tmp_path))
        machine.run(f"{HERE}:more_cost")
        run(machine, "backup", str(tmp_path))
        assert len(run(machine, "backup", str(tmp_path), "--list")[1].splitlines()) == 2
        assert "--keep must be 1 or more" in run(machine, "backup", str(tmp_path), "--keep", "0")[1]
        code, output = run(machine, "backup", str(tmp_path), "--keep", "1")
        assert (code, "Removed 2 older backups" in output) == (0, True), output

        record = record_of(tmp_path)
        assert objects(tmp_path).keys() == record.objects.keys()
        assert backup_ids(open_target(str(tmp_path))) == [record.id]
        assert run(other, "restore", str(tmp_path))[0] == 0
        assert other.run(f"{HERE}:cost") == machine.run(f"{HERE}:cost")


def test_a_backup_has_no_key_and_says_so(company: LiveServer, backup_folder: Path) -> None:
    text = b"".join(file.read_bytes() for file in backup_folder.rglob("backup.json"))
    assert b"secret key of the backup" not in text
    assert b"pepper of the backup" not in text
    assert "Not in the backup: SECRET_KEY" in run(company, "backup", str(backup_folder))[1]


def test_a_damaged_file_of_a_backup_is_named_and_stored_again_by_the_next(
    company: LiveServer, target: Path
) -> None:
    (segment,) = (file for file in record_of(target).lake if file.kind == "cost" and file.rows == 1)
    assert segment.object is not None
    flip(target / segment.object.path)

    with empty_machine() as machine:
        code, output = run(machine, "restore", str(target))
        assert code == 1
        assert f"{segment.object.path} is damaged" in output
        assert f"{segment.path} is missing" in output
        assert "import 2026-02 of source 1 again" in output

        code, output = run(company, "backup", str(target), "--verify-all")
        assert (code, f"stored again: {segment.object.path}" in output) == (0, True), output
        code, output = run(machine, "check_lake", "--repair", "--from", str(target))
        assert (code, f"{segment.path} is missing. Repaired." in output) == (0, True), output
        assert machine.run(f"{HERE}:cost") == company.run(f"{HERE}:cost")


@pytest.mark.parametrize("backup", ["older", "newer"])
def test_a_damaged_encrypted_file_is_replaced_for_older_and_newer_backups(
    company: LiveServer, tmp_path: Path, backup: str
) -> None:
    target, key = tmp_path / "target", ("--key-file", key_file(tmp_path, IDENTITY))
    run(company, "backup", str(target), *key)
    older = record_of(target)
    (segment,) = (file for file in older.lake if file.kind == "cost" and file.rows == 1)
    assert segment.object is not None
    flip(target / segment.object.path)
    assert run(company, "backup", str(target), "--verify-all", *key)[0] == 0
    assert "New: 0 files" in run(company, "backup", str(target), *key)[1]

    with empty_machine() as machine:
        backup_id = older.id if backup == "older" else record_of(target).id
        code, output = run(machine, "restore", str(target), "--backup", backup_id, *key)
        assert code == 0, output
        assert machine.run(f"{HERE}:cost") == company.run(f"{HERE}:cost")


def test_a_restore_into_a_database_in_use_is_refused(target: Path) -> None:
    with empty_machine() as machine, psycopg.connect(machine.environment["DATABASE_URL"]):
        code, output = run(machine, "restore", str(target))
    assert (code, output) == (
        1,
        "Other programs use the database (1 connections). Stop web, workers and beat, then restore.",
    )


def test_a_damaged_record_is_refused(target: Path, empty: LiveServer) -> None:
    file = target / "backups" / record_of(target).id / "backup.json"
    file.write_bytes(file.read_bytes().replace(b'"rows":40', b'"rows":41', 1))
    assert run(empty, "restore", str(target)) == (1, "backup.json is damaged: its digest differs.")


def test_an_encrypted_backup_is_read_with_its_key_alone(company: LiveServer, tmp_path: Path) -> None:
    target = str(tmp_path / "target")
    key = key_file(tmp_path, IDENTITY)
    assert run(company, "backup", target, "--key-file", key)[0] == 0
    for file in (tmp_path / "target/objects").rglob("*"):
        assert not file.is_file() or file.read_bytes().startswith(b"age-encryption.org/v1")

    with empty_machine() as machine:
        for wrong, text in (
            ("", "BACKUP_KEY is not set"),
            (OTHER_RECIPIENT, f"BACKUP_KEY is that of {OTHER_RECIPIENT}"),
            (RECIPIENT, "The backup key is a public one"),
            ("secret", "must be one line that begins with"),
        ):
            code, output = run(machine, "restore", target, "--key-file", key_file(tmp_path, wrong))
            assert (code, text in output) == (1, True), output
        code, output = run(machine, "restore", target, "--key-file", key_file(tmp_path, IDENTITY))
        assert code == 0, output
        assert machine.run(f"{HERE}:facts")["cost"] == "11.770000000000000000"


def test_a_server_with_the_public_key_alone_adds_to_the_same_backups(
    company: LiveServer, tmp_path: Path
) -> None:
    target = str(tmp_path / "target")
    assert run(company, "backup", target, "--key-file", key_file(tmp_path, RECIPIENT))[0] == 0
    code, output = run(company, "backup", target, "--key-file", key_file(tmp_path, IDENTITY), "--verify-all")
    assert (code, "New: 0 files" in output) == (0, True), output


def test_an_interrupted_backup_leaves_the_older_one_and_is_gone_on_with(
    company: LiveServer, target: Path
) -> None:
    older = record_of(target)
    key = key_file(target, RECIPIENT)
    command = [sys.executable, "-m", "tests.finops.backup.unverified_backup", str(target), "--key-file", key]
    process = subprocess.Popen(command, cwd=ROOT, env=company.environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Lake: "):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = objects(target)
    assert record_of(target) == older

    code, output = run(company, "backup", str(target), "--key-file", key)
    assert (code, "New: 0 files" in output) == (0, True), output
    assert objects(target) == done


@pytest.mark.parametrize(
    ("change", "settings", "text"),
    [
        ("", {"SECRET_KEY": "another"}, "This server has another SECRET_KEY than the backup."),
        ("", {"KEY_PEPPER": "another"}, "This server has another KEY_PEPPER than the backup."),
        ("company", {}, "The database has accounts or people."),
        ("foreign_table", {}, "The database has tables of another program, such as shop_orders."),
    ],
)
def test_a_restore_that_would_do_harm_is_refused(
    target: Path, change: str, settings: dict[str, str], text: str
) -> None:
    with empty_machine(settings) as machine:
        if change:
            machine.run(f"{HERE}:{change}")
        code, output = run(machine, "restore", str(target))
        assert (code, output.startswith(text)) == (1, True), output


def test_an_earlier_secret_key_is_no_other(target: Path) -> None:
    from tests.finops.backup.machine import KEYS

    rotated = {"SECRET_KEY": "a new one", "SECRET_KEY_FALLBACKS": KEYS["SECRET_KEY"]}
    with empty_machine(rotated) as machine:
        assert run(machine, "restore", str(target))[0] == 0


def test_a_backup_of_a_newer_version_is_refused_and_of_an_older_one_migrated(
    django_db_setup: None, tmp_path: Path, empty: LiveServer
) -> None:
    with empty_machine() as machine:
        machine.run(f"{HERE}:company")
        machine.run(f"{HERE}:older_version")
        assert run(machine, "backup", str(tmp_path / "older"))[0] == 0
        code, output = run(machine, "restore", str(tmp_path / "older"), "--replace")
        assert code == 0, output
        assert machine.run(f"{HERE}:facts")["cost"] == "11.770000000000000000"
        machine.run(f"{HERE}:pretend_newer")
        assert run(machine, "backup", str(tmp_path / "newer"))[0] == 0

    code, output = run(empty, "restore", str(tmp_path / "newer"))
    assert code == 1
    assert "does not have 1 of its migrations, such as lake.0999_of_next_year" in output


def test_an_upload_that_waits_is_found_by_its_import_on_another_machine(
    django_db_setup: None, tmp_path: Path
) -> None:
    with empty_machine() as machine, empty_machine() as other:
        machine.run(f"{HERE}:company")
        name = machine.run(f"{HERE}:waiting_import")
        run(machine, "backup", str(tmp_path))
        assert [file.path.rpartition("/")[2] for file in record_of(tmp_path).uploads] == [name]
        assert run(other, "restore", str(tmp_path))[0] == 0
        assert other.run(f"{HERE}:import_file") == "a,b\n1,2\n"


@pytest.fixture
def s3() -> Iterator[str]:
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_backups_in_a_bucket_of_a_lake_in_a_bucket(
    django_db_setup: None, tmp_path: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_bucket(s3, "lakes")
    create_bucket(s3, "backups")
    settings: dict[str, Any] = {**variables(s3), "BACKUP_KEY": IDENTITY}
    with (
        empty_machine({**settings, "LAKE_URL": "s3://lakes/one"}) as machine,
        empty_machine({**settings, "LAKE_URL": "s3://lakes/two"}) as other,
    ):
        machine.run(f"{HERE}:company")
        assert run(machine, "backup", "s3://backups/finops")[0] == 0
        assert "New: 0 files" in run(machine, "backup", "s3://backups/finops", "--verify-all")[1]
        code, output = run(other, "restore", "s3://backups/finops")
        assert code == 0, output
        assert other.run(f"{HERE}:facts") == machine.run(f"{HERE}:facts")


def test_no_file_of_the_lake_is_removed_while_a_backup_runs(cast: Any) -> None:
    import threading
    from datetime import UTC, datetime, timedelta

    from django.db import connection

    from finops.lake.storage import garbage_collection
    from finops.lake.storage.locks import holding_files, removing_files
    from finops.lake.storage.storage import storage
    from finops.lib import clock
    from tests.finops.lake.facts import JANUARY, line, manifest_rows, store

    store(cast.account, [line(JANUARY, 1)])
    (segment,) = manifest_rows(cast.account)
    begun, end = threading.Event(), threading.Event()

    def backup() -> None:
        with holding_files(5) as is_held:
            assert is_held
            begun.set()
            end.wait(30)
        connection.close()

    thread = threading.Thread(target=backup)
    thread.start()
    begun.wait(30)
    try:
        store(cast.account, [])
        with clock.frozen(datetime.now(UTC) + timedelta(hours=30)):
            assert garbage_collection.sweep().retired == 0
        assert garbage_collection.remove_files(cast.account) == 0
        assert Path(storage().local(segment.path, segment.checksum)).exists()
    finally:
        end.set()
        thread.join()
    with removing_files() as is_free, holding_files(0) as is_held:
        assert (is_free, is_held) == (True, True)  # the thread itself holds both
    with clock.frozen(datetime.now(UTC) + timedelta(hours=30)):
        assert garbage_collection.sweep().retired == 1
