"""Forms of django-allauth for second factors in the words of this product (settings.MFA_FORMS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from allauth.mfa.base.forms import AuthenticateForm as DefaultAuthenticateForm
from allauth.mfa.base.forms import ReauthenticateForm as DefaultReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm as DefaultActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm as DefaultAddWebAuthnForm
from allauth.mfa.webauthn.forms import EditWebAuthnForm as DefaultEditWebAuthnForm

from accounts.entry_texts import EntryTexts


class ActivateTOTPForm(EntryTexts, DefaultActivateTOTPForm):  # type: ignore[misc]
    pass


class AuthenticateForm(EntryTexts, DefaultAuthenticateForm):  # type: ignore[misc]
    labels: ClassVar[Mapping[str, str]] = {"code": "6-digit code or recovery code"}


class SecondFactorReauthenticateForm(EntryTexts, DefaultReauthenticateForm):  # type: ignore[misc]
    labels: ClassVar[Mapping[str, str]] = {"code": "6-digit code or recovery code"}


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
