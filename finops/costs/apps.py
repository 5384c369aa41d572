from __future__ import annotations

from django.apps import AppConfig


class CostsConfig(AppConfig):
    name = "finops.costs"
    label = "costs"
    verbose_name = "Costs"

    def ready(self) -> None:
        from accounts.services.deletion import register_files
        from finops.costs.services.files import remove_of_account

        register_files(remove_of_account)
