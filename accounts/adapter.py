"""What allauth asks the project."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from finops.lib.client_address import client_address


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def get_client_ip(self, request: HttpRequest) -> str:
        """Of the limits of sign-in, sign-up, reset and confirmation mails, and of security mails."""
        return client_address(request.META)
