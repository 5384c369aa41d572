"""Storage of the messages that the next page shows (settings.MESSAGE_STORAGE): Django's, under this product's cookie name."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class _MessageCookie(CookieStorage):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cookie_name = f"{settings.COOKIE_PREFIX}finops_messages"


class MessageStorage(FallbackStorage):
    storage_classes = (_MessageCookie, SessionStorage)
