"""The snippets that a new key is shown with, read as the clients read them, against a real server."""

from __future__ import annotations

import json
import shlex

import httpx
import pytest

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.services import create_account
from accounts.snippets import snippets_for
from tests.servers import LiveServer

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}

pytestmark = pytest.mark.xdist_group("mcp-clients")


def snippets() -> dict[str, str]:
    """In the server's process: the snippets of a fresh key of a fresh account, as its page shows them."""
    from django.conf import settings

    owner = User.objects.create_user("snippets@example.com", "a long enough secret")
    account = create_account(name="Snippets", owner=owner, slug="snippets")
    _key, plaintext = mint_mcp_key(account=account, actor=Actor.of_user(owner), name="pasted")
    return {snippet.id: snippet.text for snippet in snippets_for(f"{settings.PUBLIC_URL}/api/mcp", plaintext)}


@pytest.fixture(scope="module")
def page_snippets(live_server_process: LiveServer) -> dict[str, str]:
    snippets_by_page: dict[str, str] = live_server_process.run("tests.conformance.test_snippets:snippets")
    return snippets_by_page


def assert_lists_tools(url: str, headers: dict[str, str], body: str) -> None:
    answer = httpx.post(url, headers={**ACCEPT, **headers}, content=body, timeout=30)
    assert answer.status_code == 200
    assert "querySpend" in {tool["name"] for tool in answer.json()["result"]["tools"]}


def header_of(text: str) -> dict[str, str]:
    name, _, value = text.partition(": ")
    return {name: value}


def test_the_command_for_claude_code_names_a_server_that_answers(page_snippets: dict[str, str]) -> None:
    words = shlex.split(page_snippets["claude-code"])

    assert words[:6] == ["claude", "mcp", "add", "--transport", "http", "finops"]
    assert words[7] == "--header"
    assert_lists_tools(words[6], header_of(words[8]), json.dumps(LIST))


@pytest.mark.parametrize(("client", "root"), [("cursor", "mcpServers"), ("vscode", "servers")])
def test_the_json_for_an_editor_names_a_server_that_answers(
    page_snippets: dict[str, str], client: str, root: str
) -> None:
    entry = json.loads(page_snippets[client])[root]["finops"]

    assert_lists_tools(entry["url"], entry["headers"], json.dumps(LIST))


def test_the_curl_command_asks_what_it_says(page_snippets: dict[str, str]) -> None:
    joined = page_snippets["curl"].replace("\\\n", "")  # as a shell does with a line's end
    command, url, *options = shlex.split(joined)
    pairs = list(zip(options[::2], options[1::2], strict=True))
    headers = {key: value for flag, text in pairs if flag == "-H" for key, value in header_of(text).items()}
    bodies = [text for flag, text in pairs if flag == "-d"]

    assert (command, len(bodies), len(headers)) == ("curl", 1, len(pairs) - 1)
    assert_lists_tools(url, headers, bodies[0])
