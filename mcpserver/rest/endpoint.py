"""The REST API: each tool as POST /api/v1/tools/<name>, with the credentials, limits and execution of the MCP server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from finops.activity.models import CallMethod
from finops.lib.sentences import escape_hidden
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from mcpserver import cors, jsonrpc
from mcpserver.context import ToolCall
from mcpserver.http_request import HttpError, admit, insufficient_scope_error, json_response, read_body
from mcpserver.jsonrpc import RpcError
from mcpserver.method_context import Server
from mcpserver.methods import run_named_tool, tools_of
from mcpserver.registry import Tool, ToolAccess
from mcpserver.rest.idempotency import HEADER, run_once
from mcpserver.rest.openapi import document_bytes
from mcpserver.rest.problems import problem_response
from mcpserver.results import InsufficientScope, ToolOutcome, new_incident
from mcpserver.server import server as default_server

PREFIX: Final = "/api/v1/"
_METHODS: Final = "GET, POST"

log = logging.getLogger(__name__)

Handler = Callable[[HttpRequest, ToolCall], HttpResponse]


class RestApi:
    """Views of one server's tools; tests pass a server with tools of their own."""

    def __init__(self, server: Callable[[], Server]) -> None:
        self._server = server

    def tools(self, request: HttpRequest) -> HttpResponse:
        """List the tools that the credential may call."""
        return respond(request, self._list_tools)

    def tool(self, request: HttpRequest, name: str) -> HttpResponse:
        """Call a tool."""
        return respond(request, lambda request, call: self._call_tool(request, call, name))

    def _list_tools(self, request: HttpRequest, call: ToolCall) -> HttpResponse:
        check_method(request, "GET")
        tools = tools_of(self._server().registry, call)
        return json_response(HTTPStatus.OK, msgspec.json.encode({"tools": [_entry(tool) for tool in tools]}))

    def _call_tool(self, request: HttpRequest, call: ToolCall, name: str) -> HttpResponse:
        check_method(request, "POST")
        body = read_body(request)
        params = {"name": name, "arguments": _arguments(body)}
        headers: dict[str, str] = {}

        def run() -> ToolOutcome:
            return run_named_tool(self._server(), params, call, CallMethod.API)

        try:
            with check_scope(body):
                if (key := request.headers.get(HEADER)) is not None and self._may_write_by(name, call):
                    outcome, headers = run_once(call, key, params, body, run)
                else:
                    outcome = run()
        except RpcError as unknown_tool:
            raise HttpError(HTTPStatus.NOT_FOUND, unknown_tool.message) from unknown_tool
        if outcome.is_error:
            return error_response(outcome)
        return json_response(HTTPStatus.OK, outcome.answer, headers)

    def _may_write_by(self, name: str, call: ToolCall) -> bool:
        """Return whether the tool writes and the credential may write; reads and refusals need no Idempotency-Key."""
        tool = self._server().registry.get(name)
        may_write = call.credential.may_write and not call.cost_access_limits
        return tool is not None and tool.access is ToolAccess.WRITE and may_write


def no_path(request: HttpRequest) -> HttpResponse:
    """Refuse every other path below the prefix."""

    def refuse(request: HttpRequest, call: ToolCall) -> HttpResponse:
        raise HttpError(HTTPStatus.NOT_FOUND, "Unknown path. See /api/v1/openapi.json.")

    return respond(request, refuse)


def openapi(request: HttpRequest) -> HttpResponse:
    """Return the public OpenAPI document."""
    if request.method not in ("GET", "HEAD"):
        return problem_response(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET.", {"Allow": "GET, HEAD"})
    answer = json_response(HTTPStatus.OK, document_bytes())
    answer["Access-Control-Allow-Origin"] = "*"  # public, and viewers of OpenAPI documents run in browsers
    return answer


def respond(request: HttpRequest, handler: Handler) -> HttpResponse:
    """Return the handler's response to an admitted request, or the problem; with CORS headers for browsers."""
    is_preflight = cors.is_preflight(request)
    answer = cors.preflight(request, _METHODS) if is_preflight else _answer_or_problem(request, handler)
    return cors.share(request, answer)


def _answer_or_problem(request: HttpRequest, handler: Handler) -> HttpResponse:
    try:
        return handler(request, admit(request))
    except HttpError as error:
        return problem_response(error.status, escape_hidden(error.message), error.headers)
    except Exception as error:
        incident = new_incident()
        if is_unavailable(error):
            log.warning("incident %s at %s: %s", incident, PREFIX, error)
            detail = f"The database is not available; try again in {RETRY_SECONDS} seconds"
            headers = {"Retry-After": str(RETRY_SECONDS)}
            return problem_response(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{detail} (incident {incident}).",
                headers,
                incident=incident,
            )
        log.exception("incident %s at %s", incident, PREFIX)
        detail = f"Internal error (incident {incident}). Retry once."
        return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, detail, incident=incident)


def check_method(request: HttpRequest, method: str) -> None:
    """Check the method. Raises HttpError for a method that the endpoint does not support."""
    if request.method != method:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, f"Use {method}.", {"Allow": method})


def _arguments(body: bytes) -> dict[str, Any]:
    """Return a tool's arguments; none for an empty body. Raises HttpError for anything but a JSON object."""
    if not body.strip():
        return {}
    try:
        value = jsonrpc.decode(body)
    except RpcError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, error.message) from error
    if not isinstance(value, dict):
        raise HttpError(
            HTTPStatus.BAD_REQUEST, 'The body must be a JSON object of arguments, such as {"limit": 5}.'
        )
    return value


@contextmanager
def check_scope(body: bytes) -> Iterator[None]:
    """Check the scope. Raises HttpError if a write needs more scope than the OAuth token has."""
    try:
        yield
    except InsufficientScope as tool:
        raise insufficient_scope_error(str(tool), body) from tool


def error_response(outcome: ToolOutcome) -> HttpResponse:
    """Return the problem of a call without an answer."""
    if outcome.incident:
        return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, outcome.text, incident=outcome.incident)
    status = HTTPStatus.FORBIDDEN if outcome.is_refused else HTTPStatus.UNPROCESSABLE_ENTITY
    return problem_response(status, outcome.text, field=escape_hidden(outcome.field))


def _entry(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "access": tool.access.value,
        "destructive": tool.destructive,
        "input_schema": tool.input_schema,
        "examples": tool.examples,
    }


_api = RestApi(default_server)
tools = csrf_exempt(_api.tools)
tool = csrf_exempt(_api.tool)
