"""Context of a tool call."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from urllib.parse import urlencode

from accounts.credentials import Credential
from accounts.models import Account
from accounts.scoping import account_scope
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.queries import limits_of_credential
from finops.cost_access.reach import LEFT_OUT
from finops.cost_access.resolution import resolve_limits
from finops.lib.cost_access import CostLimit
from finops.lib.sentences import quote

Query = Mapping[str, str | Sequence[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call of one tool with one credential; no state of earlier calls.

    `deadline` is a `time.monotonic()` time: pass it to the lake. `console` is the base URL of the account's pages,
    such as `https://finops.example/a/acme/`.
    """

    credential: Credential
    deadline: float
    console: str

    @property
    def account(self) -> Account:
        return self.credential.account

    @cached_property
    def cost_access_limits(self) -> list[CostAccessLimit]:
        """Limits of the credential; empty for the whole account. One query, on first use."""
        return limits_of_credential(self.credential)

    @cached_property
    def cost_limit(self) -> CostLimit | None:
        """All limits combined. Costs the queries of `resolve_limits`; raises UserError if they cannot be applied."""
        with account_scope(self.account):
            return resolve_limits(self.account, self.cost_access_limits)

    def limit_sentence(self, tool: str = "") -> str:
        """Return the first sentence of an answer within a limit, with what the limit removes from the tool's answers;
        empty without a limit."""
        if self.cost_limit is None:
            return ""
        return f"Cost access is limited to {quote(self.cost_limit.name)}. {LEFT_OUT.get(tool, '')}".strip()

    @property
    def remaining_seconds(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def console_url(self, page: str = "", query: Query | None = None) -> str:
        """Return the URL of the console page with the same query: `call.console_url("cost-explorer/", {"group_by":
        ["service"]})`."""
        text = urlencode({key: value for key, value in (query or {}).items() if value}, doseq=True)
        return f"{self.console}{page}{'?' + text if text else ''}"
