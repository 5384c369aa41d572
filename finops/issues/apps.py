from __future__ import annotations

from django.apps import AppConfig


class IssuesConfig(AppConfig):
    name = "finops.issues"
    label = "issues"
    verbose_name = "Issues"

    def ready(self) -> None:
        from finops.issues import hooks  # noqa: F401
