"""The life of an MCP key: mint, authenticate, revoke.

A key is `fmcp_<lookup><secret><checksum>`: a prefix that secret scanners recognise, 10 public characters to find the row,
32 random ones (190 bits), and 6 of CRC-32 so that a scanner, or we, can tell a typing error from a revoked key without a
query. Stored: the lookup, and HMAC-SHA-256 of the whole under the server's pepper.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import zlib
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, MCPKey
from accounts.reader_limits import assign_limit, limited_readers_column
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.prepared_statements import fetch

PREFIX = "fmcp_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LOOKUP, _SECRET, _CHECKSUM = 10, 32, 6


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(text: str) -> str:
    value, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECKSUM):
        value, remainder = divmod(value, 62)
        digits = _ALPHABET[remainder] + digits
    return digits


def new_secret(prefix: str) -> tuple[str, str]:
    """Return a new plaintext key with the given prefix, and its public lookup part."""
    lookup = _random(_LOOKUP)
    body = f"{prefix}{lookup}{_random(_SECRET)}"
    return body + _checksum(body), lookup


def lookup_of(plaintext: str, prefix: str) -> str | None:
    """Return the lookup part of a well-formed key, None for anything else. Costs no query."""
    body, checksum = plaintext[:-_CHECKSUM], plaintext[-_CHECKSUM:]
    if (
        not plaintext.startswith(prefix)
        or len(body) != len(prefix) + _LOOKUP + _SECRET
        or not plaintext.isascii()
    ):
        return None
    if not hmac.compare_digest(_checksum(body), checksum):
        return None
    return body[len(prefix) : len(prefix) + _LOOKUP]


def digest_of(plaintext: str) -> bytes:
    return hmac.new(settings.KEY_PEPPER.encode(), plaintext.encode(), hashlib.sha256).digest()


@transaction.atomic
def mint_mcp_key(
    *,
    account: Account,
    actor: Actor,
    name: str,
    scope: str = MCPKey.Scope.READ,
    expires_at: datetime | None = None,
    limit: str = "",
) -> tuple[MCPKey, str]:
    """Create a key of the account and return it with its plaintext, which is not stored. `limit` is a choice of
    `reader_limits`; empty: none.

    Raises ValidationError for an invalid name or scope, UserError for an expiry in the past and an unknown limit.
    """
    if expires_at is not None and expires_at <= clock.now():
        raise UserError("The expiry is in the past. Choose a later day, or none.", field="expires_at")
    plaintext, lookup = new_secret(PREFIX)
    key = MCPKey(
        account=account,
        name=name.strip(),
        scope=scope,
        lookup=lookup,
        digest=digest_of(plaintext),
        created_by=actor.user,
        created_by_label=actor.label,
        expires_at=expires_at,
    )
    key.full_clean(exclude=["digest"], validate_unique=False)
    key.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="mcp_key.mint",
        target=key.name,
        detail={"id": key.pk, "scope": key.scope},
    )
    assign_limit(key, limit, actor)
    return key, plaintext


@transaction.atomic
def revoke_mcp_key(*, key: MCPKey, actor: Actor, reason: str = "") -> None:
    """Revoke a key: its next request fails in every process, since keys are never cached. Safe to repeat."""
    changed = MCPKey.objects.unscoped().filter(pk=key.pk, revoked_at=None).update(revoked_at=clock.now())
    if changed:
        detail = {"id": key.pk, **({"reason": reason} if reason else {})}
        audit.record(
            account=key.account, actor=actor, action="mcp_key.revoke", target=key.name, detail=detail
        )


# Texts are cast: when a migration changes a column's length, PostgreSQL refuses statements prepared with the old length.
# One statement: find, check, record the use. A crash may lose a last-used time, so its commit does not wait for the disk.
# Not more often than every USE_SECONDS, so that concurrent requests with one key do not wait for each other's row.
_USE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true)),
live AS MATERIALIZED (
  SELECT k.* FROM accounts_mcpkey k
   WHERE k.lookup = %(lookup)s AND k.digest = %(digest)s AND k.revoked_at IS NULL
     AND (k.expires_at IS NULL OR k.expires_at > %(now)s)
),
used AS (
  UPDATE accounts_mcpkey k
     SET last_used_at = %(now)s, last_client = CASE WHEN %(client)s = '' THEN k.last_client ELSE %(client)s::text END
    FROM live, async_commit
   WHERE k.id = live.id
     AND (live.last_used_at IS NULL OR live.last_used_at <= %(last_second)s OR live.last_client <> %(client)s AND %(client)s <> '')
)
SELECT k.id, k.name::text, k.scope::text, k.lookup::text, k.digest, a.id, a.name::text, a.slug::text,
    a.fiscal_start_month, a.holiday_country::text, a.display_currency::text, a.suspended_at, a.limits::text, {limited}, k.created_by_id
  FROM live k JOIN accounts_account a ON a.id = k.account_id
"""
USE_SECONDS = 1
"""Seconds from one recorded use of a key to the next."""


@cache
def _use() -> str:
    """Return the statement. All limits are registered before the first request."""
    return _USE.format(limited=limited_readers_column())


def authenticate_mcp_key(plaintext: str, *, client: str = "") -> MCPKey | None:
    """Return the live key of this text with its account, and record its use to the second; None for anything else.

    Cost: one statement, none for text that is no key. `client` (a User-Agent) is stored unless it is empty.
    """
    lookup = lookup_of(plaintext, PREFIX)
    if lookup is None:
        return None
    digest = digest_of(plaintext)
    now = clock.now()
    last_second = now - timedelta(seconds=USE_SECONDS)
    values = {
        "lookup": lookup,
        "digest": digest,
        "now": now,
        "last_second": last_second,
        "client": client[:120],
    }
    row = next(iter(fetch(_use(), values)), None)
    if row is None or not hmac.compare_digest(bytes(row[4]), digest):
        return None
    names = (
        "id",
        "name",
        "slug",
        "fiscal_start_month",
        "holiday_country",
        "display_currency",
        "suspended_at",
    )
    account = Account.with_columns(**dict(zip(names, row[5:12], strict=True)), limits=json.loads(row[12]))
    account.has_limited_readers = row[13]
    return MCPKey(id=row[0], name=row[1], scope=row[2], lookup=row[3], account=account, created_by_id=row[14])
