"""Forms for django-allauth with this product's words and rules on addresses (settings.ACCOUNT_FORMS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from allauth.account.forms import AddEmailForm as DefaultAddEmailForm
from allauth.account.forms import ChangePasswordForm as DefaultChangePasswordForm
from allauth.account.forms import LoginForm as DefaultLoginForm
from allauth.account.forms import ReauthenticateForm as DefaultReauthenticateForm
from allauth.account.forms import ResetPasswordForm as DefaultResetPasswordForm
from allauth.account.forms import ResetPasswordKeyForm as DefaultResetPasswordKeyForm
from allauth.account.forms import SetPasswordForm as DefaultSetPasswordForm
from allauth.account.forms import SignupForm as DefaultSignupForm
from allauth.account.models import EmailAddress
from django import forms
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from accounts.entry_texts import EntryTexts
from accounts.models import User
from accounts.services.addresses import free_address, verify_by_reset
from accounts.sso.enforcement import refusal_text
from accounts.sso.queries import enforced_provider_of_email


def _check_enforcement(email: str) -> None:
    """Raise ValidationError for an address whose domain requires single sign-on, whether or not anybody has the address."""
    provider = enforced_provider_of_email(email)
    if provider is not None:
        raise ValidationError(refusal_text(provider, email), code="sso")


class LoginForm(EntryTexts, DefaultLoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_owners = bool(self.data.get("owner") or (self.request and self.request.GET.get("owner")))
        if self.is_owners:
            self.fields["owner"] = forms.CharField(required=False, initial="1", widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any] | None:
        """Refuse domains with enforced single sign-on, except an owner, who is checked after sign-in (accounts/adapter.py)."""
        if not self.is_owners:
            _check_enforcement(str(self.cleaned_data.get("login") or ""))
        cleaned: dict[str, Any] | None = super().clean()
        return cleaned


class SignupForm(EntryTexts, DefaultSignupForm):  # type: ignore[misc]
    required_texts: ClassVar[Mapping[str, str]] = {
        **EntryTexts.required_texts,
        "password1": "Enter a password.",
    }

    def validate_unique_email(self, value: str) -> str:
        """Treat an address that another person added and never verified as free."""
        _check_enforcement(value)
        free_address(email=value, owner=None)
        return str(super().validate_unique_email(value))

    def try_save(self, request: HttpRequest) -> tuple[User | None, HttpResponse | None]:
        """Sign up. An address that somebody has takes as long as a new one, whose password is hashed."""
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
        signed_up: tuple[User | None, HttpResponse | None] = super().try_save(request)
        return signed_up


class ResetPasswordForm(EntryTexts, DefaultResetPasswordForm):  # type: ignore[misc]
    def clean_email(self) -> str:
        """Ignore unverified addresses for a password reset: they may belong to another person."""
        email = str(super().clean_email())
        _check_enforcement(email)
        self.users: list[User] = [user for user in self.users if _signs_in_with(user, email.lower())]
        return email


def _signs_in_with(user: User, email: str) -> bool:
    return (
        user.email.lower() == email
        or EmailAddress.objects.filter(user=user, email=email, verified=True).exists()
    )


class ResetPasswordKeyForm(EntryTexts, DefaultResetPasswordKeyForm):  # type: ignore[misc]
    def save(self) -> None:
        super().save()
        verify_by_reset(user=self.user)


class AddEmailForm(EntryTexts, DefaultAddEmailForm):  # type: ignore[misc]
    required_texts: ClassVar[Mapping[str, str]] = {"email": "Enter an email address."}


class ChangePasswordForm(EntryTexts, DefaultChangePasswordForm):  # type: ignore[misc]
    pass


class SetPasswordForm(EntryTexts, DefaultSetPasswordForm):  # type: ignore[misc]
    pass


class ReauthenticateForm(EntryTexts, DefaultReauthenticateForm):  # type: ignore[misc]
    pass
