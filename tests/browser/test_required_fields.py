"""Labels and inputs of a connection's form follow the access that is selected."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser


def assert_required(page: Page, *names: str) -> None:
    """Exactly these fields of the access are required, for eyes, browsers and screen readers."""
    fields = ("account", "container", "tenant_id", "client_id", "client_secret", "sas_url")
    for name in fields:
        label, field = page.locator(f"label[for=id_{name}]"), page.locator(f"#id_{name}")
        if name in names:
            expect(label).to_have_class(re.compile(r"\brequired\b"))
            expect(field).to_have_js_property("required", True)
            expect(field).to_be_visible()
        else:
            expect(label).not_to_have_class(re.compile(r"\brequired\b"))
            expect(field).to_have_js_property("required", False)


@pytest.mark.parametrize("width", [390, 1280])
def test_fields_are_required_only_for_the_selected_access(new_page: NewPage, width: int) -> None:
    page = new_page("member", width=width)
    page.goto("/a/acme/connections/new/?connector=azure_exports")
    principal = ("tenant_id", "client_id", "client_secret")
    assert_required(page, "account", "container", *principal)
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder, f"required-{width}.png"), full_page=True)

    page.get_by_role("button", name="Add connection").click()
    expect(page.locator("#id_account")).to_be_focused()
    page.locator("#id_endpoint").fill("https://storage.example.com")
    assert_required(page, "container", *principal)
    page.locator("#id_access").select_option("sas_url")
    assert_required(page, "sas_url")
    expect(page.locator("#id_tenant_id")).to_be_hidden()
    page.locator("#id_access").select_option("service_principal")
    assert_required(page, "container", *principal)


def test_the_parts_of_an_access_key_require_each_other(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/connections/new/?connector=aws_data_exports")
    key_id, secret = page.locator("#id_access_key_id"), page.locator("#id_secret_access_key")
    page.locator("#id_access").select_option("role")
    expect(key_id).to_have_js_property("required", False)
    expect(secret).to_have_js_property("required", False)

    key_id.fill("AKIAIOSFODNN7EXAMPLE")
    expect(secret).to_have_js_property("required", True)
    expect(page.locator("label[for=id_secret_access_key]")).to_have_class(re.compile(r"\brequired\b"))
    key_id.fill("")
    expect(secret).to_have_js_property("required", False)

    secret.fill("s")
    expect(key_id).to_have_js_property("required", True)
    secret.fill("")
    expect(key_id).to_have_js_property("required", False)
