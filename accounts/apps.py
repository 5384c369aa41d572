from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from accounts import creations  # noqa: F401 its kinds register themselves
        from accounts.security import receivers  # noqa: F401 they connect themselves
