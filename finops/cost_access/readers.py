"""Readers that can have a limit: members below admin, active MCP keys, connected apps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import Q

from accounts.models import Account, MCPKey, Membership, OAuthConnection
from accounts.oauth.clients import host_of_client
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit
from finops.cost_access.queries import LIMIT_ROLES
from finops.lib import clock

Kind = Literal["member", "key", "app"]
KIND_LABELS: dict[Kind, str] = {"member": "Member", "key": "MCP key", "app": "Connected app"}
SERVICE_ACCOUNT: Final = "Service account"


@dataclass(frozen=True)
class Reader:
    """A member, key or app with its limit. `detail` distinguishes two readers of the same name."""

    kind: Kind
    id: int
    name: str
    detail: str
    limit_id: int | None
    limit_name: str

    @property
    def kind_label(self) -> str:
        return SERVICE_ACCOUNT if self.detail == SERVICE_ACCOUNT else KIND_LABELS[self.kind]

    @property
    def url_name(self) -> str:
        """The URL name of the page that changes the limit; its argument is the id."""
        return f"cost_access_{self.kind}"


def readers(account: Account) -> list[Reader]:
    """All readers, members first. Four queries; the account is in scope."""
    assigned = list(CostAccessAssignment.objects.select_related("limit"))
    of_member = {row.membership_id: row.limit for row in assigned if row.membership_id}
    of_key = {row.key_id: row.limit for row in assigned if row.key_id}
    of_app = {row.connection_id: row.limit for row in assigned if row.connection_id}
    members = Membership.objects.filter(account=account, role__in=LIMIT_ROLES).select_related("user")
    now = clock.now()
    keys = MCPKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    apps = OAuthConnection.objects.filter(account=account).select_related("user", "application")
    return [
        *(
            _reader(
                "member", row.pk, row.user.label, f"{row.get_role_display()} · {row.user.email}", of_member
            )
            for row in members.order_by("user__email")
        ),
        *(_reader("key", row.pk, row.name, row.masked_key, of_key) for row in keys.order_by("name", "pk")),
        *(_reader("app", row.pk, *_name_of_app(row), of_app) for row in apps.order_by("pk")),
    ]


def _name_of_app(row: OAuthConnection) -> tuple[str, str]:
    """The name of an app, and its person as detail."""
    if row.user is None:
        return row.application.name, SERVICE_ACCOUNT
    return host_of_client(row.application, row.redirect_uri), row.user.label


def _reader(kind: Kind, pk: int, name: str, detail: str, limits: Mapping[int, CostAccessLimit]) -> Reader:
    limit = limits.get(pk)
    return Reader(kind, pk, name, detail, limit.pk if limit else None, limit.name if limit else "")
