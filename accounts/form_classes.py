"""The forms of django-allauth that this product replaces, by allauth's names (settings.ACCOUNT_FORMS, settings.MFA_FORMS)."""

from __future__ import annotations

from typing import Final

_SIGN_IN: Final = "accounts.sign_in_forms"
_SECOND_FACTOR: Final = "accounts.security.second_factor_forms"

ACCOUNT_FORMS: Final = {
    "add_email": f"{_SIGN_IN}.AddEmailForm",
    "change_password": f"{_SIGN_IN}.ChangePasswordForm",
    "login": f"{_SIGN_IN}.LoginForm",
    "reauthenticate": f"{_SIGN_IN}.ReauthenticateForm",
    "reset_password": f"{_SIGN_IN}.ResetPasswordForm",
    "reset_password_from_key": f"{_SIGN_IN}.ResetPasswordKeyForm",
    "set_password": f"{_SIGN_IN}.SetPasswordForm",
    "signup": f"{_SIGN_IN}.SignupForm",
}
MFA_FORMS: Final = {
    "activate_totp": f"{_SECOND_FACTOR}.ActivateTOTPForm",
    "add_webauthn": f"{_SECOND_FACTOR}.AddWebAuthnForm",
    "authenticate": f"{_SECOND_FACTOR}.AuthenticateForm",
    "edit_webauthn": f"{_SECOND_FACTOR}.EditWebAuthnForm",
    "reauthenticate": f"{_SECOND_FACTOR}.SecondFactorReauthenticateForm",
}
