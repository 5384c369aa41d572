"""Resources and the catalog of a server's resources.

A resource is attached as context by the host or the person, not requested by the model. What an assistant requests by
itself is a tool.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from mcpserver.context import ToolCall
from mcpserver.registry import Completion

MARKDOWN: Final = "text/markdown"
YAML: Final = "application/yaml"
JSON: Final = "application/json"
CSV: Final = "text/csv"

MAX_URI: Final = 2_000
"""The maximum length of a URI."""


@dataclasses.dataclass(frozen=True)
class ResourceContent:
    """A text with its type. `name` is that of the resource or template, for the activity log."""

    name: str
    mime_type: str
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class McpResource:
    """A text at one URI. `read` runs in the account's scope, READ ONLY, unless the text is `same_for_all`; then
    `size` is its size in bytes."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[ToolCall], str]
    same_for_all: bool = False
    size: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResourceTemplate:
    """Texts at `prefix` and a percent-encoded name. `read` raises UserError for an unknown name; `names` returns all
    names of the account, for completion."""

    prefix: str
    argument: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[ToolCall, str], str]
    names: Callable[[ToolCall], Sequence[str]]

    @property
    def uri_template(self) -> str:
        return f"{self.prefix}{{{self.argument}}}"

    def complete(self, call: ToolCall, typed: str) -> Completion:
        names = [name for name in self.names(call) if typed.casefold() in name.casefold()]
        names.sort(key=lambda name: (not name.casefold().startswith(typed.casefold()), name.casefold()))
        return Completion(values=names, total=len(names))


class ResourceCatalog:
    """The resources and templates of a server, in listing order."""

    def __init__(
        self, resources: Sequence[McpResource] = (), templates: Sequence[ResourceTemplate] = ()
    ) -> None:
        self.resources = tuple(resources)
        self.templates = tuple(templates)
        self._by_uri = {resource.uri: resource for resource in self.resources}

    def find(self, uri: str) -> McpResource | tuple[ResourceTemplate, str] | None:
        """The resource at a URI, or a template and the name in the URI; None for neither."""
        if resource := self._by_uri.get(uri):
            return resource
        for template in self.templates:
            if uri.startswith(template.prefix) and len(uri) > len(template.prefix):
                return template, unquote(uri.removeprefix(template.prefix))
        return None

    def find_template(self, uri_template: str) -> ResourceTemplate | None:
        return next((each for each in self.templates if each.uri_template == uri_template), None)


NO_RESOURCES: Final = ResourceCatalog()
