"""Forms of django-allauth for second factors in the words of this product (settings.MFA_FORMS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from allauth.core import context as current
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm as DefaultAuthenticateForm
from allauth.mfa.base.forms import BaseAuthenticateForm
from allauth.mfa.base.forms import ReauthenticateForm as DefaultReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm as DefaultActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm as DefaultAddWebAuthnForm
from allauth.mfa.webauthn.forms import EditWebAuthnForm as DefaultEditWebAuthnForm
from django.core.exceptions import ValidationError

from accounts.entry_texts import EntryTexts
from accounts.security.guesses import Guesses


class ActivateTOTPForm(EntryTexts, DefaultActivateTOTPForm):  # type: ignore[misc]
    def clean_code(self) -> str:
        """Check the code as one of a sign-in, after which it is used."""
        code = str(super().clean_code())
        data = {"secret": get_adapter().encrypt(self.secret)}
        if (
            not Authenticator(user=self.user, type=Authenticator.Type.TOTP, data=data)
            .wrap()
            .validate_code(code)
        ):
            raise get_adapter().validation_error("incorrect_code")
        return code


class _CodeForm(EntryTexts, BaseAuthenticateForm):  # type: ignore[misc]
    labels: ClassVar[Mapping[str, str]] = {"code": "6-digit code or recovery code"}

    def clean_code(self) -> str:
        guesses = Guesses.of_second_factor(current.request, self.user)
        guesses.check()
        try:
            return str(super().clean_code())
        except ValidationError:
            guesses.count_wrong()
            raise


class AuthenticateForm(_CodeForm, DefaultAuthenticateForm):  # type: ignore[misc]
    pass


class SecondFactorReauthenticateForm(_CodeForm, DefaultReauthenticateForm):  # type: ignore[misc]
    pass


class AddWebAuthnForm(EntryTexts, DefaultAddWebAuthnForm):  # type: ignore[misc]
    labels: ClassVar[Mapping[str, str]] = {"passwordless": "Use as a passkey"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].help_text = "For example: Ana's laptop."
        self.fields[
            "passwordless"
        ].help_text = "Signs you in without a password. The key needs a PIN or biometrics."


class EditWebAuthnForm(EntryTexts, DefaultEditWebAuthnForm):  # type: ignore[misc]
    pass
