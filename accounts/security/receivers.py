"""Receivers of allauth's signals: they write the security log, and send the mails that allauth does not send."""

from __future__ import annotations

from typing import Any

from allauth.account import signals as account
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from django.contrib.auth.signals import user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import SecurityEvent, User
from accounts.security.known_devices import remember_device
from accounts.security.queries import is_new_client
from accounts.security.services import end_sessions, record
from accounts.services.addresses import people_of_address

Kind = SecurityEvent.Kind


@receiver(account.user_logged_in)
def record_sign_in(request: HttpRequest, user: User, **_more: Any) -> None:
    records = get_authentication_records(request, user)
    methods = dict.fromkeys(str(each.get("type") or each.get("method")) for each in records)
    event = record(user=user, kind=Kind.SIGN_IN, request=request, detail=", ".join(methods))
    remember_device(request, user)
    if is_new_client(event):
        get_adapter(request).send_notification_mail("account/email/new_sign_in", user)


@receiver(user_login_failed)
def record_failed_sign_in(
    credentials: dict[str, Any], request: HttpRequest | None = None, **_more: Any
) -> None:
    """Record a failed sign-in, also without a person, with the same number of statements: the response time must not tell
    which addresses have signed up. allauth's limits bound how many there can be."""
    email = str(credentials.get("email") or "")
    if request is None or not email:
        return
    people: list[User | None] = [*people_of_address(email)]
    for user in people or [None]:
        record(user=user, kind=Kind.FAIL_SIGN_IN, request=request)


@receiver(mfa.authentication_failed)
def record_failed_second_factor(request: HttpRequest, user: User, **_more: Any) -> None:
    record(user=user, kind=Kind.FAIL_SECOND_FACTOR, request=request)


@receiver(mfa.authenticator_added)
@receiver(mfa.authenticator_reset)
def record_new_second_factor(
    request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any
) -> None:
    codes = authenticator.type == Authenticator.Type.RECOVERY_CODES
    kind = Kind.GENERATE_RECOVERY_CODES if codes else Kind.ADD_SECOND_FACTOR
    record(user=user, kind=kind, request=request, detail="" if codes else str(authenticator))


@receiver(mfa.authenticator_removed)
def record_second_factor_removal(
    request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any
) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        record(user=user, kind=Kind.REMOVE_SECOND_FACTOR, request=request, detail=str(authenticator))


@receiver(account.email_added)
def record_added_email(request: HttpRequest, user: User, email_address: EmailAddress, **_more: Any) -> None:
    record(user=user, kind=Kind.ADD_EMAIL, request=request, detail=email_address.email)
    get_adapter(request).send_notification_mail(
        "account/email/email_added", user, {"added_email": email_address.email}
    )


@receiver(account.email_confirmed)
def record_confirmed_email(request: HttpRequest, email_address: EmailAddress, **_more: Any) -> None:
    record(user=email_address.user, kind=Kind.CONFIRM_EMAIL, request=request, detail=email_address.email)


@receiver(account.email_changed)
def record_changed_email(
    request: HttpRequest,
    user: User,
    from_email_address: EmailAddress | None,
    to_email_address: EmailAddress,
    **_more: Any,
) -> None:
    before = f"{from_email_address.email} to " if from_email_address else ""
    record(user=user, kind=Kind.CHANGE_EMAIL, request=request, detail=before + to_email_address.email)


@receiver(account.email_removed)
def record_removed_email(request: HttpRequest, user: User, email_address: EmailAddress, **_more: Any) -> None:
    record(user=user, kind=Kind.REMOVE_EMAIL, request=request, detail=email_address.email)


@receiver(account.password_changed)
@receiver(account.password_reset)
@receiver(account.password_set)
def record_new_password(signal: Any, request: HttpRequest, user: User, **_more: Any) -> None:
    """Record the new password and delete earlier sessions, which Django no longer accepts. This browser, which opened the
    mailed link or is signed in, stays a known device."""
    kinds = {account.password_reset: Kind.RESET_PASSWORD, account.password_set: Kind.SET_PASSWORD}
    record(user=user, kind=kinds.get(signal, Kind.CHANGE_PASSWORD), request=request)
    end_sessions(user=user, request=request)
