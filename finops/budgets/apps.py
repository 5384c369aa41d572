from __future__ import annotations

from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    name = "finops.budgets"
    label = "budgets"
    verbose_name = "Budgets"

    def ready(self) -> None:
        from finops.budgets import team_panel, uses  # noqa: F401 register a team's panel, and what uses dimensions
