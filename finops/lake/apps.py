from __future__ import annotations

from django.apps import AppConfig


class LakeConfig(AppConfig):
    name = "finops.lake"
    label = "lake"
    verbose_name = "Lake"

    def ready(self) -> None:
        from finops.lake import hooks  # noqa: F401
