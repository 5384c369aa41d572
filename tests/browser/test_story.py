"""The main job as a person does it: sign in, upload a real bill, see it, mint a key, ask with it, revoke it."""

from __future__ import annotations

import asyncio
import csv
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from playwright.sync_api import Page, expect

from finops.lib.formats.numbers import headline
from tests.browser.conftest import NewPage
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

SAMPLE = Path("tests/data/focus/focus-1.0-real/focus_sample.csv")
SEPTEMBER = {"start_date": "2024-09-01", "end_date": "2024-09-30"}


def billed_in_september() -> Decimal:
    """What the file says, added up without any of our code."""
    with SAMPLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return sum(
        (Decimal(row["BilledCost"]) for row in rows if row["ChargePeriodStart"].startswith("2024-09")),
        Decimal(),
    )


def ask_with(url: str, key: str) -> dict[str, Any]:
    """querySpend by the official client, which has a thread of its own: Playwright holds this one's event loop."""

    async def session() -> dict[str, Any]:
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(url, http_client=http), cache=None) as client,
        ):
            answer = await client.call_tool("querySpend", {**SEPTEMBER, "group_by": ["service"]})
            assert answer.structured_content is not None
            return dict(answer.structured_content)

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, session()).result()


def upload_sample(page: Page, server: LiveServer) -> None:
    page.get_by_role("link", name="upload files", exact=True).click()
    page.get_by_label("Drop cost files here").set_input_files(SAMPLE)
    page.get_by_label("Name of the new source").fill("Real bill")
    page.get_by_role("button", name="Upload and import").click()
    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Progress of the import")).to_be_visible()
    server.run("tests.browser.people:run_imports")
    # The page asks by itself.
    expect(page.get_by_role("heading", name="Done 1,000 rows, Sep – Oct 2024")).to_be_visible()
    expect(page.get_by_role("heading", name="Import report")).to_be_visible()


def see_its_cost(page: Page) -> None:
    page.get_by_role("link", name="View cost").click()
    expect(page.get_by_role("heading", name="Cost explorer")).to_be_visible()
    page.locator("#dates-button").click()
    page.get_by_label("From").fill(SEPTEMBER["start_date"])
    page.get_by_label("To", exact=True).fill(SEPTEMBER["end_date"])
    page.get_by_role("group", name="Dates").get_by_role("button", name="Apply").click()
    expect(page.locator(".figure")).to_have_text(headline(billed_in_september(), "USD"))
    expect(page.locator("[data-drawn] canvas")).to_be_visible()


def mint_by_keyboard(page: Page) -> str:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="MCP keys").click()
    page.get_by_role("link", name="New key").first.click()
    page.get_by_label("Name").focus()
    page.keyboard.type("Claude on my laptop")
    page.keyboard.press("Enter")
    secret = page.get_by_label("Your new key")
    expect(secret).to_be_visible()
    page.get_by_role("button", name="Copy key").click()
    key = str(page.evaluate("navigator.clipboard.readText()"))
    assert key == secret.text_content()
    expect(page.locator("#snippet-curl")).to_contain_text(f"Bearer {key}")
    return key


def test_from_a_bill_to_an_answer_and_back(console: LiveServer, new_page: NewPage) -> None:
    page = new_page("stranger")
    page.goto("/")
    expect(page.get_by_text("No cost yet")).to_be_visible()
    upload_sample(page, console)
    see_its_cost(page)
    key = mint_by_keyboard(page)

    answer = ask_with(console.mcp_url, key)

    (total,) = answer["totals"]
    assert Decimal(str(total["amount"])) == round(billed_in_september(), 6)
    assert total["currency"] == "USD"

    page.get_by_role("link", name="Done").click()
    row = page.get_by_role("row", name=re.compile("Claude on my laptop"))
    expect(row).to_contain_text("just now")
    expect(row).not_to_contain_text(key)
    row.get_by_role("button", name="Revoke Claude on my laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name=re.compile("Claude on my laptop"))).to_contain_text("Revoked")
    refusal = httpx.post(
        console.mcp_url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
    )
    assert refusal.status_code == 401


def test_a_file_of_unknown_columns_waits_for_their_mapping_and_can_be_discarded(
    console: LiveServer, new_page: NewPage, tmp_path: Path
) -> None:
    wrong = tmp_path / "holiday.csv"
    wrong.write_text("a,b\n1,2\n")
    page = new_page("member")

    page.goto("/a/acme/connections/upload/")
    page.get_by_label("Drop cost files here").set_input_files(wrong)
    page.get_by_role("button", name="Upload and import").click()
    name = page.get_by_label("Name of the new source")
    expect(name).to_be_focused()
    expect(name).to_have_accessible_description(re.compile("Enter a name, or choose an existing source."))
    page.get_by_label("Cost source").select_option(label="Clouds")
    page.get_by_role("button", name="Upload and import").click()
    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    console.run("tests.browser.people:run_imports")

    expect(page.get_by_role("heading", name="Needs review Not imported yet")).to_be_visible()
    expect(page.get_by_role("list", name="Reasons")).to_contain_text("holiday.csv")
    expect(page.get_by_role("link", name="Map columns")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("button", name="Discard")).to_have_count(0)
    expect(page.get_by_text("holiday.csv").last).to_be_visible()
