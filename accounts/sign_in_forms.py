"""What the forms of django-allauth are told about addresses (settings.ACCOUNT_FORMS)."""

from __future__ import annotations

from allauth.account.forms import ResetPasswordForm as DefaultResetPasswordForm
from allauth.account.forms import ResetPasswordKeyForm as DefaultResetPasswordKeyForm
from allauth.account.forms import SignupForm as DefaultSignupForm
from allauth.account.models import EmailAddress

from accounts.models import User
from accounts.services.addresses import free_address, verify_by_reset


class SignupForm(DefaultSignupForm):  # type: ignore[misc]
    def validate_unique_email(self, value: str) -> str:
        """An address that somebody else added and never verified is free."""
        free_address(email=value, owner=None)
        return str(super().validate_unique_email(value))


class ResetPasswordForm(DefaultResetPasswordForm):  # type: ignore[misc]
    def clean_email(self) -> str:
        """Nobody's password is reset by an address that she added and never verified: it may be somebody else's."""
        email = str(super().clean_email())
        self.users: list[User] = [user for user in self.users if _signs_in_with(user, email.lower())]
        return email


def _signs_in_with(user: User, email: str) -> bool:
    return (
        user.email.lower() == email
        or EmailAddress.objects.filter(user=user, email=email, verified=True).exists()
    )


class ResetPasswordKeyForm(DefaultResetPasswordKeyForm):  # type: ignore[misc]
    def save(self) -> None:
        super().save()
        verify_by_reset(user=self.user)
