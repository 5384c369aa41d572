"""Writing rules: the preview follows, the order is what counts, and nothing typed is lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

URL = "/a/acme/cost-tags/"


@pytest.fixture
def tag_id(console: LiveServer) -> int:
    """A cost tag of three rules, the second of which also catches what the first does."""
    tag_pk = console.run("tests.browser.people:cost_tag")
    assert isinstance(tag_pk, int)
    return tag_pk


def card(page: Page, number: int) -> Locator:
    return page.locator("#rules > li").nth(number - 1)


def titles(page: Page) -> list[str]:
    return page.locator("#rules [data-title]").all_inner_texts()


def preview_is_there(page: Page) -> None:
    expect(page.locator("#preview [data-result]").first).to_be_visible()


def saved_rules(page: Page) -> list[dict[str, object]]:
    rules: list[dict[str, object]] = json.loads(page.locator("input[name=rules]").input_value())
    return rules


def save(page: Page) -> None:
    page.get_by_role("button", name="Review impact").click()
    expect(page.get_by_role("heading", name="Impact of saving")).to_be_focused()
    page.get_by_role("button", name=re.compile("^Save")).click()
    page.wait_for_url(re.compile(r"/cost-tags/\d+/$"))


def test_a_rule_moved_by_keyboard_changes_what_is_caught_and_the_order_saved(
    new_page: NewPage, tag_id: int
) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/edit/")
    preview_is_there(page)
    expect(card(page, 2)).to_contain_text("Shadowed by rule 1")

    page.get_by_role("button", name="Move up rule 2, machines").press("Enter")

    expect(page.get_by_role("button", name="Move up rule 1, machines")).to_be_focused()
    expect(page.locator("#announcer")).to_contain_text("machines is now rule 1 of 3.")
    expect(card(page, 1).locator("[data-caught]")).to_contain_text("$")
    assert titles(page) == ["machines", "aws", "Google"]
    save(page)
    page.goto(f"{URL}{tag_id}/edit/")
    assert titles(page) == ["machines", "aws", "Google"]


def test_a_rule_is_dragged_by_its_grip(new_page: NewPage, tag_id: int) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/edit/")
    preview_is_there(page)
    before = titles(page)

    grip = card(page, 3).locator("[data-grip]").bounding_box()
    target = card(page, 1).bounding_box()
    assert grip
    assert target
    page.mouse.move(grip["x"] + 5, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] + 5, grip["y"] - 20, steps=3)
    page.mouse.move(grip["x"] + 5, target["y"] + 2, steps=6)
    # The list looks at the pointer 20 times a second.
    expect(card(page, 1)).to_have_class(re.compile("sortable-ghost"))
    page.mouse.up()

    expect(page.locator("#announcer")).to_contain_text("Google is now rule 1 of 3.")
    expect(page.locator(".sortable-drag")).to_have_count(0)
    assert titles(page) == [before[2], *before[:2]]
    page.keyboard.press("ArrowDown")
    assert titles(page) == [before[0], before[2], before[1]]


def test_a_nested_condition_is_built_with_suggestions_and_saved(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}new/")
    page.get_by_label("Key", exact=True).fill("Tier")

    page.get_by_label("Dimension of the condition").select_option("provider")
    page.get_by_label("Value of the condition").fill("AWS")
    page.get_by_label("Value of the condition").press("Enter")
    page.get_by_role("button", name="Group", exact=True).click()
    inner = page.get_by_role("group", name="Conditions").nth(1)
    inner.get_by_label("Match").select_option("none of these")
    inner.get_by_label("Dimension of the condition").select_option("service")
    value = inner.get_by_label("Value of the condition")
    value.focus()
    expect(inner.locator("datalist option").first).to_have_attribute("value", re.compile("Amazon"))
    value.press_sequentially("AWS Cre")
    expect(inner.locator("datalist option")).to_have_count(1)
    value.fill("AWS Credits")
    value.press("Enter")
    page.get_by_label("Value of the rule").fill("Infrastructure")

    assert saved_rules(page) == [
        {
            "when": {
                "all": [
                    {"dimension": "provider", "op": "in", "values": ["AWS"]},
                    {"not": {"dimension": "service", "op": "in", "values": ["AWS Credits"]}},
                ]
            },
            "value": "Infrastructure",
        }
    ]
    expect(card(page, 1).locator("[data-caught]")).to_contain_text("$")
    expect(card(page, 1).locator("[data-words]")).to_contain_text(
        "provider is AWS, and not service is AWS Credits"
    )
    save(page)
    expect(page.get_by_role("heading", name="Tier", exact=True)).to_be_visible()


def test_a_tag_is_copied_with_suggested_keys_in_small_letters_and_renamed(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}new/?copy=env")
    expect(page.locator("#tag-keys option")).to_have_count(2)

    expect(page.get_by_label("Tag key to copy")).to_have_attribute("list", "tag-keys")
    page.get_by_text("Rename values").click()
    page.get_by_role("button", name="Rename a value").click()
    page.get_by_label("Current value").fill("prod")
    page.get_by_label("New value").fill("production")

    assert saved_rules(page) == [
        {"copy": {"keys": ["env"], "normalise": ["trim", "lower"], "map": {"prod": "production"}}}
    ]
    expect(page.locator("#preview")).to_contain_text("1 renamed")
    page.locator("#preview").get_by_text("By value", exact=True).click()
    expect(page.get_by_role("region", name="Cost by value")).to_contain_text("production")


def test_an_error_is_shown_and_focused_at_its_field(new_page: NewPage, tag_id: int) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/edit/")
    card(page, 3).locator("[data-toggle]").click()
    card(page, 3).get_by_role("button", name="Remove Google Cloud").click()
    card(page, 3).locator("[data-toggle]").click()

    page.get_by_role("button", name="Review impact").click()

    value = card(page, 3).get_by_label("Value of the condition")
    expect(value).to_be_focused()
    expect(value).to_have_attribute("aria-invalid", "true")
    expect(value).to_have_accessible_description("Type one, then press Enter.")


def test_another_persons_change_does_not_lose_what_was_typed(
    new_page: NewPage, console: LiveServer, tag_id: int
) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/edit/")
    card(page, 1).locator("[data-toggle]").click()
    card(page, 1).get_by_label("Value of the rule").fill("amazon")
    console.run("tests.browser.people:save_cost_tag", tag_id)

    page.get_by_role("button", name="Review impact").click()

    expect(
        page.get_by_role("heading", name="This cost tag was changed while you were editing")
    ).to_be_focused()
    expect(page.locator("#review")).to_contain_text("owner@example.com changed it")
    expect(card(page, 1).get_by_label("Value of the rule")).to_have_value("amazon")
    page.get_by_role("button", name="Replace with my rules").click()
    expect(page.get_by_role("heading", name="Impact of saving")).to_be_focused()
    page.get_by_role("button", name=re.compile("^Save")).click()
    page.wait_for_url(f"**{URL}{tag_id}/")
    page.goto(f"{URL}{tag_id}/edit/")
    assert saved_rules(page)[0]["value"] == "amazon"


def test_a_file_goes_out_and_comes_back_with_its_effect(
    new_page: NewPage, tag_id: int, tmp_path: Path
) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export YAML").click()
    download.value.save_as(tmp_path / "rules.yaml")
    changed = (tmp_path / "rules.yaml").read_text().replace("value: aws", "value: Amazon")
    (tmp_path / "rules.yaml").write_text(changed)

    page.goto(f"{URL}import/")
    page.get_by_label("YAML file").set_input_files(tmp_path / "rules.yaml")
    page.get_by_role("button", name="Review impact").click()

    expect(page.get_by_role("heading", name="Impact of saving")).to_be_visible()
    expect(page.locator("#review")).to_contain_text("Amazon")
    page.get_by_role("button", name=re.compile("^Save")).click()
    page.wait_for_url(f"**{URL}{tag_id}/")
    page.goto(f"{URL}{tag_id}/edit/")
    assert saved_rules(page)[0]["value"] == "Amazon"


def test_a_narrow_page_shows_figures_on_the_cards_and_moves_rules(new_page: NewPage, tag_id: int) -> None:
    page = new_page("member", width=390)
    page.goto(f"{URL}{tag_id}/edit/")

    expect(card(page, 1).locator("[data-caught]")).to_contain_text("$")
    card(page, 1).get_by_role("button", name="Move down").click()

    assert titles(page)[1] == "aws"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_rule_is_duplicated_and_deleted_with_the_focus_kept(new_page: NewPage, tag_id: int) -> None:
    page = new_page("member")
    page.goto(f"{URL}{tag_id}/edit/")

    page.get_by_role("button", name="Duplicate rule 3, Google").press("Enter")
    expect(card(page, 4).get_by_label("Name of the rule")).to_be_focused()
    assert saved_rules(page)[3] == {**saved_rules(page)[2], "name": "Google (copy)"}
    page.get_by_role("button", name="Delete rule 4, Google (copy)").press("Enter")

    assert titles(page) == ["aws", "machines", "Google"]
    expect(card(page, 3).locator("[data-toggle]")).to_be_focused()
    announcements = page.get_by_role("log", name="Announcements")
    expect(announcements).to_contain_text("Rule Google (copy) removed, 3 left.")
    expect(announcements).to_contain_text("Not matched")
