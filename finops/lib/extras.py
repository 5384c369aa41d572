"""Packages that a plain installation does not have (requirements-extras.txt), and the error where one is needed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from finops.lib.errors import UserError

EXTRAS: Final = {
    "SAML": ("onelogin", "python3-saml"),
    "SCIM": ("scim2_models", "scim2-models"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("opentelemetry.sdk", "opentelemetry-sdk"),
    "SENTRY_DSN": ("sentry_sdk", "sentry-sdk"),
    "Encryption of backups": ("pyrage", "pyrage"),
    "This server's identity in Azure": ("azure", "azure-identity"),
    "This server's identity at Google Cloud": ("google.auth", "google-auth"),
}
"""The module to be imported and the package that has it, by what needs them: a setting, or the subject of a sentence."""


class MissingExtra(UserError):
    """A package that is not installed."""


def require_extra(subject: str) -> None:
    """Raise MissingExtra if the package for this key of EXTRAS is not installed."""
    module, package = EXTRAS[subject]
    try:
        is_installed = find_spec(module) is not None
    except ModuleNotFoundError:  # of its parent
        is_installed = False
    if not is_installed:
        raise MissingExtra(
            f"{subject} needs the package {package}, which is not installed on this server. An operator installs it with "
            "pip install -r requirements-extras.txt."
        )
