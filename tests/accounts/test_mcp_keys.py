from __future__ import annotations

import json
import logging
from datetime import timedelta

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.credentials import Access, CredentialKind, authenticate_bearer
from accounts.keys import PREFIX, authenticate_mcp_key, lookup_of, mint_mcp_key, revoke_mcp_key
from accounts.models import Account, AuditEntry, MCPKey
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast


def test_a_minted_key_opens_its_account_with_its_scope(cast: Cast) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude", scope="read_write")

    credential = authenticate_bearer(plaintext)

    assert credential is not None
    assert credential.kind is CredentialKind.MCP_KEY
    assert credential.account == cast.account
    assert credential.access is Access.READ_WRITE
    assert credential.may_write


def test_settings_of_its_account_that_the_key_check_did_not_read_have_their_stored_values(cast: Cast) -> None:
    Account.objects.filter(pk=cast.account.pk).update(currencies=["EUR", "USD"], session_max_hours=8)
    _key, plaintext = mint_mcp_key(account=cast.account, name="A", scope="read", actor=cast.actor)

    authenticated = authenticate_mcp_key(plaintext)

    assert authenticated is not None
    assert authenticated.account.currencies == ["EUR", "USD"]
    assert authenticated.account.session_max_hours == 8


def test_a_key_reads_only_unless_requested_otherwise(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    credential = authenticate_bearer(plaintext)

    assert key.scope == "read"
    assert credential is not None
    assert not credential.may_write


def test_the_database_never_holds_the_plaintext(cast: Cast) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    secret = plaintext[len(PREFIX) + 10 :]

    with account_scope(cast.account):
        dump = serializers.serialize("json", [*MCPKey.objects.all(), *AuditEntry.objects.all()])

    assert secret not in dump
    assert secret[:16] not in dump


def test_the_plaintext_reaches_no_log_and_no_sql_text(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), CaptureQueriesContext(connection) as queries:
        _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
        authenticate_mcp_key(plaintext)
    logged = caplog.text + json.dumps([query["sql"] for query in queries.captured_queries])

    assert plaintext not in logged
    assert plaintext[len(PREFIX) + 10 :] not in logged


def test_every_use_updates_last_used_and_the_client_and_costs_one_query(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    assert key.last_used_at is None

    with CaptureQueriesContext(connection) as queries:
        authenticate_mcp_key(plaintext, client="claude-code/2.1")

    assert len(queries) == 1
    used = MCPKey.objects.unscoped().get(pk=key.pk)
    assert used.last_used_at is not None
    assert used.last_client == "claude-code/2.1"


def test_a_use_is_recorded_to_the_second_and_another_client_at_once(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    start = clock.now()

    def use(seconds: float, client: str) -> tuple[float, str]:
        with clock.frozen(start + timedelta(seconds=seconds)):
            assert authenticate_mcp_key(plaintext, client=client)
        row = MCPKey.objects.unscoped().get(pk=key.pk)
        assert row.last_used_at is not None
        return (row.last_used_at - start).total_seconds(), row.last_client

    assert use(0, "claude/1") == (0, "claude/1")
    assert use(0.5, "claude/1") == (0, "claude/1")
    assert use(0.6, "") == (0, "claude/1")
    assert use(0.7, "cursor/1") == (0.7, "cursor/1")
    assert use(1.7, "") == (1.7, "cursor/1")


def test_a_use_without_a_client_name_keeps_the_last_one(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    authenticate_mcp_key(plaintext, client="cursor/1.0")

    authenticate_mcp_key(plaintext)

    assert MCPKey.objects.unscoped().get(pk=key.pk).last_client == "cursor/1.0"


def test_a_revoked_key_is_dead_at_once_and_the_others_live_on(cast: Cast) -> None:
    first, first_plain = mint_mcp_key(account=cast.account, actor=cast.actor, name="one")
    _second, second_plain = mint_mcp_key(account=cast.account, actor=cast.actor, name="two")

    revoke_mcp_key(key=first, actor=cast.actor)

    assert authenticate_mcp_key(first_plain) is None
    assert authenticate_mcp_key(second_plain) is not None


def test_revoking_twice_is_recorded_once(cast: Cast) -> None:
    key, _plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="one")

    revoke_mcp_key(key=key, actor=cast.actor)
    revoke_mcp_key(key=key, actor=cast.actor)

    with account_scope(cast.account):
        assert AuditEntry.objects.filter(action="mcp_key.revoke").count() == 1


def test_an_expired_key_is_dead(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(
        account=cast.account, actor=cast.actor, name="short", expires_at=clock.now() + timedelta(hours=1)
    )
    assert authenticate_mcp_key(plaintext) is not None

    MCPKey.objects.unscoped().filter(pk=key.pk).update(expires_at=clock.now() - timedelta(seconds=1))

    assert authenticate_mcp_key(plaintext) is None


def test_an_expiry_in_the_past_is_refused(cast: Cast) -> None:
    with pytest.raises(UserError, match="past"):
        mint_mcp_key(
            account=cast.account, actor=cast.actor, name="x", expires_at=clock.now() - timedelta(days=1)
        )


@pytest.mark.parametrize(
    ("name", "scope"), [("", "read"), ("   ", "read"), ("ok", "admin"), ("x" * 101, "read")]
)
def test_a_bad_name_or_scope_is_refused_and_nothing_is_kept(cast: Cast, name: str, scope: str) -> None:
    with pytest.raises(ValidationError):
        mint_mcp_key(account=cast.account, actor=cast.actor, name=name, scope=scope)

    assert not MCPKey.objects.unscoped().exists()


@pytest.mark.parametrize("position", [0, 7, 20, -1])
def test_one_wrong_character_is_no_key(cast: Cast, position: int) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    letters = list(plaintext)
    letters[position] = "z" if letters[position] != "z" else "y"

    assert authenticate_mcp_key("".join(letters)) is None


@pytest.mark.parametrize(
    "text", ["", "fmcp_", "Bearer x", "fuse_" + "0" * 48, "fmcp_" + "é" * 48, "fmcp_" + "0" * 48]
)
def test_text_that_is_no_key_costs_no_query(db: None, text: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert authenticate_bearer(text) is None

    assert len(queries) == 0


def test_a_secret_of_the_right_lookup_but_another_tail_is_refused_and_leaves_no_trace(cast: Cast) -> None:
    from accounts.keys import _checksum

    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    body = plaintext[:15] + "A" * 32
    forged = body + _checksum(body)

    assert lookup_of(forged, PREFIX) == key.lookup
    assert authenticate_mcp_key(forged) is None
    assert MCPKey.objects.unscoped().get(pk=key.pk).last_used_at is None
