"""What allauth asks the project."""

from __future__ import annotations

from typing import Any, Final

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.core import context as current
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.sites.shortcuts import get_current_site
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts.models import User
from accounts.services.addresses import (
    free_address,
    has_password_session,
    has_verified_address,
    reset_unverified_person,
)
from accounts.services.invitations import opened_invitation_link
from accounts.services.mails import send_or_keep
from accounts.sso.enforcement import refuse_other_sign_in
from finops.lib.client_address import client_address
from finops.lib.mail import attach_text_as_html
from finops.lib.sentences import sentence_case

NOT_SENT_YET: Final = "The e-mail was not sent yet. It is sent when the mail server is available."
CONFIRMATION_SENT: Final = "account/messages/email_confirmation_sent.txt"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    _quiet = False

    def format_email_subject(self, subject: str) -> str:
        return sentence_case(str(super().format_email_subject(subject)))

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """Whether this session came by the mail of an invitation to this very address, so that its sign-up needs no other."""
        return opened_invitation_link(request.session, email) or bool(
            super().is_email_verified(request, email)
        )

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Every way in passes here, by password, passkey or link, before a second factor is asked for."""
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response or refuse_other_sign_in(request, user)

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """By the link of a mail. Who opens it reads the mail, and need not be who signed up: unless this browser knows
        the password, a sign-up starts clean, and an address is not added to somebody else's sign-in."""
        user = email_address.user
        knows_password = has_password_session(request, user)
        if not knows_password and has_verified_address(user):
            messages.error(request, "Sign in as the person who added this address, then open the link again.")
            return False
        with transaction.atomic():
            if not knows_password:
                user.set_unusable_password()
                user.save(update_fields=["password"])
                reset_unverified_person(user=user, email=email_address.email)
            is_confirmed = bool(super().confirm_email(request, email_address))
            if is_confirmed:
                free_address(email=email_address.email, owner=user)
        return is_confirmed

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        """Who started clean chooses a password next."""
        user = email_address.user
        if self.request.user.is_authenticated or user.has_usable_password():
            return str(super().get_email_verification_redirect_url(email_address))
        key = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)
        return reverse("account_reset_password_from_key", args=[user_pk_to_url_str(user), key])

    def reauthenticate(self, user: User, password: str) -> bool:
        """A password whose hash is out of date is hashed anew, which ends every session of the person but this one."""
        before = user.password
        matches = bool(super().reauthenticate(user, password))
        user.refresh_from_db(fields=["password"])
        if matches and user.password != before:
            update_session_auth_hash(current.request, user)
        return matches

    def get_client_ip(self, request: HttpRequest) -> str:
        """Of the limits of sign-in, sign-up, reset and confirmation mails, and of security mails."""
        return client_address(request.META)

    def send_notification_mail(self, template_prefix: str, user: Any, *args: Any, **kwargs: Any) -> None:
        """A security mail. What it is about has happened, and is in the security log: one that has to wait for the mail
        server is no news for the page."""
        self._quiet = True
        super().send_notification_mail(template_prefix, user, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """As allauth does; what the mail server does not take is kept, and the next page says so."""
        request = current.request
        site = {"request": request, "email": email, "current_site": get_current_site(request)}
        mail = self.render_mail(template_prefix, email, {**site, **context})
        attach_text_as_html(mail)
        if send_or_keep(mail):
            return
        if request is not None and not self._quiet and not getattr(request, "mail_is_kept", False):
            request.mail_is_kept = True
            messages.warning(request, NOT_SENT_YET)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        *args: Any,
        **options: Any,
    ) -> None:
        if message_template == CONFIRMATION_SENT and getattr(request, "mail_is_kept", False):
            return  # it was not
        super().add_message(request, level, message_template, *args, **options)
