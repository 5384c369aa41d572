"""Requests for resources, with the checks that all resources share."""

from __future__ import annotations

from typing import Any

from finops.cost_access.reach import RESOURCES
from finops.lib.errors import UserError
from mcpserver import answer_links
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction
from mcpserver.jsonrpc import Code, RpcError
from mcpserver.registry import Completion, ToolRegistry
from mcpserver.resources import answer_files
from mcpserver.resources.resource import (
    MAX_URI,
    McpResource,
    ResourceCatalog,
    ResourceContent,
    ResourceTemplate,
)
from mcpserver.revisions import Revision


def entry(resource: McpResource, revision: Revision) -> dict[str, Any]:
    """The resource in a list."""
    size = {} if resource.size is None or not revision.has_titles else {"size": resource.size}
    return {"uri": resource.uri, **_common_fields(resource, revision), **size}


def template_entry(template: ResourceTemplate, revision: Revision) -> dict[str, Any]:
    return {"uriTemplate": template.uri_template, **_common_fields(template, revision)}


def _common_fields(each: McpResource | ResourceTemplate, revision: Revision) -> dict[str, Any]:
    fields = {"name": each.name, "description": each.description, "mimeType": each.mime_type}
    return {**fields, "title": each.title} if revision.has_titles else fields


def read(
    catalog: ResourceCatalog, tools: ToolRegistry, uri: str, call: ToolCall, *, not_found: int
) -> ResourceContent:
    """Return a resource, or all rows of an answer. Raises RpcError with the code `not_found` for a URI of no
    resource, and for a name that the account does not have."""
    if uri.startswith(answer_links.PREFIX):
        return answer_files.read(tools, uri, call, not_found=not_found)
    resource = catalog.find(uri) if len(uri) <= MAX_URI and "\x00" not in uri else None
    if resource is None:
        message = "Resource not found. resources/list and resources/templates/list have them all."
        raise RpcError(not_found, message, data={"uri": uri[:MAX_URI]})
    if isinstance(resource, McpResource) and resource.same_for_all:
        return ResourceContent(resource.name, resource.mime_type, resource.read(call))
    try:
        kind = resource if isinstance(resource, McpResource) else resource[0]
        with call_transaction(call, read_only=True, is_within_limit=kind.name in RESOURCES):
            if isinstance(resource, McpResource):
                return ResourceContent(resource.name, resource.mime_type, resource.read(call))
            template, name = resource
            text = _with_limit(template.read(call, name), call)
            return ResourceContent(template.name, template.mime_type, text)
    except UserError as problem:
        raise RpcError(not_found, f"Resource not found. {problem.message}", data={"uri": uri}) from problem


def _with_limit(yaml: str, call: ToolCall) -> str:
    """The text with the reader's limit as a comment, which plan and apply ignore."""
    sentence = call.limit_sentence()
    return f"# {sentence}\n{yaml}" if sentence else yaml


def complete(
    catalog: ResourceCatalog, uri_template: str, argument: str, typed: str, call: ToolCall
) -> Completion:
    """Names that match the typed text. Raises RpcError for an unknown template or argument."""
    template = catalog.find_template(uri_template)
    if template is None or argument != template.argument:
        valid = ", ".join(f"{each.argument} of {each.uri_template}" for each in catalog.templates)
        message = f"No such argument of a resource template. {f'Valid: {valid}.' if valid else ''}".strip()
        raise RpcError(Code.INVALID_PARAMS, message)
    is_within_limit = template.name in RESOURCES
    if call.cost_access_limits and not is_within_limit:
        return Completion()
    with call_transaction(call, read_only=True, is_within_limit=is_within_limit):
        return template.complete(call, typed)
