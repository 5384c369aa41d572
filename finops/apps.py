from __future__ import annotations

from django.apps import AppConfig


class FinopsConfig(AppConfig):
    name = "finops"
    verbose_name = "FinOps console"
