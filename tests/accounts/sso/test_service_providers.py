"""Identity providers of the whole service in the admin console: only operators who may act find the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from accounts.models import AuditEntry, User
from accounts.sso.models import EmailDomain, Identity, IdentityProvider
from accounts.sso.queries import enforced_provider_of_email
from accounts.sso.secrets import client_secret
from accounts.sso.services import disable_provider
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import CLIENT_SECRET, Server, add_oidc, add_saml
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.pages import get_page, text_of

LIST = "/admin/sso/identityprovider/"
PERSON: dict[str, Any] = {"sub": "7", "email": "ada@example.com", "email_verified": True, "name": "Ada"}
NEW_OIDC, NEW_SAML = f"{LIST}new/oidc/", f"{LIST}new/saml/"


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


@pytest.fixture
def staff_client(db: None) -> Client:
    person = User.objects.create_user("looks@example.com", "a long enough secret", is_staff=True)
    return reauthenticated(signed_in(person), person)


def oidc_form(server: Server, **changes: str) -> dict[str, str]:
    values = {"name": "Staff", "issuer": server.url, "client_id": "console", "client_secret": CLIENT_SECRET}
    return {**values, **changes}


def html_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def page_of(provider: IdentityProvider) -> str:
    return f"{LIST}{provider.pk}/change/"


def run_action(client: Client, row: IdentityProvider | EmailDomain, name: str, **values: str) -> str:
    """The text of the page that follows."""
    url = f"/admin/sso/{row._meta.model_name}/{row.pk}/actions/{name}/"
    return text_of(client.post(url, values, follow=True))


def test_an_operator_adds_tests_and_edits_a_provider_whose_secret_is_never_shown(
    operator_client: Client, oidc: Server
) -> None:
    listing, form = html_of(operator_client, LIST), html_of(operator_client, NEW_OIDC)
    assert (NEW_OIDC in listing, NEW_SAML in listing) == (True, True)
    assert "/auth/sso/callback/" in form
    assert 'name="default_role"' not in form

    created = operator_client.post(NEW_OIDC, oidc_form(oidc))
    provider = IdentityProvider.objects.get()
    assert created.headers["Location"] == page_of(provider)
    assert (provider.account_id, client_secret(provider)) == (None, CLIENT_SECRET)
    assert "The settings are correct." in run_action(operator_client, provider, "test")

    edit = f"{LIST}{provider.pk}/edit/"
    changed = operator_client.post(edit, oidc_form(oidc, name="Employees", client_secret=""))
    provider.refresh_from_db()
    assert changed.headers["Location"] == page_of(provider)
    assert (provider.name, client_secret(provider)) == ("Employees", CLIENT_SECRET)
    for url in (edit, page_of(provider), LIST, "/admin/admin/logentry/"):
        assert CLIENT_SECRET not in html_of(operator_client, url), url
    assert [line.change_message for line in LogEntry.objects.order_by("pk")] == [
        "Add provider: name, issuer url, client id, client secret.",
        "Test connection: The settings are correct.",
        "Edit provider: name.",
    ]
    assert "Continue with Employees" in get_page(Client(), "/auth/sso/")


def test_a_provider_of_saml_comes_by_its_metadata(operator_client: Client, saml: Server) -> None:
    metadata = f"""<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{saml.url}/metadata">
      <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing">
      <KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>{"".join(saml.certificate.splitlines()[1:-1])}
      </X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService
      Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{saml.url}/sign-on"/></IDPSSODescriptor>
      </EntityDescriptor>"""

    operator_client.post(NEW_SAML, {"name": "Staff", "metadata": metadata})

    provider = IdentityProvider.objects.get()
    assert (provider.issuer, provider.sign_on_url) == (f"{saml.url}/metadata", f"{saml.url}/sign-on")
    assert f"/auth/sso/saml/{provider.public_id}/acs/" in get_page(operator_client, page_of(provider))
    assert "The settings are correct." in run_action(operator_client, provider, "test")


@pytest.mark.parametrize(
    ("url", "changes", "error"),
    [
        (NEW_OIDC, {"issuer": ""}, "Enter the issuer URL."),
        (NEW_OIDC, {"client_id": ""}, "Enter the client ID."),
        (NEW_OIDC, {"name": "taken"}, "An identity provider with this name already exists."),
        (NEW_SAML, {"issuer": ""}, "Enter it, or paste the metadata."),
        (NEW_SAML, {"metadata": "<a/>"}, "The metadata"),
    ],
)
def test_an_error_is_shown_at_its_field_and_nothing_is_kept(
    operator_client: Client, oidc: Server, url: str, changes: dict[str, str], error: str
) -> None:
    add_oidc(None, oidc, name="Taken")

    answer = operator_client.post(url, oidc_form(oidc, **changes))

    assert error in text_of(answer, status=422)
    assert (IdentityProvider.objects.count(), LogEntry.objects.count()) == (1, 0)


def test_operators_who_only_view_get_no_form(cast: Cast, staff_client: Client, oidc: Server) -> None:
    provider = add_oidc(None, oidc)
    member = reauthenticated(signed_in(cast.owner), cast.owner)

    for url in (NEW_OIDC, NEW_SAML, f"{LIST}{provider.pk}/edit/"):
        for client in (staff_client, member):
            assert client.get(url).status_code == 404
            assert client.post(url, oidc_form(oidc, name="Mine")).status_code == 404
        assert Client().get(url).headers["Location"].startswith("/auth/login/")
    assert staff_client.post(f"{LIST}{provider.pk}/actions/disable/").status_code == 403

    page, listing = html_of(staff_client, page_of(provider)), html_of(staff_client, LIST)
    assert (f"{provider.pk}/edit/" in page, NEW_OIDC in listing) == (False, False)
    assert list(IdentityProvider.objects.values_list("name", "disabled_at")) == [("Acme OIDC", None)]


def test_an_operator_proves_herself_again_before_she_saves(operator: Client, oidc: Server) -> None:
    answer = operator.post(NEW_OIDC, oidc_form(oidc))

    assert answer.headers["Location"].startswith("/auth/reauthenticate/")
    assert not IdentityProvider.objects.exists()


def test_a_provider_of_an_account_is_not_edited_or_disabled_here(
    cast: Cast, operator_client: Client, oidc: Server
) -> None:
    provider = add_oidc(cast.account, oidc)

    assert operator_client.get(f"{LIST}{provider.pk}/edit/").status_code == 404
    assert operator_client.get(f"{LIST}new/kerberos/").status_code == 404
    for name in ("disable", "enable", "add-domain"):
        assert operator_client.post(f"{LIST}{provider.pk}/actions/{name}/").status_code == 404
    with pytest.raises(ValidationError, match="Only a provider of the whole service"):
        disable_provider(provider=provider, actor=ACTOR)


def test_a_test_reaches_nothing_that_the_guard_refuses(
    operator_client: Client, oidc: Server, settings: Any
) -> None:
    provider = add_oidc(None, oidc)
    settings.ALERT_ALLOWED_NETWORKS = []

    text = run_action(operator_client, provider, "test")

    assert "The settings are correct." not in text
    assert "private" in text


def test_a_disabled_provider_allows_no_sign_in(cast: Cast, operator_client: Client, oidc: Server) -> None:
    provider = add_oidc(None, oidc, "example.com", name="Staff", is_enforced=True)
    oidc.set_next_sign_in(PERSON)
    browser = Browser()
    arriving = browser.at_provider(browser.start(provider))

    assert "The provider is disabled." in run_action(operator_client, provider, "disable")

    assert "Staff is disabled. Sign in another way." in text_of(browser.come_back(arriving), status=403)
    assert not Identity.objects.exists()
    assert "Continue with Staff" not in get_page(Client(), "/auth/sso/")
    stale = Client().post("/auth/sso/", {"provider": str(provider.public_id)})
    assert "Staff is disabled." in text_of(stale, status=422)
    assert "has no single sign-on" in text_of(
        Client().post("/auth/sso/", {"email": "ada@example.com"}), status=422
    )
    assert enforced_provider_of_email("ada@example.com") is None

    assert "The provider is enabled." in run_action(operator_client, provider, "enable")
    enforced = enforced_provider_of_email("ada@example.com")
    assert enforced == provider
    assert not AuditEntry.objects.unscoped().filter(action__startswith="identity_provider").exists()


def test_domains_of_a_disabled_provider_pass_to_no_other(cast: Cast, oidc: Server) -> None:
    disable_provider(provider=add_oidc(None, oidc, "example.com", name="Staff"), actor=ACTOR)
    other = add_oidc(None, oidc, name="Everybody")
    oidc.set_next_sign_in(PERSON)

    answer = Browser().sign_in(other)

    assert answer.status_code == 403
    assert not Identity.objects.exists()


def test_domains_are_added_without_dns_and_removed(operator_client: Client, oidc: Server) -> None:
    provider = add_oidc(None, oidc)

    assert "Enter a domain" in text_of(
        operator_client.post(f"{LIST}{provider.pk}/actions/add-domain/", {"domain": "x"}), status=422
    )
    assert "corp.example is verified." in run_action(
        operator_client, provider, "add-domain", domain="corp.example"
    )
    [domain] = EmailDomain.objects.all()
    assert (domain.domain, domain.confirmed_by) == ("corp.example", "Operator operator@example.com")

    assert "The domain is removed." in run_action(operator_client, domain, "remove")
    assert not EmailDomain.objects.exists()


def test_a_disabled_provider_is_not_enforced_and_deleting_it_is_logged(
    operator_client: Client, saml: Server
) -> None:
    provider = add_saml(None, saml, "example.com")
    run_action(operator_client, provider, "disable")

    assert operator_client.post(f"{LIST}{provider.pk}/actions/enforce/").status_code == 404
    run_action(operator_client, provider, "delete")

    assert not IdentityProvider.objects.exists()
    assert LogEntry.objects.first().change_message == "Delete provider: The provider is deleted."  # type: ignore[union-attr]


def test_the_command_disables_and_enables(db: None, oidc: Server, capsys: pytest.CaptureFixture[str]) -> None:
    provider = add_oidc(None, oidc)
    call_command("sign_on", "disable", str(provider.public_id))
    call_command("sign_on", "list")
    listing = capsys.readouterr().out
    call_command("sign_on", "enable", str(provider.public_id))

    assert "disabled" in listing
    assert IdentityProvider.objects.get().disabled_at is None
