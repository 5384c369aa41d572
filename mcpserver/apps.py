from __future__ import annotations

import importlib
import pkgutil

from django.apps import AppConfig


class McpServerConfig(AppConfig):
    name = "mcpserver"
    verbose_name = "MCP server"

    def ready(self) -> None:
        """Every module in tools/ registers itself; after that the registry is what it is."""
        from mcpserver import tools
        from mcpserver.registry import registry

        for module in sorted(found.name for found in pkgutil.iter_modules(tools.__path__)):
            importlib.import_module(f"{tools.__name__}.{module}")
        registry.freeze()
