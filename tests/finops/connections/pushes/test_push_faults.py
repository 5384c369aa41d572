"""Faults while a month is pushed: nothing is stored partly, and nothing counts twice."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from accounts.models import Account
from accounts.services.deletion import delete_account
from finops.connections.models import CostPush
from finops.connections.push_files import detect_format
from finops.connections.services import cost_keys, push_folders, push_run, pushes
from finops.costs.models import CostImport
from finops.costs.services import delete_cost_source, import_files, remove_forgotten_uploads
from finops.costs.services.files import pushes as pushes_folder
from finops.lib import clock
from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import (
    MAY,
    MONTHS,
    PUSHES,
    CostPushClient,
    create_cost_client,
    credential_of,
    csv_rows,
    push_of,
    row,
    run_pushes,
)

pytestmark = pytest.mark.django_db


class ProcessKilled(BaseException):
    """As if the process died here: nothing of it runs on but what Python unwinds."""


def kill(*_: Any, **__: Any) -> Any:
    raise ProcessKilled


def folders() -> list[Path]:
    return sorted(pushes_folder().iterdir())


@pytest.fixture(autouse=True)
def _no_folder_of_others() -> None:
    for folder in folders():
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "place", ["_prepare", "import_files", "_finish", "convert", "push_folders.remove", "_ask_next"]
)
def test_a_worker_that_dies_anywhere_is_taken_over(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    cost_client.push_month({"rows": [row("100")]})
    push = cost_client.open()
    cost_client.put(push, 1, {"rows": [row("1"), row("2")]})
    cost_client.put(push, 2, csv_rows("4"))
    cost_client.commit(push, 2)
    with monkeypatch.context() as patch:
        patch.setattr(f"finops.connections.services.push_run.{place}", kill)
        with pytest.raises(ProcessKilled):
            run_pushes()
    assert cost_client.billed() in ({MAY: Decimal(100)}, {MAY: Decimal(7)})

    run_pushes()
    pushes.expire_pushes()

    assert cost_client.status(push)["status"] == "done"
    assert cost_client.billed() == {MAY: Decimal(7)}
    assert folders() == []


def test_a_push_that_takes_its_worker_down_five_times_fails(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1"))
    with monkeypatch.context() as patch:
        patch.setattr("finops.connections.services.push_run._prepare", kill)
        for _ in range(push_run.MAX_ATTEMPTS):
            with pytest.raises(ProcessKilled):
                run_pushes()
    run_pushes()

    assert push_of(cost_client).status == "failed"
    assert "interrupted five times" in push_of(cost_client).error


def test_a_fault_of_ours_fails_the_push_and_a_database_that_is_away_does_not(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failure(error: Exception) -> Callable[..., None]:
        def fail(*_: Any, **__: Any) -> None:
            raise error

        return fail

    cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1"))
    importer = "finops.connections.services.push_run.import_files"
    monkeypatch.setattr(importer, failure(OperationalError()))
    with pytest.raises(OperationalError):
        run_pushes()
    assert push_of(cost_client).status == "running"
    monkeypatch.setattr(importer, failure(RuntimeError()))
    with pytest.raises(RuntimeError):
        run_pushes()

    assert push_of(cost_client).status == "failed"
    assert "The import failed with an internal error; existing data is kept." in push_of(cost_client).error


@pytest.mark.parametrize("place", ["detect_format", "_save_part", "_commit"])
def test_a_request_that_dies_leaves_no_push(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"finops.connections.services.pushes.{place}", kill)
        with pytest.raises(ProcessKilled):
            cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1"))

    assert cost_client.send("GET", PUSHES).json() == {"pushes": []}
    assert folders() == []
    assert cost_client.push_month(csv_rows("2"))["status"] == "done"


def test_files_left_by_a_killed_request_are_deleted_after_a_day(cost_client: CostPushClient) -> None:
    orphan = pushes_folder() / ("0" * 32)
    orphan.mkdir()
    (orphan / "1-half").write_bytes(b"half a body")

    pushes.expire_pushes()
    assert orphan.exists()
    with clock.frozen(clock.now() + timedelta(days=1, minutes=1)):
        pushes.expire_pushes()

    assert not orphan.exists()


class BrokenBody(io.BytesIO):
    """A client that goes away within its body."""

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        if not content:
            raise OSError("the client went away")
        return content


def test_a_body_that_breaks_off_is_not_kept(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    body = csv_rows("1", "2")

    environ: dict[str, Any] = {"CONTENT_LENGTH": str(len(body) + 10), "wsgi.input": BrokenBody(body)}
    headers = {"authorization": f"Bearer {cost_client.key}"}
    answer = Client().generic("PUT", f"{push}/parts/1", headers=headers, **environ)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "broken_off")
    assert cost_client.status(push)["parts"] == []
    assert list(push_folders.folder_of(push_of(cost_client).public_id).iterdir()) == []


def test_an_open_push_expires_after_a_day_with_its_parts(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))
    almost, later = (
        clock.now() + timedelta(hours=23, minutes=59),
        clock.now() + timedelta(hours=24, minutes=1),
    )

    with clock.frozen(almost):
        assert pushes.expire_pushes() == 0
        assert cost_client.commit(push, 2).status_code == 409
    with clock.frozen(later):
        assert cost_client.status(push)["status"] == "expired"
        assert cost_client.commit(push, 1).status_code == 409
        assert cost_client.put(push, 1, csv_rows("1")).status_code == 409
        assert pushes.expire_pushes() == 1
        assert pushes.expire_pushes() == 0

        assert cost_client.status(push)["status"] == "expired"
    assert folders() == []


def test_parts_that_wait_longer_than_a_day_for_their_worker_stay(cost_client: CostPushClient) -> None:
    cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("3"))

    with clock.frozen(clock.now() + timedelta(days=3)):
        pushes.expire_pushes()
        remove_forgotten_uploads()
        run_pushes()

    assert cost_client.billed() == {MAY: Decimal(3)}


def test_a_part_that_the_disk_lost_fails_the_push(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))
    (part,) = push_folders.folder_of(push_of(cost_client).public_id).iterdir()
    part.write_bytes(b"")
    cost_client.commit(push, 1)

    run_pushes()

    assert cost_client.status(push)["error"] == "Part 1 was lost on this server. Push the month again."


def test_a_nearly_full_disk_accepts_no_part_and_delays_pushes(
    cost_client: CostPushClient, settings: Any
) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))
    before = settings.LOW_DISK_BYTES
    settings.LOW_DISK_BYTES = 10**18

    answers = [
        cost_client.put(push, 2, csv_rows("1")),
        cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1")),
    ]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert [answer.headers["Retry-After"] for answer in answers] == ["60", "60"]
    assert cost_client.commit(push, 1).status_code == 202
    run_pushes()
    assert cost_client.status(push)["status"] == "queued"

    settings.LOW_DISK_BYTES = before
    run_pushes()
    assert cost_client.billed() == {MAY: Decimal(1)}


def test_a_source_that_is_deleted_takes_its_pushes_and_files(
    cast: Cast, cost_client: CostPushClient, django_capture_on_commit_callbacks: Any
) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))

    with django_capture_on_commit_callbacks(execute=True):
        delete_cost_source(source=cost_client.source, actor=cast.actor)

    assert folders() == []
    assert not CostPush.objects.unscoped().exists()
    assert cost_client.put(push, 1, csv_rows("1")).status_code == 401


def test_an_account_that_is_deleted_takes_its_files(cast: Cast, cost_client: CostPushClient) -> None:
    other = create_cost_client(cast, cast.other_account, "Hers")
    for each in (cost_client, other):
        each.put(each.open(), 1, csv_rows("1"))
    Account.objects.filter(pk=cast.account.pk).update(delete_after=clock.now())

    assert delete_account(account_id=cast.account.pk)

    assert [folder.name for folder in folders()] == [push_of(other).public_id.hex]


def test_a_key_that_is_revoked_meanwhile_stores_nothing(
    cast: Cast, cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = cost_client.open()
    real = detect_format

    def revoke(*arguments: Any) -> Any:
        cost_keys.revoke_cost_key(source=cost_client.source, actor=cast.actor)
        return real(*arguments)

    monkeypatch.setattr("finops.connections.services.pushes.detect_format", revoke)
    answer = cost_client.put(push, 1, csv_rows("1"))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert not push_of(cost_client).parts.model.objects.unscoped().exists()


def test_an_import_that_is_canceled_in_the_console_fails_the_push(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = import_files

    def cancel_job(**arguments: Any) -> CostImport:
        job = real(**arguments)
        job.status = CostImport.Status.CANCELED
        return job

    monkeypatch.setattr("finops.connections.services.push_run.import_files", cancel_job)

    assert (
        cost_client.push(csv_rows("1"))["error"]
        == "The import was canceled in the console. Push the month again."
    )


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_commits_counts(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))

    def commit(_: int) -> int:
        try:
            return int(cost_client.commit(push, 1).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(commit, range(8))) == {202}
    run_pushes()

    assert CostImport.objects.unscoped().count() == 1
    assert cost_client.billed() == {MAY: Decimal(1)}


@pytest.mark.django_db(transaction=True)
def test_parts_that_come_at_once_are_all_there(cost_client: CostPushClient) -> None:
    push = cost_client.open()

    def put(number: int) -> int:
        try:
            return int(cost_client.put(push, number, csv_rows(str(number))).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(put, [*range(1, 9), *range(1, 9)])) == {200}
    assert cost_client.commit(push, 8).status_code == 202
    assert len(list(push_folders.folder_of(push_of(cost_client).public_id).iterdir())) == 8
    run_pushes()

    assert cost_client.billed() == {MAY: Decimal(36)}


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_workers_import_a_push_once(cost_client: CostPushClient) -> None:
    cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1"))
    pk = push_of(cost_client).pk

    def run(_: int) -> bool:
        try:
            return push_run.run_push(pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(run, range(3))) == [False, False, True]
    assert CostImport.objects.unscoped().count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_push_is_read_in_a_child_process(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, {"rows": [row("1.25"), row("2")]})
    cost_client.put(push, 2, csv_rows("4"))
    cost_client.commit(push, 2)

    assert push_run.run_push(push_of(cost_client).pk, in_child=True)

    assert cost_client.status(push)["status"] == "done", cost_client.status(push)
    assert cost_client.billed() == {MAY: Decimal("7.25")}


@pytest.mark.django_db(transaction=True)
def test_invalid_json_in_the_child_process_is_reported(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.connections.push_files.CHECKED_BYTES", 0)
    push = cost_client.open()
    assert cost_client.put(push, 1, b'{"rows": [{"BilledCost": 1}, 5]}').status_code == 200
    cost_client.commit(push, 1)

    push_run.run_push(push_of(cost_client).pk, in_child=True)

    assert cost_client.status(push)["error"].startswith("part-1, row 2: Expected `object`, got `int`")


def test_credentials_name_their_key_and_never_the_secret(cost_client: CostPushClient) -> None:
    credential = credential_of(cost_client)

    assert cost_client.key not in repr(credential)
    assert credential.actor.label.startswith(f"Cost key {cost_client.key[:15]}")
