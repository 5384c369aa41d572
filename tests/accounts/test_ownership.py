"""Handing an account over, and deleting it with everything in it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.models import Account, AuditEntry, Membership, User
from accounts.services import deletion
from accounts.services.deletion import delete_account, due_deletions
from accounts.tasks import send_unsent_mails
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import Cast, reauthenticated, signed_in
from tests.finops.lake.facts import JANUARY, line, store
from tests.isolation.rows import MAKERS

SETTINGS = "/a/acme/settings/account/"


@pytest.fixture
def lake(tmp_path: Path, settings: Any) -> None:
    settings.LAKE_URL = str(tmp_path / "lake")


def reauthenticated_client(user: User) -> Client:
    """Signed in, with the password given a moment ago."""
    return reauthenticated(signed_in(user), user)


def role(cast: Cast, name: str) -> str:
    return Membership.objects.get(account=cast.account, user=cast.person(name)).role


def offer(cast: Cast, client: Client, name: str) -> Any:
    membership = Membership.objects.get(account=cast.account, user=cast.person(name))
    return client.post(f"{SETTINGS}transfer/", {"membership_id": membership.pk}, follow=True)


def test_an_owner_names_an_admin_who_accepts(cast: Cast) -> None:
    owner, admin = reauthenticated_client(cast.owner), signed_in(cast.admin)
    offer(cast, owner, "admin")

    assert role(cast, "owner") == "owner"
    assert "wants to transfer ownership of Acme" in admin.get("/a/acme/settings/members/").content.decode()
    assert "wants to transfer ownership of Acme" not in signed_in(cast.member).get(SETTINGS).content.decode()

    signed_in(cast.member).post(f"{SETTINGS}transfer/accept/")
    signed_in(cast.member).post(f"{SETTINGS}transfer/decline/")
    assert role(cast, "member") == "member"

    admin.post(f"{SETTINGS}transfer/accept/")
    assert (role(cast, "admin"), role(cast, "owner")) == ("owner", "admin")
    actions = AuditEntry.objects.unscoped().filter(action__startswith="ownership.").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["ownership.offer", "ownership.accept"]


def mails() -> list[tuple[list[str], str]]:
    """What the worker sends, and empties: to whom, and the text."""
    send_unsent_mails()
    texts = [(message.to, f"{message.subject}\n{message.body}") for message in mail.outbox]
    mail.outbox.clear()
    return texts


def test_an_offer_of_ownership_is_mailed_to_whom_it_is_made(cast: Cast) -> None:
    Account.objects.filter(pk=cast.account.pk).update(name="Acme\nFrom: us")
    offer(cast, reauthenticated_client(cast.owner), "admin")

    ((to, text),) = mails()
    assert to == ["admin@example.com"]
    assert "“Acme From: us”" in text
    assert f"/a/{cast.account.slug}/settings/account/" in text
    assert signed_in(cast.admin).get(SETTINGS).status_code == 200


def test_owner_and_admins_are_mailed_each_step_of_a_deletion(cast: Cast, lake: None) -> None:
    owner = reauthenticated_client(cast.owner)
    steps = []

    owner.post(f"{SETTINGS}delete/", {"name": "Acme"})
    owner.post(f"{SETTINGS}delete/", {"name": "Acme"})  # twice is once
    steps.append(mails())
    owner.post(f"{SETTINGS}restore/")
    owner.post(f"{SETTINGS}restore/")
    steps.append(mails())
    Account.objects.filter(pk=cast.account.pk).update(delete_after=clock.now())
    delete_account(account_id=cast.account.pk)
    delete_account(account_id=cast.account.pk)
    steps.append(mails())

    assert [[to for to, _text in step] for step in steps] == [
        [["owner@example.com"], ["admin@example.com"]]
    ] * 3
    for step, words in zip(
        steps,
        (
            "scheduled the deletion of the account “Acme”",
            "restored the account “Acme” in the FinOps Console. It is not deleted.",
            "“Acme” in the FinOps Console was deleted. It cannot be restored.",
        ),
        strict=True,
    ):
        assert all(words in " ".join(text.split()) for _to, text in step)


def test_an_offer_is_declined_or_withdrawn_and_ends_with_its_owner(cast: Cast) -> None:
    owner, admin = reauthenticated_client(cast.owner), signed_in(cast.admin)

    offer(cast, owner, "admin")
    admin.post(f"{SETTINGS}transfer/decline/")
    admin.post(f"{SETTINGS}transfer/accept/")
    offer(cast, owner, "admin")
    owner.post(f"{SETTINGS}transfer/withdraw/")
    admin.post(f"{SETTINGS}transfer/accept/")
    offer(cast, owner, "admin")
    Membership.objects.filter(account=cast.account, user=cast.owner).update(role="member")
    admin.post(f"{SETTINGS}transfer/accept/")

    assert role(cast, "admin") == "admin"


def test_a_viewer_is_not_named_and_the_password_is_requested(cast: Cast) -> None:
    page = offer(cast, reauthenticated_client(cast.owner), "viewer").content.decode()
    response = offer(cast, signed_in(cast.owner), "admin")

    assert "Choose a member or admin" in page
    assert response.redirect_chain[-1][0].startswith("/auth/reauthenticate/")
    assert Account.objects.get(pk=cast.account.pk).transfer_to is None


def test_an_owner_deletes_by_name_and_password_and_restores(cast: Cast) -> None:
    owner = reauthenticated_client(cast.owner)

    response = signed_in(cast.owner).post(f"{SETTINGS}delete/", {"name": "Acme"}, follow=True)
    wrong = owner.post(f"{SETTINGS}delete/", {"name": "acme"})
    assert response.redirect_chain[-1][0].startswith("/auth/reauthenticate/")
    assert "Enter the exact name of the account." in wrong.content.decode()
    assert Account.objects.get(pk=cast.account.pk).delete_after is None

    owner.post(f"{SETTINGS}delete/", {"name": "Acme"})
    assert (
        "Acme will be deleted on" in signed_in(cast.viewer).get("/a/acme/settings/members/").content.decode()
    )
    assert due_deletions() == []
    assert not delete_account(account_id=cast.account.pk)

    owner.post(f"{SETTINGS}restore/")
    assert Account.objects.get(pk=cast.account.pk).delete_after is None


def test_an_admin_neither_deletes_nor_hands_over(cast: Cast) -> None:
    admin = reauthenticated_client(cast.admin)

    assert admin.post(f"{SETTINGS}delete/", {"name": "Acme"}).status_code == 403
    assert offer(cast, admin, "member").status_code == 403


def rows_of(account_id: int) -> dict[str, int]:
    """Rows of an account by table, of every table that has such rows."""
    counts = {}
    with connection.cursor() as cursor:
        for table in deletion._tables():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE account_id = %s", [account_id])
            counts[table] = cursor.fetchone()[0]
    return counts


def files_of(account_id: int) -> list[str]:
    return [file.path for file in storage().files() if file.path.startswith(f"{account_id}/")]


def fill(account: Account) -> None:
    for make in MAKERS.values():
        make(account)
    store(account, [line(JANUARY, "1.00")])
    retired = [line(JANUARY, "2.00")]
    store(account, retired, source_id=2)
    store(account, [], source_id=2)  # its file stays for an hour
    stray = storage().new_file()
    stray.write_bytes(b"x")
    storage().put(stray, f"{account.pk}/cost/2026-01/stray.parquet")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO lake_usageinbox (account_id, source_id, batch, received_at, events, first_day, last_day, payload)"
            " VALUES (%s, 1, gen_random_uuid(), now(), 1, now(), now(), '')",
            [account.pk],
        )
        cursor.execute(
            "INSERT INTO ingestion_usageeventid (account_id, digest, content, received_on, batch)"
            " VALUES (%s, gen_random_uuid(), gen_random_uuid(), now(), gen_random_uuid())",
            [account.pk],
        )


def test_everything_of_a_deleted_account_is_gone_and_nothing_of_another(
    cast: Cast, lake: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cast.account)
    fill(cast.other_account)
    before, rows_of_other = rows_of(cast.account.pk), rows_of(cast.other_account.pk)
    files = files_of(cast.other_account.pk)
    assert sum(map(bool, before.values())) > 30
    assert len(files_of(cast.account.pk)) == 3
    Account.objects.filter(pk=cast.account.pk).update(delete_after=timezone.now())
    monkeypatch.setattr(deletion, "CHUNK_ROWS", 2)

    assert due_deletions() == [cast.account.pk]
    assert delete_account(account_id=cast.account.pk)
    assert not delete_account(account_id=cast.account.pk)

    assert {table: count for table, count in rows_of(cast.account.pk).items() if count} == {}
    assert files_of(cast.account.pk) == []
    assert not Account.objects.filter(pk=cast.account.pk).exists()
    assert rows_of(cast.other_account.pk) == rows_of_other
    assert files_of(cast.other_account.pk) == files
    assert User.objects.count() == 6
    assert signed_in(cast.owner).get("/a/acme/").status_code == 404


def test_a_run_that_is_killed_is_gone_on_with(
    cast: Cast, lake: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cast.account)
    Account.objects.filter(pk=cast.account.pk).update(delete_after=clock.now() - timedelta(seconds=1))
    with monkeypatch.context() as killed:
        killed.setattr(deletion, "_delete_rows", lambda _pk: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            delete_account(account_id=cast.account.pk)
    assert files_of(cast.account.pk) == []
    assert sum(rows_of(cast.account.pk).values()) > 0

    assert delete_account(account_id=cast.account.pk)
    assert sum(rows_of(cast.account.pk).values()) == 0
