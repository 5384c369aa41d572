"""The MCP methods, for every revision. protocol.py decides which methods a request may use and how responses are
sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from accounts.credentials import CredentialKind
from finops.activity.models import CallMethod as Kind
from finops.cost_access import reach
from finops.lib.errors import nearest_choices
from finops.lib.name_choices import record_choices
from finops.lib.sentences import escape_hidden
from mcpserver import answer_links, elicitation, events
from mcpserver.call_recorder import CallRecorder
from mcpserver.coerce import is_empty, without_host_arguments
from mcpserver.console_hints import console_hint
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import Code, RpcError
from mcpserver.method_context import META_SERVER, Cache, Method, MethodContext, Result, Server
from mcpserver.prompt_builder import prompt_requests
from mcpserver.registry import Prompt, Tool, ToolAccess, ToolRegistry
from mcpserver.resources import resource_requests
from mcpserver.resources.cost_view import TOOL_META as VIEW_META
from mcpserver.resources.cost_view import offers_view
from mcpserver.results import InsufficientScope, ToolOutcome
from mcpserver.revisions import LEGACY, MODERN, Revision, legacy
from mcpserver.schema import Schema

MAX_COMPLETIONS = 100  # the maximum of the protocol
RESOURCE_NOT_FOUND = -32002  # legacy only; the modern era uses INVALID_PARAMS


def initialize(ctx: MethodContext) -> Result:
    """The handshake of the legacy revisions. Raises RpcError (invalid params) without a protocol version."""
    requested_version = ctx.params.get("protocolVersion")
    if not isinstance(requested_version, str):
        raise RpcError(Code.INVALID_PARAMS, "initialize needs params.protocolVersion, such as 2025-11-25.")
    revision = legacy(requested_version) or LEGACY[0]
    return {
        "protocolVersion": revision.name,
        "capabilities": ctx.server.capabilities(revision),
        "serverInfo": ctx.server.introduction(revision),
        "instructions": ctx.server.instructions,
    }


def ping(ctx: MethodContext) -> Result:
    return {}


def discover(ctx: MethodContext) -> Result:
    return {
        "supportedVersions": [MODERN.name],
        "capabilities": ctx.server.capabilities(MODERN),
        "instructions": ctx.server.instructions,
        "_meta": {META_SERVER: ctx.server.introduction(MODERN)},
    }


def list_tools(ctx: MethodContext) -> Result:
    _refuse_cursor(ctx)
    tools = tools_of(ctx.server.registry, ctx.call)
    shows_views = ctx.server.has_view and offers_view(ctx.revision, ctx.client_capabilities)
    schemas = ctx.server.registry.listed_schemas
    entries = [_tool_entry(tool, schemas[tool.name], ctx.revision, shows_views=shows_views) for tool in tools]
    return {"tools": entries}


def tools_of(registry: ToolRegistry, call: ToolCall) -> list[Tool]:
    """The tools that a call may run. One query."""
    tools = registry.callable_by(may_write=call.credential.may_write)
    return [tool for tool in tools if tool.name in reach.TOOLS or not call.cost_access_limits]


def _tool_entry(tool: Tool, input_schema: Schema, revision: Revision, *, shows_views: bool) -> Result:
    common_fields: Result = {"description": tool.description, "inputSchema": input_schema}
    if not revision.has_titles:
        return {"name": tool.name, **common_fields, "annotations": {"title": tool.title, **tool.hints}}
    return {
        "name": tool.name,
        "title": tool.title,
        **common_fields,
        "annotations": tool.hints,
        **({"_meta": VIEW_META} if tool.has_view and shows_views else {}),
    }


def call_tool(ctx: MethodContext) -> Result:
    ctx = dataclasses.replace(ctx, params=_without_host_arguments(ctx))
    can_ask = ctx.revision.modern and elicitation.can_ask(ctx.client_capabilities)
    if can_ask and (first := _ask_first(ctx)) is not None:
        return first
    params = elicitation.with_choice(ctx.params, ctx.call) if can_ask else ctx.params
    if params is None:
        return _call_result(ToolOutcome(problem=elicitation.NO_CHOICE), ctx.revision)
    if can_ask and params is ctx.params:
        return _call_or_choice(ctx)
    outcome = run_named_tool(ctx.server, params, ctx.call, Kind.TOOL)
    return _call_result(outcome, ctx.revision, str(ctx.params.get("name")))


def _without_host_arguments(ctx: MethodContext) -> Mapping[str, Any]:
    tool, arguments = ctx.server.registry.get(str(ctx.params.get("name"))), ctx.params.get("arguments")
    if tool is None or not isinstance(arguments, dict):
        return ctx.params
    return {**ctx.params, "arguments": without_host_arguments(tool.arguments, arguments)}


def _call_or_choice(ctx: MethodContext) -> Result:
    """The result of a call, or the question which of several similar names is meant. After a write there is no question
    about values: it would be too late."""
    with record_choices() as offered:
        outcome = run_named_tool(ctx.server, ctx.params, ctx.call, Kind.TOOL)
    name, arguments = str(ctx.params.get("name")), ctx.params.get("arguments")
    tool = ctx.server.registry.get(name)
    if tool is not None and tool.access is not ToolAccess.READ:
        offered = []
    if choice := elicitation.first_choice(outcome, offered, arguments):
        return elicitation.ask_choice(choice, ctx.params, ctx.call, has_answer=not outcome.is_error)
    return _call_result(outcome, ctx.revision, name)


def _ask_first(ctx: MethodContext) -> Result | None:
    """The question to the person, or the result of a refusal; None if the tool should run."""
    tool = ctx.server.registry.get(str(ctx.params.get("name")))
    if tool is None or tool.question is None or not ctx.call.credential.may_write:
        return None
    arguments = _object(ctx.params, "arguments")
    question = elicitation.question_of(tool, arguments, ctx.call)
    agreed = elicitation.reply(ctx.params, question, tool, ctx.call) if question else True
    if agreed:
        return None
    with _record_call(Kind.TOOL, ctx.params, ctx.call) as recorder:
        recorder.registered_name = tool.name
        if agreed is False:
            return _call_result(recorder.refusal(elicitation.refusal()), ctx.revision)
        recorder.text(question)
        return elicitation.ask(question, tool, arguments, ctx.call)


def run_named_tool(server: Server, params: Mapping[str, Any], call: ToolCall, kind: Kind) -> ToolOutcome:
    """Run the tool `params.name` with `params.arguments` if the credential may, and record the call as `kind`.

    Raises RpcError for a tool that does not exist and InsufficientScope for a write with a read-only OAuth token.
    """
    with _record_call(kind, params, call) as recorder:
        tool, arguments = _find_tool(server, params, call, kind), _object(params, "arguments")
        recorder.registered_name = tool.name
        if tool.access is ToolAccess.WRITE and not call.credential.may_write:
            return recorder.refusal(ToolOutcome(problem=read_only_problem(tool.name, call), is_refused=True))
        return recorder.outcome(server.run(tool, arguments, call))


def _record_call(kind: Kind, params: Mapping[str, Any], call: ToolCall) -> CallRecorder:
    return CallRecorder(kind, call, params.get("name"), params.get("arguments"))


_LISTED_BY = {Kind.TOOL: "tools/list", Kind.API: "GET /api/v1/tools"}


def _find_tool(server: Server, params: Mapping[str, Any], call: ToolCall, kind: Kind) -> Tool:
    name = _text(params, "name")
    tool = server.registry.get(name)
    if tool is None:
        close = nearest_choices(name[:64], server.registry.names())
        hint = f" Nearest: {', '.join(close)}." if close else ""
        raise RpcError(
            Code.INVALID_PARAMS,
            f"Unknown tool: {name[:64]}.{hint} {_LISTED_BY[kind]} has them all.{console_hint(name, call)}",
        )
    return tool


def read_only_problem(name: str, call: ToolCall) -> str:
    """Why a read-only credential may not make this call. Raises InsufficientScope for an OAuth token, whose client
    can ask for more access."""
    if call.credential.kind is CredentialKind.OAUTH:
        raise InsufficientScope(name)
    return (
        f"{name} needs write access, and this key, {call.credential.label}, is read-only. "
        "Nothing was changed. Members can create a Read/write key at "
        f"{call.console_url('settings/mcp-keys/')}."
    )


def _call_result(outcome: ToolOutcome, revision: Revision, tool: str = "") -> Result:
    result: Result = {"content": [{"type": "text", "text": outcome.text}], "isError": outcome.is_error}
    if revision.has_titles and not outcome.is_error:
        result["structuredContent"] = msgspec.Raw(outcome.answer)
        result["content"] += answer_links.content(outcome.csv_uri, tool)
    return result


def list_prompts(ctx: MethodContext) -> Result:
    _refuse_cursor(ctx)
    is_limited = bool(ctx.call.cost_access_limits)
    prompts = [each for each in ctx.server.registry.prompts() if each.name in reach.PROMPTS or not is_limited]
    return {"prompts": [_prompt_entry(prompt, ctx.revision) for prompt in prompts]}


def _prompt_entry(prompt: Prompt, revision: Revision) -> Result:
    entry: Result = {"name": prompt.name, "description": prompt.description, "arguments": []}
    if revision.has_titles:
        entry["title"] = prompt.title
    for argument in prompt.arguments:
        argument_entry: Result = {
            "name": argument.name,
            "description": argument.description,
            "required": argument.required,
        }
        if revision.has_titles and argument.title:
            argument_entry["title"] = argument.title
        entry["arguments"].append(argument_entry)
    return entry


def get_prompt(ctx: MethodContext) -> Result:
    with _record_call(Kind.PROMPT, ctx.params, ctx.call) as recorder:
        prompt = prompt_requests.find_prompt(ctx.server.registry, _text(ctx.params, "name"))
        recorder.registered_name = prompt.name
        text = recorder.text(prompt_requests.render(prompt, _object(ctx.params, "arguments"), ctx.call))
    return {
        "description": prompt.description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def complete(ctx: MethodContext) -> Result:
    """Suggested values for an argument of a prompt or resource template. Raises RpcError (invalid params) for another
    reference."""
    ref, argument = _object(ctx.params, "ref"), _object(ctx.params, "argument")
    name = _text(argument, "name", "params.argument")
    typed = _text(argument, "value", "params.argument")
    if ref.get("type") == "ref/resource":
        completion = resource_requests.complete(
            ctx.server.resources, _text(ref, "uri", "params.ref"), name, typed, ctx.call
        )
    elif ref.get("type") == "ref/prompt":
        prompt = prompt_requests.find_prompt(ctx.server.registry, _text(ref, "name", "params.ref"))
        context_arguments = _object(_object(ctx.params, "context"), "arguments", "params.context")
        completion = prompt_requests.complete(prompt, name, typed, context_arguments, ctx.call)
    else:
        raise RpcError(Code.INVALID_PARAMS, "params.ref.type must be ref/prompt or ref/resource.")
    visible_values = [escape_hidden(value) for value in completion.values[:MAX_COMPLETIONS]]
    return {
        "completion": {
            "values": visible_values,
            "total": completion.total,
            "hasMore": completion.total > len(visible_values),
        }
    }


def list_resources(ctx: MethodContext) -> Result:
    _refuse_cursor(ctx)
    resources = ctx.server.resources.resources
    if resources and ctx.call.cost_access_limits:
        resources = tuple(each for each in resources if each.same_for_all or each.name in reach.RESOURCES)
    return {"resources": [resource_requests.entry(each, ctx.revision) for each in resources]}


def list_resource_templates(ctx: MethodContext) -> Result:
    _refuse_cursor(ctx)
    templates = ctx.server.resources.templates
    if templates and ctx.call.cost_access_limits:
        templates = tuple(each for each in templates if each.name in reach.RESOURCES)
    return {"resourceTemplates": [resource_requests.template_entry(each, ctx.revision) for each in templates]}


def read_resource(ctx: MethodContext) -> Result:
    """Read a resource. Raises RpcError for an unknown URI, with the code of the protocol revision."""
    uri = _text(ctx.params, "uri")
    with CallRecorder(Kind.RESOURCE, ctx.call, "unknown", {"uri": uri}) as recorder:
        code = Code.INVALID_PARAMS if ctx.revision.modern else RESOURCE_NOT_FOUND
        server = ctx.server
        content = resource_requests.read(server.resources, server.registry, uri, ctx.call, not_found=code)
        recorder.name = recorder.registered_name = content.name
        recorder.text(content.text)
    return {"contents": [{"uri": uri, "mimeType": content.mime_type, "text": content.text}]}


def list_skills(ctx: MethodContext) -> Result:
    _refuse_cursor(ctx)
    return {"skills": [skill.entry for skill in ctx.server.skills]}


def get_skill(ctx: MethodContext) -> Result:
    """Return a skill. Raises RpcError for an unknown URI."""
    uri = _text(ctx.params, "uri")
    skill = next((each for each in ctx.server.skills if each.uri == uri), None)
    if skill is None:
        raise RpcError(Code.INVALID_PARAMS, "Skill not found. skills/list has them all.", data={"uri": uri})
    return {"skill": skill.entry}


def _of_events(answer: Callable[[events.EventRequest], Result]) -> Callable[[MethodContext], Result]:
    """Call a method of events. Raises RpcError (method not found) at a server without events."""

    def method(ctx: MethodContext) -> Result:
        if not ctx.server.has_events:
            raise RpcError(Code.METHOD_NOT_FOUND, "This server has no events.")
        return answer(
            events.EventRequest(params=ctx.params, call=ctx.call, capabilities=ctx.client_capabilities)
        )

    return method


def _text(params: Mapping[str, Any], name: str, where: str = "params") -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RpcError(Code.INVALID_PARAMS, f"{where}.{name} must be a string.")
    return value


def _object(params: Mapping[str, Any], name: str, where: str = "params") -> Mapping[str, Any]:
    value = params.get(name)
    if value is None or value == []:  # PHP's empty object
        return {}
    if not isinstance(value, dict):
        raise RpcError(Code.INVALID_PARAMS, f"{where}.{name} must be an object.")
    return value


def _refuse_cursor(ctx: MethodContext) -> None:
    """Refuse a cursor: each list fits one page, so the server never issues one."""
    if not is_empty(ctx.params.get("cursor")):
        raise RpcError(Code.INVALID_PARAMS, "This list has one page. Remove cursor.")


METHODS: Mapping[str, Method] = {
    "initialize": Method(answer=initialize, modern=False),
    "ping": Method(answer=ping, modern=False),
    "server/discover": Method(answer=discover, legacy=False, cache=Cache(seconds=3600, scope="public")),
    "tools/list": Method(answer=list_tools, cache=Cache(seconds=300)),
    "tools/call": Method(answer=call_tool),
    "prompts/list": Method(answer=list_prompts, cache=Cache(seconds=600)),
    "prompts/get": Method(answer=get_prompt),
    "completion/complete": Method(answer=complete),
    "resources/list": Method(answer=list_resources, cache=Cache(seconds=3600)),
    "resources/templates/list": Method(answer=list_resource_templates, cache=Cache(seconds=3600)),
    "resources/read": Method(answer=read_resource, cache=Cache(seconds=0)),
    "events/list": Method(answer=_of_events(events.list_events), legacy=False),
    "events/subscribe": Method(answer=_of_events(events.subscribe), legacy=False),
    "events/unsubscribe": Method(answer=_of_events(events.unsubscribe), legacy=False),
    "skills/list": Method(answer=list_skills, legacy=False, cache=Cache(seconds=3600, scope="public")),
    "skills/get": Method(answer=get_skill, legacy=False, cache=Cache(seconds=3600, scope="public")),
}
