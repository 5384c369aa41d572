"""Calls of assistants for tests: through the door, and made up."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.activity.calls import NotedCall, noted_call
from finops.activity.models import AssistantCall, Method, Outcome
from finops.activity.recorder import recorder
from finops.lib import clock


def written(account: Account) -> list[AssistantCall]:
    """The calls of an account, the newest first, after what was noted is stored."""
    assert recorder.flush()
    with account_scope(account):
        return list(AssistantCall.objects.all())


def credential_of(account: Account, *, number: int = 1, person: User | None = None) -> Credential:
    kind = CredentialKind.OAUTH if person else CredentialKind.MCP_KEY
    label = f"{person.email} by claude.ai" if person else f"Key {number} (fmcp_x••••••••)"
    return Credential(kind, number, account, Access.READ, label, Actor(label=label, user=person))


def call_of(
    credential: Credential,
    name: str = "querySpend",
    arguments: dict[str, Any] | None = None,
    *,
    at: datetime | None = None,
    days_ago: int = 0,
    **more: Any,
) -> NotedCall:
    given: dict[str, Any] = {
        "method": Method.TOOL,
        "milliseconds": 12.5,
        "answer_bytes": 2_000,
        "outcome": Outcome.OK,
        "console_page": "cost-explorer/?period=last_7_days",
        **more,
    }
    moment = at or clock.now() - timedelta(days=days_ago)
    return noted_call(credential=credential, name=name, arguments=arguments or {}, at=moment, **given)
