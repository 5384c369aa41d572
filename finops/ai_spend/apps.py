from __future__ import annotations

from django.apps import AppConfig


class AiSpendConfig(AppConfig):
    name = "finops.ai_spend"
    label = "ai_spend"
    verbose_name = "AI spend"

    def ready(self) -> None:
        from finops.ai_spend import hooks  # noqa: F401
