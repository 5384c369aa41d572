"""The context of an MCP method: the server, and one request to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from accounts.oauth.metadata import MCP_EXTENSIONS
from mcpserver import events
from mcpserver.context import ToolCall
from mcpserver.registry import Tool, ToolRegistry
from mcpserver.resources.cost_view import EXTENSION as VIEW_EXTENSION
from mcpserver.resources.cost_view import URI as VIEW_URI
from mcpserver.resources.resource import NO_RESOURCES, ResourceCatalog
from mcpserver.resources.skills import EXTENSION as SKILLS_EXTENSION
from mcpserver.resources.skills import Skill
from mcpserver.results import ToolOutcome
from mcpserver.revisions import Revision

META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"

Result = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
    """The server's information and features. One for each process; tests create their own."""

    name: str
    title: str
    version: str
    description: str
    website: str
    icons: Sequence[Result]
    instructions: str
    registry: ToolRegistry
    run: Callable[[Tool, Mapping[str, Any], ToolCall], ToolOutcome]
    resources: ResourceCatalog = NO_RESOURCES
    skills: Sequence[Skill] = ()
    has_events: bool = False

    def info(self, revision: Revision) -> Result:
        info = {"name": self.name, "version": self.version}
        if revision.has_titles:
            info["title"] = self.title
        if revision.has_descriptions:
            info |= {"description": self.description, "websiteUrl": self.website}
        return info

    def introduction(self, revision: Revision) -> Result:
        """`info` with icons, for the first response only: in the modern era each response repeats `info`."""
        info = self.info(revision)
        return info | {"icons": list(self.icons)} if revision.has_descriptions else info

    def capabilities(self, revision: Revision) -> Result:
        """The supported methods. A list may be empty: a capability only says that it can be requested."""
        capabilities: Result = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
        offered = {SKILLS_EXTENSION: bool(self.skills), VIEW_EXTENSION: self.has_view}
        offered |= {events.EXTENSION: self.has_events, **dict.fromkeys(MCP_EXTENSIONS, True)}
        if not revision.modern:
            return capabilities
        if self.has_events:
            capabilities["events"] = {}  # for hosts that are older than the identifier of the extension
        return capabilities | {"extensions": {name: {} for name, has in offered.items() if has}}

    @property
    def has_view(self) -> bool:
        return self.resources.find(VIEW_URI) is not None


@dataclasses.dataclass(frozen=True, kw_only=True)
class MethodContext:
    """One request to a method."""

    server: Server
    params: Mapping[str, Any]
    revision: Revision
    call: ToolCall

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, which the revision without a handshake sends with each request."""
        meta = self.params.get("_meta")
        capabilities = meta.get(META_CAPABILITIES) if isinstance(meta, dict) else None
        return capabilities if isinstance(capabilities, dict) else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cache:
    """How long clients may keep a list, and whether one person's may be shown to another."""

    seconds: int
    scope: str = "private"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method:
    answer: Callable[[MethodContext], Result]
    modern: bool = True
    legacy: bool = True
    cache: Cache | None = None
