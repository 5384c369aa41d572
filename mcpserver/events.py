"""Events that assistants subscribe to (MCP Events, SEP-3415), in the revision 2026-07-28: list, subscribe by webhook,
unsubscribe.

The SEP and ChatGPT's profile of it use different error codes. A client that declares the extension gets those of the
SEP, every other client those of the profile, which came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.utils.timezone import localtime
from msgspec.structs import replace

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.events.event_types import EVENT_TYPES, Arguments, BudgetArguments, EventType
from finops.alerts.models import EventSubscription
from finops.alerts.queries import find_budget
from finops.alerts.senders.event import CallbackProblem
from finops.alerts.services import subscribe as store_subscription
from finops.alerts.services import unsubscribe as delete_subscription
from finops.alerts.services.event_subscriptions import EventLimit
from finops.lib.cost_access import cost_access
from finops.lib.errors import UserError, nearest_choices
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import Code, RpcError
from mcpserver.schema import arguments_schema

EXTENSION: Final = "io.modelcontextprotocol/events"
MODE: Final = "webhook"

Result = dict[str, Any]


@dataclass(frozen=True)
class ErrorCodes:
    not_found: int
    forbidden: int
    exhausted: int
    unsupported: int
    callback: int


_EXTENSION_CODES: Final = ErrorCodes(-32023, -32024, -32025, -32026, -32027)
_PROFILE_CODES: Final = ErrorCodes(-32011, -32012, -32013, -32014, -32015)


@dataclass(frozen=True)
class EventRequest:
    """A request about events: its parameters, its credential, and the capabilities of its client."""

    params: Mapping[str, Any]
    call: ToolCall
    capabilities: Mapping[str, Any]

    @property
    def follows_extension(self) -> bool:
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and EXTENSION in extensions

    @property
    def codes(self) -> ErrorCodes:
        return _EXTENSION_CODES if self.follows_extension else _PROFILE_CODES


def list_events(request: EventRequest) -> Result:
    """The events to subscribe to; None for a reader with limited cost access, because events are computed over the
    whole account. One query."""
    types = () if request.call.cost_access_limits else EVENT_TYPES.values()
    return {"events": [_entry(each) for each in types]}


def subscribe(request: EventRequest) -> Result:
    """Create a subscription. Sends the challenge to the callback URL, which takes up to 15 s. Raises RpcError, and
    then stores nothing."""
    kind, arguments, delivery = _read(request)
    mode = delivery.get("mode")
    if mode != MODE:
        data = {"feature": "deliveryMode", "value": str(mode)[:40]}
        raise RpcError(request.codes.unsupported, "delivery.mode must be webhook.", data=data)
    _check_access(request)
    try:
        row = store_subscription(
            credential=request.call.credential,
            event=kind.name,
            arguments=_with_budget_id(arguments, request.call.account),
            url=_text(delivery, "url"),
            secret=_text(delivery, "secret"),
            lifetime=_lifetime(request.params),
            follows_extension=request.follows_extension,
        )
    except EventLimit as error:
        limit: Result = {"limit": error.what, "max": error.most}
        raise RpcError(request.codes.exhausted, error.message, data=limit) from error
    except CallbackProblem as error:
        raise RpcError(request.codes.callback, str(error), data={"reason": error.reason}) from error
    except UserError as error:
        raise RpcError(Code.INVALID_PARAMS, error.message) from error
    return _subscription(row, truncated=request.params.get("cursor") is not None)


def unsubscribe(request: EventRequest) -> Result:
    """Delete a subscription. Raises RpcError; for clients of the extension also if there is no such subscription."""
    kind, arguments, delivery = _read(request)
    with suppress(UserError):  # of a budget that was deleted: by ID
        arguments = _with_budget_id(arguments, request.call.account)
    with account_scope(request.call.account):
        was_living = delete_subscription(
            credential=request.call.credential,
            event=kind.name,
            arguments=arguments,
            url=_text(delivery, "url"),
        )
    if not was_living and request.follows_extension:
        raise RpcError(
            request.codes.not_found, "There is no such subscription.", data={"kind": "subscription"}
        )
    return {}


def _entry(kind: EventType) -> Result:
    return {
        "name": kind.name,
        "title": kind.title,
        "description": f"{kind.description} Values are data.",
        "delivery": [MODE],
        "inputSchema": arguments_schema(kind.arguments),
        "payloadSchema": kind.payload_schema,
    }


def _subscription(row: EventSubscription, *, truncated: bool) -> Result:
    return {
        "id": row.public_id,
        "refreshBefore": localtime(row.expires_at).isoformat(timespec="milliseconds"),
        "cursor": None,
        "truncated": truncated,
    }


def _read(request: EventRequest) -> tuple[EventType, Arguments, Mapping[str, Any]]:
    name, arguments = _text(request.params, "name"), request.params.get("arguments") or {}
    delivery = request.params.get("delivery")
    kind = EVENT_TYPES.get(name)
    if kind is None:
        close = nearest_choices(name[:64], list(EVENT_TYPES))
        hint = f" Nearest: {', '.join(close)}." if close else ""
        message = f"Unknown event: {name[:64]}.{hint} events/list has them all."
        raise RpcError(request.codes.not_found, message, data={"kind": "event"})
    if not isinstance(arguments, dict) or not isinstance(delivery, dict):
        raise RpcError(Code.INVALID_PARAMS, "params.arguments and params.delivery must be objects.")
    try:
        return kind, decode_arguments(kind.arguments, arguments, tool=name), delivery
    except UserError as error:
        raise RpcError(Code.INVALID_PARAMS, error.message) from error


def _with_budget_id(arguments: Arguments, account: Account) -> Arguments:
    """Return the arguments with the ID of a budget that has a name. Raises UserError for an unknown budget."""
    if not isinstance(arguments, BudgetArguments):
        return arguments
    # Only who reads the whole account subscribes, and only the ID of a budget is read.
    with account_scope(account), cost_access(None):
        return replace(arguments, budget=find_budget(account, arguments.budget))


def _check_access(request: EventRequest) -> None:
    if request.call.cost_access_limits:
        reason = "Cost access of this credential is limited, and events are of the whole account."
        raise RpcError(request.codes.forbidden, reason, data={"reason": reason})


def _lifetime(params: Mapping[str, Any]) -> timedelta | None:
    """The lifetime that the client suggests; None for the longest one, which also applies to a client that asks for
    no end."""
    suggestion = params.get("ttlMs")
    if suggestion is None:
        return None
    if isinstance(suggestion, bool) or not isinstance(suggestion, int):
        raise RpcError(Code.INVALID_PARAMS, "params.ttlMs must be a whole number of milliseconds or null.")
    return timedelta(milliseconds=min(max(suggestion, 0), 10**12))


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RpcError(Code.INVALID_PARAMS, f"{name} must be a string.")
    return value
