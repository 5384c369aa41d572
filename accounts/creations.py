"""What people made and what reads an account's cost later, without them: keys, connected apps, exports, alerts.

A credential or a schedule is not tied to a person who is signed in. So each carries its own limits of cost access
(finops/cost_access/): it gets those of its person when it is created and each time that the person may see less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.db.models.signals import post_save

from accounts.models import Account, MCPKey, OAuthConnection, ServiceAccount, User
from accounts.oauth.clients import client_label
from accounts.reader_limits import inherit_limit
from accounts.scoping import account_scope
from finops.lib.registry import Registry


@dataclass(frozen=True, kw_only=True)
class CreationKind:
    """A kind of what people make. `owner` is the model's field of the person, `in_force` selects the rows that still
    read cost. `reader` is the field of the assignment of a limit (`CostAccessAssignment`), and `reader_id` the model's
    attribute with the id that it refers to. `related` is loaded for `name`."""

    noun: str
    model: type[Model]
    reader: str
    owner: str = "created_by"
    in_force: Q = field(default_factory=Q)
    reader_id: str = "pk"
    related: tuple[str, ...] = ()
    name: Callable[[Any], str] = str

    def rows(self) -> QuerySet[Any]:
        """The rows in force of the account in scope."""
        rows = self.model._default_manager.filter(self.in_force)
        return rows.select_related(*self.related) if self.related else rows

    def owner_id(self, row: Any) -> int | None:
        owner_id: int | None = getattr(row, f"{self.owner}_id")
        return owner_id

    def id_of_reader(self, row: Any) -> int:
        return int(getattr(row, self.reader_id))


@dataclass(frozen=True)
class Creation:
    """A row of a kind, with its person."""

    kind: CreationKind
    row: Any

    @property
    def noun(self) -> str:
        return self.kind.noun

    @property
    def name(self) -> str:
        return self.kind.name(self.row)

    @property
    def owner_id(self) -> int:
        return self.kind.owner_id(self.row) or 0

    @property
    def reader_id(self) -> int:
        return self.kind.id_of_reader(self.row)

    @property
    def ends_with_membership(self) -> bool:
        """Whether it ends with the membership of its person: the secret of a key is known to the person alone."""
        return self.kind.model in (MCPKey, OAuthConnection)


creation_kinds: Registry[CreationKind] = Registry("kind of what people make")


def add_creation_kind(name: str, kind: CreationKind) -> None:
    """Register a kind: each new row gets the limit that its person has."""

    def limit_new_row(instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
        if created and not raw and kind.owner_id(instance) is not None:
            inherit_limit(Creation(kind, instance))

    creation_kinds.add(name, kind)
    post_save.connect(limit_new_row, sender=kind.model, weak=False, dispatch_uid=f"limit of {name}")


def creations_of(account: Account, user_ids: Collection[int]) -> Iterator[Creation]:
    """What these people made and is in force, by kind. A query for each kind."""
    for kind in creation_kinds.values():
        with account_scope(account):
            rows = list(kind.rows().select_related("account").filter(**{f"{kind.owner}__in": user_ids}))
        yield from (Creation(kind, row) for row in rows)


def names_of(creations: Iterable[Creation]) -> dict[str, list[str]]:
    """The names by kind, for pages and the audit log."""
    names: dict[str, list[str]] = {}
    for each in creations:
        names.setdefault(each.noun, []).append(each.name)
    return names


def reassign(account: Account, *, user: User, heir: User) -> list[Creation]:
    """Give everything that a person created, and that is in force, to another, and return it. Connected apps stay
    those of the person who consented."""
    creations = [each for each in creations_of(account, [user.pk]) if each.kind.owner == "created_by"]
    for each in creations:
        each.row.created_by = heir
        fields = ["created_by"]
        if hasattr(each.row, "created_by_label"):
            each.row.created_by_label = heir.email
            fields.append("created_by_label")
        each.row.save(update_fields=fields)
    return creations


add_creation_kind(
    "MCP key", CreationKind(noun="MCP key", model=MCPKey, reader="key", in_force=Q(revoked_at=None))
)
add_creation_kind(
    "connected app",
    CreationKind(
        noun="connected app",
        model=OAuthConnection,
        reader="connection",
        owner="user",
        related=("application",),
        name=lambda row: client_label(row.application),
    ),
)
add_creation_kind(
    "service account",
    CreationKind(
        noun="service account", model=ServiceAccount, reader="connection", reader_id="connection_id"
    ),
)
