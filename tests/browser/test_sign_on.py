"""Single sign-on as a person does it: the sign-in page, the provider's site and back, and Settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from accounts.models import Account
from accounts.sso.scim.tokens import create_scim_token
from accounts.sso.services import add_domain
from finops.audit_webhooks.models import AuditWebhook
from finops.audit_webhooks.sending import send
from finops.audit_webhooks.services import create_audit_webhook
from tests.accounts.sso.providers import Server, add_oidc, add_saml, oidc_server, saml_server
from tests.browser.conftest import is_lost, is_problem
from tests.browser.test_pages import FAULTS, overflow
from tests.cast import ACTOR
from tests.servers import LiveServer, serve

pytestmark = pytest.mark.browser
SETTINGS = "/a/acme/settings/sign-on/"


def add_providers(oidc_url: str, saml_url: str, certificate: str) -> int:
    """In the server's process; the number of the OpenID Connect one."""
    account = Account.objects.get(slug="acme")
    add_saml(account, Server(saml_url, certificate), "acme.test", name="Acme Entra ID")
    provider = add_oidc(account, Server(oidc_url), "example.com", name="Acme Okta")
    add_domain(provider=provider, actor=ACTOR, domain="acme-labs.test")
    create_scim_token(provider=provider, actor=ACTOR)
    # Nobody listens there: the page says so.
    create_audit_webhook(account=account, actor=ACTOR, url="http://127.0.0.1:1024/hooks/finops-console")
    send(account=account, webhook_id=AuditWebhook.objects.unscoped().get().pk)
    return provider.pk


@pytest.fixture(scope="module")
def sign_on_servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[LiveServer, Server, Server, int]]:
    folder = tmp_path_factory.mktemp("saml")
    with serve(ALERT_ALLOWED_NETWORKS="127.0.0.0/8") as console:
        console.run("tests.browser.people:cast")
        with (
            oidc_server(f"{console.url}/auth/sso/callback/") as oidc,
            saml_server(folder) as saml,
        ):
            providers = console.run(f"{__name__}:add_providers", oidc.url, saml.url, saml.certificate)
            yield console, oidc, saml, providers


def open_page(browser: Browser, console: LiveServer, width: int, problems: list[str]) -> Page:
    context = browser.new_context(base_url=console.url, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
    page.on("response", lambda answer: problems.append(answer.url) if is_lost(answer) else None)
    return page


def sign_in(page: Page, email: str) -> None:
    page.goto("/auth/login/")
    page.get_by_role("link", name="Continue with single sign-on").click()
    page.get_by_label("Work email").fill(email)
    page.get_by_role("button", name="Continue", exact=True).click()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_admin_signs_in_by_openid_connect_and_sees_settings(
    browser: Browser, sign_on_servers: tuple[LiveServer, Server, Server, int], width: int, tmp_path: Path
) -> None:
    console, oidc, _saml, provider = sign_on_servers
    problems: list[str] = []
    page = open_page(browser, console, width, problems)
    oidc.set_next_sign_in({"sub": "admin", "email": "admin@example.com", "email_verified": True})

    sign_in(page, "admin@example.com")

    page.wait_for_url("**/a/acme/")
    for path, heading in (
        (SETTINGS, "Single sign-on"),
        (f"{SETTINGS}{provider}/", "Acme Okta"),
        (f"{SETTINGS}new/oidc/", "Add OpenID Connect"),
        (f"{SETTINGS}new/saml/", "Add SAML 2.0"),
        ("/a/acme/settings/audit-log/", "Audit log"),
        ("/a/acme/settings/audit-log/webhook/", "Audit log webhook"),
    ):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        assert page.evaluate(FAULTS) == []
        assert overflow(page) == 0
        page.screenshot(path=tmp_path / f"{heading}-{width}.png", full_page=True)
    assert problems == []
    page.goto("/auth/sso/callback/?state=gone&code=x")
    expect(page.get_by_role("link", name="Start again")).to_be_visible()
    assert overflow(page) == 0
    page.screenshot(path=tmp_path / f"refused-{width}.png")
    page.context.close()


def test_a_person_signs_in_by_saml_under_the_security_policy_of_pages(
    browser: Browser, sign_on_servers: tuple[LiveServer, Server, Server, int]
) -> None:
    """The answer is posted from another site, without the cookie of the console."""
    console, _oidc, saml, _provider = sign_on_servers
    problems: list[str] = []
    page = open_page(browser, console, 1280, problems)
    saml.set_next_sign_in({"sub": "n", "email": "new@acme.test", "name": "New Person", "groups": []})

    sign_in(page, "new@acme.test")

    page.wait_for_url("**/a/acme/")
    assert problems == []
    page.context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_admin_adds_a_client_that_the_provider_authorizes(
    browser: Browser, sign_on_servers: tuple[LiveServer, Server, Server, int], width: int, tmp_path: Path
) -> None:
    console, oidc, _saml, provider = sign_on_servers
    problems: list[str] = []
    page = open_page(browser, console, width, problems)
    oidc.set_next_sign_in({"sub": "admin", "email": "admin@example.com", "email_verified": True})
    sign_in(page, "admin@example.com")
    page.wait_for_url("**/a/acme/")
    page.goto(f"{SETTINGS}{provider}/")
    page.locator("#id_client-name").fill(f"Claude {width}")
    page.get_by_role("button", name="Add client").click()
    expect(page.get_by_label("Client secret", exact=True)).to_contain_text("fsas_")
    assert page.evaluate(FAULTS) == []
    assert overflow(page) <= 0
    page.screenshot(path=tmp_path / f"client-{width}.png", full_page=True)
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("button", name=f"Remove Claude {width}")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    assert overflow(page) <= 0
    page.screenshot(path=tmp_path / f"provider-{width}.png", full_page=True)
    assert problems == []
    page.context.close()
