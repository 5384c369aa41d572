"""Calls of assistants for tests: through the endpoint, and made up."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.activity.calls import CallRecord, call_record, store
from finops.activity.models import AssistantCall, CallMethod, CallOutcome
from finops.activity.recorder import recorder
from finops.lib import clock


def stored_calls(account: Account) -> list[AssistantCall]:
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
) -> CallRecord:
    fields: dict[str, Any] = {
        "method": CallMethod.TOOL,
        "milliseconds": 12.5,
        "answer_bytes": 2_000,
        "outcome": CallOutcome.OK,
        "console_page": "cost-explorer/?period=last_7_days",
        **more,
    }
    moment = at or clock.now() - timedelta(days=days_ago)
    return call_record(credential=credential, name=name, arguments=arguments or {}, at=moment, **fields)


def ask_for_days(account: Account) -> None:
    """Calls of a month with two credentials, some wrong; the first has long names and arguments."""
    key = credential_of(account)
    person = User.objects.get(email="owner@example.com")
    app = credential_of(account, number=2, person=person)
    long = {
        "filters": [{"dimension": "tag:env", "op": "in", "values": ["x" * 300, "production"]}],
        "note": "n" * 900,
    }
    store(
        [
            call_of(key, "a_tool_with_the_longest_name_that_a_client_may_ask_for_or_longer", long),
            *(
                call_of(key, "querySpend", {"period": "last_7_days", "n": day}, days_ago=day)
                for day in range(28)
            ),
            *(call_of(app, "listBudgets", {}, days_ago=day, milliseconds=1_500.0) for day in range(0, 28, 3)),
            call_of(app, "weekly_cost_digest", method=CallMethod.PROMPT, console_page=""),
            call_of(key, outcome=CallOutcome.ERROR, problem="group_by: 'services' does not exist. " * 6),
            call_of(
                key, "create_budget", {"name": "B"}, outcome=CallOutcome.REFUSED, problem="May only read."
            ),
            call_of(
                key, "forecastSpend", outcome=CallOutcome.INCIDENT, problem="Incident 0123456789ab is logged."
            ),
        ]
    )
