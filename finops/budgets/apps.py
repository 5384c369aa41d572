from __future__ import annotations

from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    name = "finops.budgets"
    label = "budgets"
    verbose_name = "Budgets"
