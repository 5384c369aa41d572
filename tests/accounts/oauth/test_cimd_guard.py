"""Resolving a metadata document reaches nothing inside our network, and is not for everybody."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from django.test import Client

from accounts.models import OAuthApplication
from tests.accounts.oauth.documents import CALLBACK, DOCUMENT, Documents, ask
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast


@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1/mcp.json",
        "https://127.1/mcp.json",
        "https://2130706433/mcp.json",
        "https://0x7f000001/mcp.json",
        "https://[::1]/mcp.json",
        "https://[::ffff:127.0.0.1]/mcp.json",
        "https://[::ffff:169.254.169.254]/latest",
        "https://[64:ff9b::a9fe:a9fe]/latest",
        "https://localhost/mcp.json",
        "https://10.1.2.3/mcp.json",
        "https://172.16.0.1/mcp.json",
        "https://192.168.0.1/mcp.json",
        "https://100.64.0.1/mcp.json",
        "https://169.254.169.254/latest/meta-data",
        "https://0.0.0.0/mcp.json",
        "https://[fd00::1]/mcp.json",
        "https://[fe80::1]/mcp.json",
        "https://user:pass@client.example/mcp.json",
        "https://client.example",
        "https://client.example/a/../b.json",
        "https://client.example/mcp.json#x",
        "https://client.example:99999/mcp.json",
        "http://client.example/mcp.json",
        "HTTPS://",
    ],
)
def test_no_document_is_fetched_from_inside_our_network(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, client_id: str
) -> None:
    connected: list[Any] = []
    monkeypatch.setattr("urllib3.HTTPSConnectionPool.urlopen", lambda *args, **kwargs: connected.append(args))

    assert ask(cast, client_id).status_code == 400
    assert connected == []


def test_a_name_is_resolved_once_and_the_connection_goes_to_the_address_that_was_checked(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the second answer of the name would be inside our network."""
    hosts: list[str] = []

    def getaddrinfo(host: str, port: Any, *args: Any, **kwargs: Any) -> Any:
        hosts.append(host)
        if host == "rebind.example" and hosts.count(host) == 1:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]
        raise socket.gaierror("the test ends here")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert ask(cast, "https://rebind.example/mcp.json").status_code == 400
    assert hosts == ["rebind.example", "93.184.216.34"]


def test_one_inside_address_among_public_ones_refuses_the_host(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts: list[str] = []

    def getaddrinfo(host: str, port: Any, *args: Any, **kwargs: Any) -> Any:
        hosts.append(host)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("93.184.216.34", "10.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert ask(cast, "https://split.example/mcp.json").status_code == 400
    assert hosts == ["split.example"]


def test_a_signed_out_request_fetches_no_document(cast: Cast, no_network: list[str]) -> None:
    client = OAuthClient("https://unknown.example/mcp.json", redirect_uri=CALLBACK)

    assert Client().get(client.authorize_url()).status_code == 302
    assert Client().get(client.authorize_url(prompt="none")).status_code == 400
    assert client.exchange("x").status_code == 401
    assert client.refresh("x").status_code == 401
    assert client.revoke("x").status_code == 401
    assert no_network == []


@pytest.mark.parametrize(
    "client_id",
    [
        "https://claudé.example/mcp.json",
        "https://client.example\\@other.example/mcp.json",
        "https://client.example/\u202emcp.json",
        "https://cli\tent.example/mcp.json",
        "https://client.example%2eother.example/mcp.json",
    ],
)
def test_a_client_whose_host_could_be_misread_is_not_looked_up(
    cast: Cast, no_network: list[str], client_id: str
) -> None:
    """The page shows a document's host as the one that vouches for the client; clàude.ai is somebody else."""
    assert ask(cast, client_id).status_code == 400
    assert no_network == []


def test_one_address_makes_us_fetch_so_many_documents_a_minute(cast: Cast, no_network: list[str]) -> None:
    for number in range(35):
        ask(cast, f"https://c{number}.example/mcp.json")

    assert len(no_network) == 30


def test_a_document_never_takes_over_a_client_that_registered(cast: Cast, documents: Documents) -> None:
    client_id = documents.publish("/mcp.json", DOCUMENT)
    OAuthApplication.objects.create(
        client_id=client_id,
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris="https://ours.example/cb",
    )

    assert ask(cast, client_id).status_code == 400
    assert documents.asked == []
