"""Pages that list the prompts: Connected apps, the page of a new key, and the guide."""

from __future__ import annotations

from pathlib import Path

from accounts.snippets import ASSISTANT_PROMPTS
from mcpserver.registry import registry
from tests.cast import Cast, signed_in

GUIDE = Path(__file__).parents[3] / "docs" / "connect-an-assistant.md"


def test_pages_tell_of_every_prompt_as_the_server_does() -> None:
    texts_by_name = {each.name: (each.title, each.text) for each in ASSISTANT_PROMPTS}

    assert texts_by_name == {prompt.name: (prompt.title, prompt.description) for prompt in registry.prompts()}


def test_a_viewer_reads_of_them_where_an_assistant_is_connected(cast: Cast) -> None:
    page = signed_in(cast.viewer).get("/a/acme/settings/connected-apps/").content.decode()

    assert all(f"<code>{prompt.name}</code>" in page for prompt in registry.prompts())


def test_a_member_reads_of_them_next_to_a_new_key(cast: Cast) -> None:
    client = signed_in(cast.member)
    token = client.get("/a/acme/settings/mcp-keys/new/").context["form"]["form_token"].value()
    form = {"name": "Laptop", "scope": "read", "form_token": token}

    page = client.post("/a/acme/settings/mcp-keys/new/", form).content.decode()

    assert "fmcp_" in page
    assert all(prompt.title in page for prompt in registry.prompts())


def test_the_guide_names_each_prompt_with_its_arguments() -> None:
    lines = {line.split("`")[1]: line for line in GUIDE.read_text().splitlines() if line.startswith("| `")}

    for prompt in registry.prompts():
        assert all(f"`{argument.name}`" in lines[prompt.name] for argument in prompt.arguments)
