"""Second factors: allauth's adapter, and whether a person has one."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef

from finops.lib import sealing

KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""The types that count as a second factor. Recovery codes do not: they only supplement another one."""


def has_second_factor(user: str) -> Exists:
    """An expression for `annotate`, for the person whose id is in the column `user`: no statement of its own."""
    return Exists(Authenticator.objects.filter(user_id=OuterRef(user), type__in=KINDS))


_PURPOSE = "second factor"


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultMFAAdapter.error_messages,
        "add_email_blocked": "Remove your second factors before you add an email address.",
        "cannot_delete_authenticator": "This second factor cannot be removed.",
        "cannot_generate_recovery_codes": "Add an authenticator app or a security key first.",
        "incorrect_code": "The code is incorrect. Enter the current one.",
        "unverified_email": "Verify your email address before you add a second factor.",
    }

    def generate_authenticator_name(self, user: Any, kind: Authenticator.Type) -> str:
        """The name of a new security key that the person does not name: `Security key 2`."""
        count: int = Authenticator.objects.filter(user=user, type=kind).count()
        return f"Security key {count + 1}" if count else "Security key"

    def get_totp_issuer(self) -> str:
        return "FinOps Console"

    def encrypt(self, text: str) -> str:
        """Seal secrets of authenticator apps and the seed of recovery codes for storage."""
        return sealing.seal({"secret": text}, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """Unseal a secret. Raises ValidationError, which the form shows, where the key that sealed it no longer exists."""
        try:
            return str(sealing.unseal(encrypted_text, purpose=_PURPOSE)["secret"])
        except sealing.Unsealable as error:
            raise ValidationError(
                "This second factor is unreadable because the server's secret key was replaced. Ask "
                "the operator of this server to remove it."
            ) from error


def seal_under_the_current_key() -> int:
    """Reseal secrets that were sealed under an earlier key, and return the number of rows. Safe to repeat."""
    count = 0
    for row in Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).iterator():
        data = seal_secrets(row.data)
        if data != row.data:
            # Must not overwrite the use of a recovery code meanwhile: the next day's run reseals it.
            count += Authenticator.objects.filter(pk=row.pk, data=row.data).update(data=data)
    return count


def seal_secrets(data: dict[str, Any]) -> dict[str, Any]:
    """Return an authenticator's data sealed under the current key; secrets that no key unseals do not change."""
    resealed_fields: dict[str, Any] = {
        name: _reseal(data[name]) for name in ("secret", "seed") if isinstance(data.get(name), str)
    }
    if isinstance(codes := data.get("migrated_codes"), list):
        resealed_fields["migrated_codes"] = [_reseal(code) for code in codes]
    return {**data, **resealed_fields}


def _reseal(value: str) -> str:
    if not value.startswith(sealing.BEGINNING):
        return sealing.seal({"secret": value}, purpose=_PURPOSE)
    if sealing.is_current(value, purpose=_PURPOSE):
        return value
    try:
        return sealing.seal(sealing.unseal(value, purpose=_PURPOSE), purpose=_PURPOSE)
    except sealing.Unsealable:
        return value
