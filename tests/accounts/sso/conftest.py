from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from tests.accounts.sso import providers
from tests.accounts.sso.assertion_agent import Agent, link
from tests.cast import Cast


@pytest.fixture(scope="session")
def oidc() -> Iterator[providers.Server]:
    with providers.oidc_server() as server:
        yield server


@pytest.fixture(scope="session")
def saml(tmp_path_factory: pytest.TempPathFactory) -> Iterator[providers.Server]:
    with providers.saml_server(tmp_path_factory.mktemp("saml")) as server:
        yield server


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    """Providers of tests are on this machine, which the SSRF guard refuses by itself."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def empty_key_cache() -> None:
    """The signing keys of providers are read anew."""
    cache.clear()


@pytest.fixture
def agent(cast: Cast, oidc: providers.Server) -> Agent:
    provider = providers.add_oidc(cast.account, oidc, "example.com")
    for name in ("member", "viewer", "admin", "stranger"):
        link(provider, cast.person(name), name)
    return Agent(provider, oidc)
