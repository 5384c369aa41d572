from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.accounts.oauth.documents import Documents, LocalFetcher, local_documents
from tests.cast import Cast
from tests.conformance.documents import CERTIFICATE
from tests.mcpserver.mcp_client import McpClient, mint, toy_server
from tests.mcpserver.toys import make_toys
from tests.servers import LiveServer, serve


@pytest.fixture
def mcp_client(cast: Cast) -> McpClient:
    """A client of the toy tools and a prompt, with a Read key."""
    return McpClient(mint(cast), toy_server(make_toys(prompts=True)))


@pytest.fixture
def bare(cast: Cast) -> McpClient:
    """The same without prompts."""
    return McpClient(mint(cast), toy_server(make_toys()))


@pytest.fixture(scope="session")
def keys(live_server_process: LiveServer) -> dict[str, str]:
    """Keys to the filled account of the live server: read, read_write, and one for the conformance suite."""
    keys: dict[str, str] = live_server_process.run("tests.conformance.people:with_keys")
    return keys


@pytest.fixture(scope="session")
def client_documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documents]:
    """Where clients of these tests publish their metadata documents."""
    nothing = SimpleNamespace(OAUTH2_PROVIDER={})
    with local_documents(tmp_path_factory.mktemp("documents"), nothing) as documents:
        yield documents


@pytest.fixture(scope="session")
def oauth_server(client_documents: Documents, django_db_setup: None) -> Iterator[LiveServer]:
    """With the cast, and toy tools of which one writes; it may fetch the documents of these tests."""
    settings = {
        "DJANGO_SETTINGS_MODULE": "tests.conformance.oauth_settings",
        CERTIFICATE: str(LocalFetcher.certificate),
    }
    with serve(**settings) as server:
        server.run("tests.browser.people:cast")
        yield server
