"""Configuration as code over REST: `GET /api/v1/configuration` exports, `POST …/plan` and `…/apply` take a YAML file."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from finops.activity.models import CallMethod
from finops.configuration.services import (
    ConfigurationChange,
    apply_configuration,
    export_configuration,
    plan_configuration,
)
from finops.lib.errors import UserError
from mcpserver.call_recorder import CallRecorder
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction, outcome_of
from mcpserver.http_request import json_response, read_body
from mcpserver.methods import read_only_problem
from mcpserver.rest.endpoint import check_method, check_scope, error_response, respond
from mcpserver.rest.openapi import YAML
from mcpserver.results import ToolOutcome

ADVICE: Final = "Send it again, or a file of fewer kinds."
_FLAGS: Final = {"": False, "false": False, "true": True}


@csrf_exempt
def configuration(request: HttpRequest) -> HttpResponse:
    """Return the account's configuration as YAML; `?kind=teams`, repeated for several, limits it."""
    return respond(request, _export)


@csrf_exempt
def plan(request: HttpRequest) -> HttpResponse:
    """Return the changes that applying the file would make. Needs write access too, because it blocks other writes of
    the account."""
    return respond(request, lambda request, call: _change(request, call, "planConfiguration", _plan))


@csrf_exempt
def apply(request: HttpRequest) -> HttpResponse:
    """Apply the file, all or nothing."""
    return respond(request, lambda request, call: _change(request, call, "applyConfiguration", _apply))


def _export(request: HttpRequest, call: ToolCall) -> HttpResponse:
    check_method(request, "GET")
    kinds = request.GET.getlist("kind")

    def export() -> ToolOutcome:
        with call_transaction(call, read_only=True):
            return ToolOutcome(answer=export_configuration(call.account, kinds).encode())

    with CallRecorder(CallMethod.API, call, "exportConfiguration", {"kind": kinds}) as recorder:
        recorder.registered_name = "exportConfiguration"
        outcome = recorder.outcome(outcome_of("exportConfiguration", call, export, advice=ADVICE))
    if outcome.is_error:
        return error_response(outcome)
    return json_response(HTTPStatus.OK, outcome.answer, content_type=YAML)


Action = Callable[[ToolCall, str, bool], list[ConfigurationChange]]


def _plan(call: ToolCall, text: str, delete: bool) -> list[ConfigurationChange]:
    return plan_configuration(call.account, text, delete=delete)


def _apply(call: ToolCall, text: str, delete: bool) -> list[ConfigurationChange]:
    return apply_configuration(account=call.account, actor=call.credential.actor, text=text, delete=delete)


def _change(request: HttpRequest, call: ToolCall, name: str, action: Action) -> HttpResponse:
    check_method(request, "POST")
    body, flag = read_body(request), request.GET.get("delete", "")

    def change() -> ToolOutcome:
        delete = _delete(flag)
        with call_transaction(call, read_only=False):
            changes = action(call, _text(body), delete)
        return ToolOutcome(answer=msgspec.json.encode({"changes": [_entry(each) for each in changes]}))

    with CallRecorder(CallMethod.API, call, name, {"delete": flag}) as recorder, check_scope(body):
        recorder.registered_name = name
        if call.credential.may_write:
            outcome = recorder.outcome(outcome_of(name, call, change, advice=ADVICE))
        else:
            problem = read_only_problem(name, call)
            outcome = recorder.refusal(ToolOutcome(problem=problem, is_refused=True))
    return error_response(outcome) if outcome.is_error else json_response(HTTPStatus.OK, outcome.answer)


def _delete(flag: str) -> bool:
    """Return the flag. Raises UserError for a value other than true and false."""
    if flag not in _FLAGS:
        raise UserError("delete must be true or false.", field="delete")
    return _FLAGS[flag]


def _text(body: bytes) -> str:
    """Return the file's text. Raises UserError for a file that is not UTF-8: decoding it would change names."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise UserError("The file is not UTF-8. Save it as UTF-8.") from error


def _entry(change: ConfigurationChange) -> dict[str, Any]:
    before, after = change.before or {}, change.after or {}
    fields = {name: {"before": before.get(name), "after": after.get(name)} for name in change.fields}
    return {"action": change.action, "kind": change.kind, "name": change.name, "fields": fields}
