from __future__ import annotations

from django.apps import AppConfig


class ChangeEventsConfig(AppConfig):
    name = "finops.change_events"
    label = "change_events"
    verbose_name = "Change events"

    def ready(self) -> None:
        from finops.change_events import hooks  # noqa: F401
