from __future__ import annotations

from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    name = "finops.budgets"
    label = "budgets"
    verbose_name = "Budgets"

    def ready(self) -> None:
        from finops.budgets import hooks  # noqa: F401
