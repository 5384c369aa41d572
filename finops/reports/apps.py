from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "finops.reports"
    label = "reports"
    verbose_name = "Reports"
