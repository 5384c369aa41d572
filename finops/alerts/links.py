"""Addresses of the console for messages, which are read elsewhere."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from accounts.models import Account


def console_url(account: Account, page: str, **arguments: object) -> str:
    """The whole address of a page of the account, by the name of its URL."""
    return f"{settings.PUBLIC_URL}{reverse(page, kwargs={'slug': account.slug, **arguments})}"
