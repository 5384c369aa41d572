"""The audit log: every write service records itself here, in its own transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Self

from accounts.models import Account, AuditEntry, MCPKey, User


@dataclasses.dataclass(frozen=True)
class Actor:
    """The actor of a write: a person, an MCP key, or a command. `made_by` is the id of the person who made the key or
    service account that acts."""

    label: str
    user: User | None = None
    made_by: int | None = None

    @property
    def creator_id(self) -> int | None:
        """The person who answers for what the actor creates; None for a command."""
        return self.user.pk if self.user is not None else self.made_by

    @classmethod
    def of_user(cls, user: User) -> Self:
        return cls(label=user.email, user=user)

    @classmethod
    def of_key(cls, key: MCPKey) -> Self:
        return cls(label=f"MCP key {key.name} ({key.masked_key})", made_by=key.created_by_id)

    @classmethod
    def command(cls, name: str) -> Self:
        return cls(label=f"command {name}")


def record(
    *, account: Account, actor: Actor, action: str, target: str = "", detail: dict[str, Any] | None = None
) -> None:
    """Add one entry. `action` is `noun.verb`; `detail` is JSON and holds no secret."""
    _entry(account, actor, action, target, detail or {}).save(force_insert=True)


def record_each(
    *, account: Account, actor: Actor, action: str, targets: Iterable[tuple[str, dict[str, Any]]]
) -> None:
    """Add an entry as `record` does for each target and its detail, in one statement for 2,000; none without a target."""
    entries = [_entry(account, actor, action, target, detail) for target, detail in targets]
    # Unscoped: the caller names the account.
    AuditEntry.objects.unscoped().bulk_create(entries, batch_size=2_000)


def _entry(account: Account, actor: Actor, action: str, target: str, detail: dict[str, Any]) -> AuditEntry:
    return AuditEntry(
        account=account,
        actor_user=actor.user,
        actor_label=actor.label[:254],
        action=action,
        target=target[:254],
        detail=detail,
    )
