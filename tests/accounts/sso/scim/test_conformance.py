"""The official client and checker of scim2 against the served program."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server, filling
from scim2_tester.checkers import patch_add, patch_replace

from accounts.models import Account
from tests.accounts.sso.scim.client import create_scim
from tests.servers import LiveServer

KNOWN = {
    # Without `active` a user stays what she is: removing an attribute ends no membership.
    "User check_remove_attribute: PATCH modify() did not remove attribute 'active'",
    # A search over users and groups at once, which RFC 7644 leaves open and no provider asks for.
    "User search_with_attributes: SCIM has no such endpoint here.",
    "Group search_with_attributes: SCIM has no such endpoint here.",
}


def make_provider() -> tuple[str, str]:
    """In the server's process: base path and token."""
    scim = create_scim(Account.objects.get(slug="acme"), "example.com")
    return scim.base, scim.token


@pytest.fixture
def client(live_server_process: LiveServer) -> Iterator[SyncSCIMClient]:
    live_server_process.run("tests.browser.people:cast")
    base, token = live_server_process.run(f"{__name__}:make_provider")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=live_server_process.url + base, headers=headers, timeout=60) as http:
        yield SyncSCIMClient(http)


@pytest.fixture
def verified_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker makes up addresses; ours takes those of verified domains alone."""
    made_up = filling.generate_random_value

    def generate(context: Any, path: Any, *arguments: Any, **options: Any) -> Any:
        value = made_up(context, path, *arguments, **options)
        is_address = str(path).endswith(("userName", "emails.value")) or "@" in str(value)
        return f"{uuid.uuid4()}@example.com" if is_address and isinstance(value, str) else value

    for module in (filling, patch_add, patch_replace):
        monkeypatch.setattr(module, "generate_random_value", generate)


@pytest.mark.long
@pytest.mark.usefixtures("verified_domain")
def test_the_checker_of_scim_servers_finds_no_fault(client: SyncSCIMClient) -> None:
    results = check_server(client)

    faults = {
        f"{result.resource_type} {result.title}: {result.reason}"
        for result in results
        if result.status in (Status.ERROR, Status.CRITICAL)
    }
    assert len(results) > 50
    assert faults == KNOWN
