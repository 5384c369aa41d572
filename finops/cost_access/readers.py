"""Readers that can have a limit: members below admin, active MCP keys, connected apps; and exports, schedules and alerts
that have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from accounts.creations import Creation, CreationKind, creation_kinds
from accounts.models import Account, MCPKey, Membership, OAuthConnection
from accounts.oauth.clients import host_of_client
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.queries import LIMIT_ROLES, limits_by_reader
from finops.lib import clock

SERVICE_ACCOUNT: Final = "Service account"
_OF_ACCOUNTS: Final = ("key", "connection")
Limits = Mapping[tuple[str, int], Sequence[CostAccessLimit]]


def other_kinds() -> dict[str, CreationKind]:
    """Kinds of readers that are listed only with a limit, by the field of its assignment."""
    return {each.reader: each for each in creation_kinds.values() if each.reader not in _OF_ACCOUNTS}


def kind_labels() -> dict[str, str]:
    more = {name: kind.noun.capitalize() for name, kind in other_kinds().items()}
    return {"member": "Member", "key": "MCP key", "app": "Connected app", **more}


@dataclass(frozen=True)
class Reader:
    """A reader with its limits, of which a member has one at most. `detail` distinguishes two of the same name."""

    kind: str
    id: int
    name: str
    detail: str
    limits: tuple[CostAccessLimit, ...]

    @property
    def kind_label(self) -> str:
        return SERVICE_ACCOUNT if self.detail == SERVICE_ACCOUNT else kind_labels()[self.kind]

    @property
    def limit_name(self) -> str:
        """`Core and Data`; empty without a limit."""
        return " and ".join(limit.name for limit in self.limits)

    @property
    def limit_id(self) -> int | None:
        """The limit of a reader with exactly one."""
        return self.limits[0].pk if len(self.limits) == 1 else None

    @property
    def url_name(self) -> str:
        """The URL name of the page that changes the limit; its argument is the id."""
        return f"cost_access_{self.kind}"


def readers(account: Account) -> list[Reader]:
    """All readers, members first. Four queries, and one for each other kind with a limit; the account is in scope."""
    limits: Limits = limits_by_reader(account)
    members = Membership.objects.filter(account=account, role__in=LIMIT_ROLES).select_related("user")
    now = clock.now()
    keys = MCPKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    apps = OAuthConnection.objects.filter(account=account).select_related("user", "application")
    return [
        *(
            Reader(
                "member",
                row.pk,
                row.user.label,
                f"{row.get_role_display()} · {row.user.email}",
                _limits(limits, "membership", row.pk),
            )
            for row in members.order_by("user__email")
        ),
        *(
            Reader("key", row.pk, row.name, row.masked_key, _limits(limits, "key", row.pk))
            for row in keys.order_by("name", "pk")
        ),
        *(
            Reader("app", row.pk, *_name_of_app(row), _limits(limits, "connection", row.pk))
            for row in apps.order_by("pk")
        ),
        *_others(limits),
    ]


def _others(limits: Limits) -> list[Reader]:
    """What has a limit because of the person who made it."""
    rows_of_kinds: list[Reader] = []
    for name, kind in other_kinds().items():
        pks = [pk for reader, pk in limits if reader == name]
        if not pks:
            continue
        rows = [Creation(kind, row) for row in kind.rows().select_related("created_by").filter(pk__in=pks)]
        rows_of_kinds += [
            Reader(
                name,
                each.reader_id,
                each.name,
                each.row.created_by.label if each.row.created_by else "",
                _limits(limits, name, each.reader_id),
            )
            for each in rows
        ]
    return rows_of_kinds


def _limits(limits: Limits, reader: str, pk: int) -> tuple[CostAccessLimit, ...]:
    return tuple(limits.get((reader, pk), ()))


def _name_of_app(row: OAuthConnection) -> tuple[str, str]:
    """The name of an app, and its person as detail."""
    if row.user is None:
        return row.application.name, SERVICE_ACCOUNT
    return host_of_client(row.application, row.redirect_uri), row.user.label
