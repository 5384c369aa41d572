"""An operator deletes an account: a dry run with counts, 14 days to restore it, and proof that nothing is left."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Account, AccountDeletion, User
from accounts.services import deletion
from accounts.services.deletion import count_rows, delete_account, due_deletions
from accounts.services.deletion_record import remove_old_records
from finops.lib import clock
from tests.cast import Cast, reauthenticated
from tests.isolation.marks import fill_with_marks


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def page_of(account: Account, action: str) -> str:
    return f"/admin/accounts/account/{account.pk}/actions/{action}/"


def test_the_dry_run_counts_and_deletes_nothing(cast: Cast, operator_client: Client) -> None:
    fill_with_marks(cast.account)
    before = count_rows(cast.account.pk)

    page = operator_client.get(page_of(cast.account, "delete")).content.decode()

    assert "Lake segments" in page
    assert "Memberships" in page
    assert "settingss" not in page
    assert before["accounts_membership"] == 5
    assert count_rows(cast.account.pk) == before
    assert Account.objects.get(pk=cast.account.pk).delete_after is None


def test_it_is_deleted_after_14_days_and_no_row_is_left(cast: Cast, operator_client: Client) -> None:
    fill_with_marks(cast.account)
    other = count_rows(cast.other_account.pk)

    operator_client.post(page_of(cast.account, "delete"))
    with clock.frozen(clock.now() + timedelta(days=15)):
        assert delete_account(account_id=cast.account.pk)

    assert count_rows(cast.account.pk) == {}
    assert count_rows(cast.other_account.pk) == other


def test_until_then_it_is_restored(cast: Cast, operator_client: Client) -> None:
    operator_client.post(page_of(cast.account, "delete"))
    assert Account.objects.get(pk=cast.account.pk).delete_after is not None
    assert operator_client.get(page_of(cast.account, "delete")).status_code == 404

    operator_client.post(page_of(cast.account, "restore"))

    assert Account.objects.get(pk=cast.account.pk).delete_after is None


def test_delete_now_requires_the_name_and_a_scheduled_deletion(cast: Cast, operator_client: Client) -> None:
    assert operator_client.get(page_of(cast.account, "delete-now")).status_code == 404
    operator_client.post(page_of(cast.account, "delete"))
    page = operator_client.get(f"/admin/accounts/account/{cast.account.pk}/change/").content.decode()

    refusal = operator_client.post(page_of(cast.account, "delete-now"), {"name": "acme"})

    assert "The account is deleted on" in page
    assert refusal.status_code == 422
    assert "Enter the exact name of the account." in refusal.content.decode()
    assert not AccountDeletion.objects.exists()
    assert due_deletions() == []


def test_delete_now_shows_progress_and_then_that_nothing_is_left(
    cast: Cast,
    operator_client: Client,
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill_with_marks(cast.account)
    fill_with_marks(cast.other_account)
    operator_client.post(page_of(cast.account, "delete"))
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(deletion, "publish", lambda *task, **_options: sent.append(task))

    with django_capture_on_commit_callbacks(execute=True):
        answer = operator_client.post(page_of(cast.account, "delete-now"), {"name": "Acme"})
    page_url = answer.headers["Location"]
    waiting = operator_client.get(page_url).content.decode()
    pages: list[str] = []
    delete_chunk = deletion._delete_chunk

    def look_and_delete(table: str, account_id: int, *, limit: int | None) -> int:
        if table == "ingestion_usagebatch" and limit is not None:
            pages.append(operator_client.get(page_url).content.decode())
        return delete_chunk(table, account_id, limit=limit)

    monkeypatch.setattr(deletion, "_delete_chunk", look_and_delete)
    assert sent == [("accounts.delete_account", cast.account.pk)]
    assert delete_account(account_id=cast.account.pk)
    finished_page = operator_client.get(page_url).content.decode()

    assert "Waiting for a worker" in waiting
    assert "rows deleted" in pages[-1]
    assert 'hx-trigger="every 2s"' in pages[-1]
    assert "Nothing left" in finished_page
    assert 'hx-trigger="every 2s"' not in finished_page
    record = AccountDeletion.objects.get()
    assert (record.name, record.actor_label) == ("Acme", "Operator operator@example.com")
    assert (record.rows_left, record.files_left) == ({}, 0)
    assert record.rows_before["accounts_membership"] == 5
    assert any(table.startswith("lake_usageinbox") for table in record.rows_before)
    assert record.rows_deleted == record.rows_total > 20
    assert record.files_deleted > 0
    assert count_rows(cast.account.pk) == {}
    assert sum(count_rows(cast.other_account.pk).values()) > 20


def test_the_remaining_ones_are_named(
    cast: Cast, operator_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator_client.post(page_of(cast.account, "delete"))
    Account.objects.update(delete_after=clock.now())
    monkeypatch.setattr("finops.lake.hooks.remaining_files._entries", {"lake": lambda _number: 3})
    delete_account(account_id=cast.account.pk)
    record = AccountDeletion.objects.get()
    AccountDeletion.objects.update(rows_left={"accounts_mcpkey": 7})

    page = operator_client.get(f"/admin/accounts/accountdeletion/{record.pk}/change/").content.decode()

    assert record.files_left == 3
    assert "Incomplete" in page
    assert "3 lake files and the rows below are left." in page
    assert "MCP keys" in page


def test_a_run_that_died_before_its_last_count_is_finished_by_the_next(
    cast: Cast, operator_client: Client
) -> None:
    operator_client.post(page_of(cast.account, "delete"))
    Account.objects.filter(pk=cast.account.pk).update(delete_after=clock.now())
    delete_account(account_id=cast.account.pk)
    AccountDeletion.objects.update(finished_at=None)

    assert due_deletions() == [cast.account.pk]
    assert delete_account(account_id=cast.account.pk)
    assert AccountDeletion.objects.get().finished_at is not None
    assert due_deletions() == []


def test_the_record_goes_after_a_year(cast: Cast) -> None:
    AccountDeletion.objects.create(account_number=1, name="Old", finished_at=clock.now())
    AccountDeletion.objects.create(account_number=2, name="Running")

    with clock.frozen(clock.now() + timedelta(days=366)):
        assert remove_old_records() == 1
    assert AccountDeletion.objects.get().name == "Running"


def test_a_dry_run_that_takes_too_long_says_so(
    cast: Cast, operator_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_slowly(_number: int) -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(2)")
        return {}

    monkeypatch.setattr("finops.operations.queries.STATEMENT_SECONDS", 0.1)
    monkeypatch.setattr("finops.operations.row_actions.count_rows", count_slowly)

    page = operator_client.get(page_of(cast.account, "delete"))

    assert page.status_code == 200
    assert "There are too many rows to count within" in page.content.decode()
