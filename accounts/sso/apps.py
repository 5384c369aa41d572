from __future__ import annotations

from django.apps import AppConfig


class SsoConfig(AppConfig):
    name = "accounts.sso"
    label = "sso"
    verbose_name = "Single sign-on"

    def ready(self) -> None:
        from accounts.sso import hooks  # noqa: F401
