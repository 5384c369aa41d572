from __future__ import annotations

from django.apps import AppConfig


class ExchangeRatesConfig(AppConfig):
    name = "finops.exchange_rates"
    label = "exchange_rates"
    verbose_name = "Exchange rates"

    def ready(self) -> None:
        from finops.exchange_rates import hooks  # noqa: F401
