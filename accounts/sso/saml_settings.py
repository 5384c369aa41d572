"""SAML settings of a provider, without the library that reads and writes messages (`saml.py`)."""

from __future__ import annotations

from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from django.conf import settings
from django.urls import reverse

from accounts.sso.models import IdentityProvider
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.extras import require_extra


def metadata_url(provider: IdentityProvider) -> str:
    """Return the metadata URL, which is also the service provider's entity ID: one for each provider."""
    return settings.PUBLIC_URL + reverse("sso_saml_metadata", args=[provider.public_id])


def acs_url(provider: IdentityProvider) -> str:
    return settings.PUBLIC_URL + reverse("sso_saml_acs", args=[provider.public_id])


def check_settings(provider: IdentityProvider) -> None:
    """Raises UserError without the library, for an unreadable or expired certificate and an invalid sign-on URL."""
    require_extra("SAML")
    parts = urlsplit(provider.sign_on_url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise UserError("Sign-on URL: enter the full https:// URL.", field="sign_on_url")
    if parts.scheme == "http" and settings.PRODUCTION:
        raise UserError("Sign-on URL: it must begin with https://.", field="sign_on_url")
    try:
        certificates = x509.load_pem_x509_certificates(provider.certificates.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UserError(
            "Certificates: enter X.509 certificates in PEM form.", field="certificates"
        ) from error
    if all(each.not_valid_after_utc <= clock.now() for each in certificates):
        raise UserError(
            "Certificates: every certificate has expired. Copy the provider's current one.",
            field="certificates",
        )
