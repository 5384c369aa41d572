from __future__ import annotations

from django.apps import AppConfig


class ActivityConfig(AppConfig):
    name = "finops.activity"
    label = "activity"
    verbose_name = "Assistant activity"
