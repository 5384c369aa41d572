"""Rows of activity."""

from __future__ import annotations

from accounts.models import Account
from accounts.scoping import account_scope
from finops.activity.models import AssistantCall
from finops.lib import clock


def assistant_call(account: Account) -> int:
    with account_scope(account):
        return AssistantCall.objects.create(
            account=account,
            at=clock.now(),
            method="tool",
            name="walk",
            arguments="{}",
            credential_kind="mcp_key",
            credential_id=1,
            credential_label="walk",
            outcome="ok",
            milliseconds=1,
            answer_bytes=1,
            problem="",
            console_page="",
        ).pk
