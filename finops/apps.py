from __future__ import annotations

from django.apps import AppConfig


class FinopsConfig(AppConfig):
    name = "finops"
    verbose_name = "FinOps console"

    def ready(self) -> None:
        # The task queue's app must exist before the first shared task is called, in every process.
        from finops import celery, checks  # noqa: F401
        from finops.telemetry import task_signals  # noqa: F401
