"""What allauth asks the project."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from accounts.services.invitations import arrived_by_mail
from finops.lib.client_address import client_address

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """Whether this session came by the mail of an invitation to this very address, so that its sign-up needs no other."""
        return arrived_by_mail(request.session, email) or bool(super().is_email_verified(request, email))

    def get_client_ip(self, request: HttpRequest) -> str:
        """Of the limits of sign-in, sign-up, reset and confirmation mails, and of security mails."""
        return client_address(request.META)

    def send_notification_mail(self, template_prefix: str, user: Any, *args: Any, **kwargs: Any) -> None:
        """A security mail. What it is about has happened, and is in the security log: a mail server that is away does not
        make it fail."""
        try:
            super().send_notification_mail(template_prefix, user, *args, **kwargs)
        except OSError:  # smtplib's errors are among them
            log.exception("the mail %s to user %s was not sent", template_prefix, user.pk)
