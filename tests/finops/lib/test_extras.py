"""What a plain installation says where a package of requirements-extras.txt is needed, and what it does without them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from accounts.sso.models import IdentityProvider
from accounts.sso.scim.tokens import create_scim_token
from accounts.sso.services import save_provider
from finops.backup.encryption import encryption_of, new_key
from finops.backup.errors import BackupError
from finops.checks import check_extras
from finops.connections.azure import ServerIdentity
from finops.connections.google import GoogleServerIdentity
from finops.lib import extras
from finops.lib.extras import EXTRAS, MissingExtra, require_extra
from tests.cast import Cast

KEY = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No extra is found."""

    def find_spec(name: str) -> ModuleSpec | None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extras, "find_spec", find_spec)


@pytest.mark.parametrize("subject", EXTRAS)
def test_each_extra_is_in_its_file_and_installed_for_the_tests(subject: str) -> None:
    require_extra(subject)
    text = (Path(settings.BASE_DIR) / "requirements-extras.txt").read_text()
    assert f"\n{EXTRAS[subject][1]}==" in text


@pytest.mark.usefixtures("_plain")
@pytest.mark.parametrize("subject", EXTRAS)
def test_a_missing_one_is_named_with_the_command(subject: str) -> None:
    with pytest.raises(MissingExtra) as raised:
        require_extra(subject)
    assert EXTRAS[subject][1] in raised.value.message
    assert "requirements-extras.txt" in raised.value.message


@pytest.mark.usefixtures("_plain")
def test_settings_and_backup_keys_are_refused(settings: Any) -> None:
    settings.TRACES_URL = settings.SENTRY_DSN = "http://collector.example"
    settings.BACKUP_KEY = KEY

    assert [error.id for error in check_extras()] == ["finops.E022"] * 3
    for refused in (lambda: encryption_of(KEY), new_key):
        with pytest.raises(BackupError, match="pyrage"):
            refused()


@pytest.mark.usefixtures("_plain")
@pytest.mark.parametrize("identity", [ServerIdentity(""), GoogleServerIdentity()])
def test_the_identity_of_the_server_is_refused(identity: Any) -> None:
    with pytest.raises(MissingExtra):
        identity.headers()


@pytest.mark.django_db
@pytest.mark.usefixtures("_plain")
def test_providers_of_saml_and_tokens_of_scim_are_refused_and_requests_answered(
    cast: Cast, client: Client
) -> None:
    saml = IdentityProvider(
        account=cast.account,
        protocol="saml",
        name="Okta",
        issuer="https://okta.example",
        sign_on_url="https://okta.example/sso",
        certificates="none",
    )
    with pytest.raises(MissingExtra):
        save_provider(provider=saml, actor=cast.actor)
    saml.save()
    with pytest.raises(MissingExtra):
        create_scim_token(provider=saml, actor=cast.actor)

    metadata = client.get(f"/auth/sso/saml/{saml.public_id}/metadata/")
    users = client.get(f"/scim/v2/{saml.public_id}/Users")

    assert (metadata.status_code, users.status_code) == (501, 501)
    assert users.headers["Content-Type"] == "application/scim+json"
    assert users.json()["status"] == "501"


def test_all_is_imported_without_them() -> None:
    """The addresses, the checks and the worker: with imports of the extras refused."""
    names = tuple(module.partition(".")[0] for module, _ in EXTRAS.values() if module != "google.auth")
    program = f"""
import sys, importlib.abc
class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(names) - {"opentelemetry"}!r} or name.startswith(("opentelemetry.sdk", "google.auth", "pydantic")):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refusal())
import django; django.setup()
from django.urls import get_resolver
get_resolver().url_patterns
import finops.worker.pool, finops.machine_endpoints, finops.checks, mcpserver.views
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "finops.settings"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=settings.BASE_DIR)
