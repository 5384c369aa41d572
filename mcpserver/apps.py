from __future__ import annotations

import importlib
import pkgutil

from django.apps import AppConfig


class McpServerConfig(AppConfig):
    name = "mcpserver"
    verbose_name = "MCP server"

    def ready(self) -> None:
        """Every module in tools/ and prompts/ registers itself; after that the registry is what it is."""
        from mcpserver import prompts, tools
        from mcpserver.registry import registry

        for package in (tools, prompts):
            for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
                importlib.import_module(f"{package.__name__}.{module}")
        registry.freeze()
