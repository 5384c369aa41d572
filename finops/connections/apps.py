from __future__ import annotations

from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    name = "finops.connections"
    label = "connections"
    verbose_name = "Connections"

    def ready(self) -> None:
        from finops.connections import hooks  # noqa: F401
