"""What a tool is told about the call it serves."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from accounts.credentials import Credential
from accounts.models import Account

Query = Mapping[str, str | Sequence[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call of one tool by one credential; nothing of an earlier call is known.

    `deadline` is a `time.monotonic()` moment: hand it to the lake. `console` is the account's own pages, such as
    `https://finops.example/a/acme/`.
    """

    credential: Credential
    deadline: float
    console: str

    @property
    def account(self) -> Account:
        return self.credential.account

    @property
    def remaining_seconds(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def console_url(self, page: str = "", query: Query | None = None) -> str:
        """The page of the console that shows the same: `call.console_url("cost-explorer/", {"group_by": ["service"]})`."""
        text = urlencode({key: value for key, value in (query or {}).items() if value}, doseq=True)
        return f"{self.console}{page}{'?' + text if text else ''}"
