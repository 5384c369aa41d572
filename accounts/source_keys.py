"""Keys of sources, for programs that push: generate, regenerate, revoke, authenticate. Usage, cost and event keys each have
a table of the same columns."""

from __future__ import annotations

import dataclasses
import functools
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import USE_SECONDS, digest_of, lookup_of, new_secret
from accounts.models import Account
from accounts.scoping import AccountModel
from finops.lib import clock, prepared_statements
from finops.lib.errors import UserError
from finops.lib.prepared_statements import Statement


@dataclasses.dataclass(frozen=True, slots=True)
class SourceCredential:
    """An authenticated key: its account, and the source that it pushes to. Sources of one kind have distinct ids."""

    kind: ClassVar[str]

    key_id: int
    source_id: int
    account: Account
    lookup: str


class KeyedSource(Protocol):
    """A row of another app that has keys."""

    pk: Any
    name: Any
    account_id: Any
    account: Any


K = TypeVar("K", bound=AccountModel)
S = TypeVar("S", bound=KeyedSource)
C = TypeVar("C", bound=SourceCredential)

# As in accounts/keys.py.
_USE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true)),
live AS MATERIALIZED (
  SELECT k.* FROM {table} k WHERE k.lookup = %(lookup)s AND k.digest = %(digest)s AND k.revoked_at IS NULL
),
used AS (
  UPDATE {table} k SET last_used_at = %(now)s FROM live, async_commit
   WHERE k.id = live.id AND (live.last_used_at IS NULL OR live.last_used_at <= %(last_second)s)
)
SELECT k.id, k.digest, k.source_id, a.id, a.name, a.slug, a.fiscal_start_month, a.suspended_at, a.limits::text{columns}
  FROM live k JOIN accounts_account a ON a.id = k.account_id{source}
"""
# KEY SHARE, because requests with one key and the last-used update above do not wait for each other under it; what ends
# a key takes FOR UPDATE first, which waits for all of them and makes later ones wait.
_LOCK = "SELECT true FROM {table} WHERE id = %s AND revoked_at IS NULL FOR KEY SHARE"


@dataclasses.dataclass(frozen=True, slots=True)
class SourceKeys(Generic[K, S, C]):
    """The keys of one kind of source: at most one live key a source. They have the format of MCP keys (`accounts/keys.py`),
    each kind with its own prefix, so a key of one kind is never accepted as another.

    `action` begins the actions of the audit log (`usage_key`). `lock_source` prevents other changes of a source's key until
    the transaction ends, and raises UserError for a source that can have none.
    """

    model: type[K]
    prefix: str
    action: str
    credential: type[C]
    lock_source: Callable[[S], None]
    settings: tuple[str, ...] = ()
    """Columns of the source that are fields of the credential."""

    def authenticate(self, plaintext: str) -> C | None:
        """Return the credential of a live key and record its use to the second; None for anything else.

        Cost: one statement, none for text that is no key with this prefix.
        """
        lookup = lookup_of(plaintext, self.prefix)
        if lookup is None:
            return None
        digest = digest_of(plaintext)
        now = clock.now()
        last_second = now - timedelta(seconds=USE_SECONDS)
        values = {"lookup": lookup, "digest": digest, "now": now, "last_second": last_second}
        rows = prepared_statements.fetch(self._use, values)
        row = rows[0] if rows else None
        if row is None or not hmac.compare_digest(bytes(row[1]), digest):
            return None
        names = ("id", "name", "slug", "fiscal_start_month", "suspended_at")
        account = Account.with_columns(**dict(zip(names, row[3:8], strict=True)), limits=json.loads(row[8]))
        settings = dict(zip(self.settings, row[9:], strict=True))
        return self.credential(key_id=row[0], source_id=row[2], account=account, lookup=lookup, **settings)

    @property
    def _use(self) -> str:
        source: Any = self.model._meta.get_field("source").related_model
        return _use_of(self.model._meta.db_table, source._meta.db_table, self.settings)

    def lock(self, key_id: int) -> bool:
        """Return whether the key is live, and if so keep it live until the caller's transaction ends. One statement."""
        return bool(prepared_statements.fetch(*self.lock_statement(key_id)))

    def lock_statement(self, key_id: int) -> Statement:
        """Return the statement that locks the key: a row if it is live."""
        return Statement(_of_table(_LOCK, self.model._meta.db_table), [key_id])

    @transaction.atomic
    def generate(self, *, source: S, actor: Actor) -> tuple[K, str]:
        """Create the first key of a source and return it with its plaintext, which is not stored.

        Raises UserError for a source that has a live key, and as `lock_source`.
        """
        self.lock_source(source)
        if self._living(source) is not None:
            raise UserError(f"{source.name} has a key already. Regenerate it, or revoke it first.")
        return self._new(source, actor, "generate")

    @transaction.atomic
    def regenerate(self, *, source: S, actor: Actor, replaces: int | None = None) -> tuple[K, str]:
        """Replace the live key, which stops working with the commit, also for requests in flight.

        `replaces`: only if that is the live key. Raises UserError otherwise, for a source without a live key, and as
        `lock_source`.
        """
        self.lock_source(source)
        old = self._living(source)
        if old is None:
            raise UserError(f"{source.name} has no key to replace. Generate one.")
        if replaces not in (None, old.pk):
            raise UserError(
                "This key was already replaced, and a new key is shown only once. If it was not copied, regenerate it."
            )
        _end(old)
        return self._new(source, actor, "regenerate", replaces=old.pk)

    @transaction.atomic
    def revoke(self, *, source: S, actor: Actor) -> None:
        """Revoke the live key of a source, also for requests in flight. Data that they committed stays. Revoking twice has
        no further effect. Raises UserError as `lock_source`."""
        self.lock_source(source)
        key = self._living(source)
        if key is not None:
            _end(key)
            self._record(source, actor, "revoke", id=key.pk)

    def _living(self, source: S) -> Any:
        # Unscoped: the caller found the source in its account. FOR UPDATE waits for requests under this key.
        keys = self.model.objects.unscoped().select_for_update()
        return keys.filter(source_id=source.pk, revoked_at=None).first()

    def _new(self, source: S, actor: Actor, verb: str, **detail: object) -> tuple[K, str]:
        plaintext, lookup = new_secret(self.prefix)
        key = self.model(
            account_id=source.account_id,
            source=source,
            lookup=lookup,
            digest=digest_of(plaintext),
            created_by=actor.user,
            created_by_label=actor.label[:254],
        )
        key.save(force_insert=True)
        self._record(source, actor, verb, id=key.pk, **detail)
        return key, plaintext

    def _record(self, source: S, actor: Actor, verb: str, **detail: object) -> None:
        audit.record(
            account=source.account,
            actor=actor,
            action=f"{self.action}.{verb}",
            target=source.name,
            detail=detail,
        )


def _end(key: Any) -> None:
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])


@functools.cache
def _use_of(table: str, source_table: str, settings: tuple[str, ...]) -> str:
    columns = "".join(f", s.{name}" for name in settings)
    return _USE.format(
        table=table,
        columns=columns,
        source=f" JOIN {source_table} s ON s.id = k.source_id" if settings else "",
    )


@functools.cache
def _of_table(statement: str, table: str) -> str:
    return statement.format(table=table)
