"""The project's adapter for django-allauth."""

from __future__ import annotations

from typing import Any, ClassVar, Final

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
from accounts.security.guesses import Guesses
from accounts.security.known_devices import remember_device
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
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.mail import attach_text_as_html
from finops.lib.sentences import sentence_case

NOT_SENT_YET: Final = "The email was not sent yet. It is sent when the mail server is available."
CONFIRMATION_SENT: Final = "account/messages/email_confirmation_sent.txt"
_ANYBODYS_MAILS: Final = {
    "account/email/password_reset_key": (5, 60),
    "account/email/unknown_account": (5, 60),
    "account/email/account_already_exists": (1, 180),
    "account/email/email_confirmation": (1, 180),
    "account/email/email_confirmation_signup": (1, 180),
}
"""Mails that anybody can request for any address, with the most of them that it gets in so many seconds."""
METHODS: Final = {
    "mfa_reauthenticate": "Use an authenticator app or recovery code",
    "mfa_reauthenticate:webauthn": "Use a security key",
    "reauthenticate": "Use your password",
}


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "account_inactive": "Your user is deactivated. Ask the operator of this server to activate it.",
        "cannot_remove_primary_email": "Make another address primary before you remove this one.",
        "duplicate_email": "Your sign-in has this email address already.",
        "email_password_mismatch": "The email or password is incorrect.",
        "enter_current_password": "The current password is incorrect.",
        "incorrect_code": "The code is incorrect.",
        "incorrect_password": "The password is incorrect.",
        "max_email_addresses": "A sign-in has at most %d email addresses.",
        "rate_limited": "Too many attempts. Try again later.",
        "unverified_primary_email": "Verify the address before you make it primary.",
    }
    _quiet = False

    def format_email_subject(self, subject: str) -> str:
        return sentence_case(str(super().format_email_subject(subject)))

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """Whether this session opened the invitation mail sent to this address, which verifies the address at sign-up."""
        return opened_invitation_link(request.session, email) or bool(
            super().is_email_verified(request, email)
        )

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Called before every sign-in, by password, passkey or link, and before a second factor is requested."""
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response or refuse_other_sign_in(request, user)

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Verify an address by the link of a mail. The person who opens it receives the mail, but may not be the one who
        signed up: unless this browser knows the password, the sign-up is reset, and an address is not added to another
        person's sign-in."""
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
        """Return the page that follows: after a reset sign-up the person chooses a password."""
        user = email_address.user
        if self.request.user.is_authenticated or user.has_usable_password():
            return str(super().get_email_verification_redirect_url(email_address))
        key = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)
        return reverse("account_reset_password_from_key", args=[user_pk_to_url_str(user), key])

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password. An outdated hash is replaced, which ends every session of the person but this one."""
        before = user.password
        matches = bool(super().reauthenticate(user, password))
        user.refresh_from_db(fields=["password"])
        if matches and user.password != before:
            update_session_auth_hash(current.request, user)
            remember_device(current.request, user)
        return matches

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        """Return allauth's methods with the names that the page 'Confirm access' gives its buttons."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        return [{**each, "description": METHODS.get(each["id"], each["description"])} for each in methods]

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Called before every check of a password. Raises ValidationError after too many wrong ones."""
        self._guesses = Guesses.of_password(request, str(credentials.get("email") or ""))
        self._guesses.check()

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        self._guesses.count_wrong()

    def get_client_ip(self, request: HttpRequest) -> str:
        """The client's address, for limits of sign-in, sign-up, reset and confirmation mails, and for security mails."""
        return client_address(request.META)

    def send_notification_mail(self, template_prefix: str, user: Any, *args: Any, **kwargs: Any) -> None:
        """Send a security mail. Its event has happened and is in the security log, so the page does not mention a mail that
        waits for the mail server."""
        self._quiet = True
        super().send_notification_mail(template_prefix, user, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail as allauth does; a mail that the mail server refuses is stored, and the next page says so. One that
        anybody can request for any address is left out if it was sent just now: the link of the earlier mail still works, so
        that nobody can use up a person's mails."""
        if _was_sent_just_now(template_prefix, email, context):
            return
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
            return  # the mail was not sent
        super().add_message(request, level, message_template, *args, **options)


def _was_sent_just_now(template_prefix: str, email: str, context: dict[str, Any]) -> bool:
    if template_prefix not in _ANYBODYS_MAILS:
        return False
    limit, seconds = _ANYBODYS_MAILS[template_prefix]
    user = context.get("user")
    # The link for an address that a person adds to a sign-in works in that person's browser only.
    is_of_person = "confirmation" in template_prefix and user is not None and has_verified_address(user)
    key = f"{user.pk} {email.lower()}" if is_of_person and user is not None else email.lower()
    return seconds_to_wait(template_prefix, key, limit=limit, seconds=seconds) > 0
