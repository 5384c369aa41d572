from __future__ import annotations

import importlib
import pkgutil

from django.apps import AppConfig


class McpServerConfig(AppConfig):
    name = "mcpserver"
    verbose_name = "MCP server"

    def ready(self) -> None:
        """Import every module in tools/ and prompts/, which register themselves, then freeze the registry."""
        from mcpserver import prompts, tools
        from mcpserver.registry import registry

        for package in (tools, prompts):
            for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
                importlib.import_module(f"{package.__name__}.{module}")
        registry.freeze()
