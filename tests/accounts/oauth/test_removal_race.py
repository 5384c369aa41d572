"""A person is removed from the account in the very moment in which she lets a client in, or creates a key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from accounts.audit import Actor
from accounts.models import MCPKey, Membership, OAuthApplication, OAuthConnection
from accounts.oauth.services import open_connection
from accounts.services import remove_member
from tests.accounts.oauth.flow import CALLBACK, OAuthClient
from tests.cast import Cast, make_cast, signed_in
from tests.waiting import is_blocking_others


def remove(cast: Cast) -> None:
    membership = Membership.objects.get(account=cast.account, user=cast.member)
    remove_member(membership=membership, actor=Actor.of_user(cast.owner))


def remove_and_close(cast: Cast) -> None:
    try:
        remove(cast)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_member_removed_during_consent_leaves_no_connection() -> None:
    """Else it would come back to life with her next membership."""
    cast = make_cast()
    application = OAuthApplication.objects.get(client_id=OAuthClient().client_id)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            open_connection(
                user=cast.member,
                account=cast.account,
                application=application,
                access="read",
                redirect_uri=CALLBACK,
            )
            removal = pool.submit(remove_and_close, cast)
            for _ in range(12_000):
                if removal.done() or is_blocking_others():
                    break
                threading.Event().wait(0.005)
        removal.result(timeout=30)

    assert not OAuthConnection.objects.unscoped().exists()


def create_key(cast: Cast) -> int:
    try:
        fields = {"name": "CI", "scope": "read", "form_token": "t"}
        return signed_in(cast.member).post("/a/acme/settings/mcp-keys/new/", fields).status_code
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_member_removed_while_she_creates_a_key_leaves_none() -> None:
    cast = make_cast()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            remove(cast)
            creation = pool.submit(create_key, cast)
            for _ in range(12_000):
                if creation.done() or is_blocking_others():
                    break
                threading.Event().wait(0.005)
        status = creation.result(timeout=30)

    assert status == 404
    assert not MCPKey.objects.unscoped().exists()
