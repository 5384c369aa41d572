"""Records each call of a tool, prompt or resource for Assistant activity, whatever its outcome.

Only requests that name a method are recorded: requests refused by HTTP or the protocol before (401, 429, an invalid
header) are not calls.
"""

from __future__ import annotations

import time
from types import TracebackType

from finops.activity.calls import call_record
from finops.activity.models import CallMethod, CallOutcome
from finops.activity.recorder import recorder
from finops.lib import clock
from finops.lib.telemetry import metrics
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import RpcError
from mcpserver.results import InsufficientScope, ToolOutcome


class CallRecorder:
    """Context manager around one call: measures its time, and records it at the end, also after an exception."""

    __slots__ = (
        "_answer_bytes",
        "_arguments",
        "_call",
        "_method",
        "_outcome",
        "_page",
        "_problem",
        "_started_at",
        "name",
        "registered_name",
    )

    def __init__(self, method: CallMethod, call: ToolCall, name: object, arguments: object) -> None:
        self._method, self._call = method, call
        self.name = name if isinstance(name, str) else ""
        """Name in the activity log: as the client wrote it; for a resource its name, since its URIs are many."""
        self._arguments = {} if arguments is None else arguments
        self._outcome, self._problem, self._page, self._answer_bytes = CallOutcome.OK, "", "", 0
        self.registered_name = "unknown"
        """Registered name of the tool, prompt or resource, once it was found: the label in metrics."""

    def __enter__(self) -> CallRecorder:
        self._started_at = time.perf_counter()
        return self

    def outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        """Record the outcome of a tool."""
        self._answer_bytes = len(outcome.answer) or len(outcome.problem.encode())
        if outcome.is_error:
            self._outcome = CallOutcome.INCIDENT if outcome.incident else CallOutcome.ERROR
            self._problem = outcome.problem
        elif outcome.console_url.startswith(self._call.console):
            self._page = outcome.console_url[len(self._call.console) :]
        return outcome

    def refusal(self, outcome: ToolOutcome) -> ToolOutcome:
        """Record a tool that was not run because the credential may not call it."""
        self.outcome(outcome)
        self._outcome = CallOutcome.REFUSED
        return outcome

    def text(self, text: str) -> str:
        """Record the text of a prompt or resource."""
        self._answer_bytes = len(text.encode())
        return text

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started_at
        milliseconds = seconds * 1_000
        if error is not None:
            self._record_exception(error)
        metrics.MCP_CALLS.inc(self.registered_name, self._outcome.value)
        metrics.MCP_SECONDS.observe(seconds, self.registered_name)
        recorder.note(
            call_record(
                credential=self._call.credential,
                at=clock.now(),
                method=self._method,
                name=self.name,
                arguments=self._arguments,
                milliseconds=milliseconds,
                answer_bytes=self._answer_bytes,
                outcome=self._outcome,
                problem=self._problem,
                console_page=self._page,
            )
        )

    def _record_exception(self, error: BaseException) -> None:
        if isinstance(error, RpcError):
            self._outcome, self._problem = CallOutcome.REFUSED, error.message
        elif isinstance(error, InsufficientScope):
            self._outcome, self._problem = CallOutcome.REFUSED, f"{error} needs read/write access."
        else:
            self._outcome, self._problem = CallOutcome.INCIDENT, "Server error."
