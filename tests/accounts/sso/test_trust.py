"""An admin who wants to sign in as the owner: she changes what the account's identity provider is trusted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.audit import Actor
from accounts.models import AuditEntry, User
from accounts.scoping import account_scope
from accounts.services.mails import send_unsent
from accounts.sso import services
from accounts.sso.models import EmailDomain, IdentityProvider
from accounts.sso.services import save_provider, verify_domain
from finops.lib.errors import UserError
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc, add_saml, oidc_server, write_certificate
from tests.cast import Cast, reauthenticated, signed_in

BASE = "/a/acme/settings/sign-on/"
OWNER = {"sub": "attacker", "email": "owner@example.com", "name": "Owner", "groups": []}


def person(user: User) -> Client:
    return reauthenticated(signed_in(user), user)


def fields_of(provider: IdentityProvider, **changes: str) -> dict[str, str]:
    """The form as its page has it, with these changes."""
    names = ("name", "issuer", "client_id", "sign_on_url", "certificates", "groups_attribute", "default_role")
    stored = {name: getattr(provider, name) for name in names if getattr(provider, name)}
    return {**stored, "creates_people": "on", **changes}


def mails_of(mailoutbox: list[Any]) -> dict[str, str]:
    """Text by receiver, of the last mails."""
    send_unsent()
    return {mail.to[0]: str(mail.body) for mail in mailoutbox}


def test_an_admin_does_not_sign_in_as_the_owner_by_a_certificate_of_her_own(
    cast: Cast, saml: Server, keys: Path
) -> None:
    provider = add_saml(cast.account, saml, "example.com")
    own = write_certificate(keys, "attacker")
    metadata = f"<x>{own}</x>"

    for changes in (
        {"certificates": own},
        {"certificates": f"{saml.certificate}\n{own}"},
        {"metadata": metadata},
    ):
        person(cast.admin).post(f"{BASE}{provider.pk}/edit/", fields_of(provider, **changes))

    assert IdentityProvider.objects.get().certificates.split() == saml.certificate.split()
    for certificate, status in ((saml.certificate, 403), (own, 302)):
        # The second is what the attack would have got.
        IdentityProvider.objects.update(certificates=certificate)
        saml.set_next_sign_in(OWNER, keyFile=str(keys / "attacker.key"), certFile=str(keys / "attacker.crt"))
        browser = Browser()
        assert browser.sign_in(email="owner@example.com").status_code == status
        assert ("_auth_user_id" in browser.console.session) == (status == 302)


def test_an_admin_does_not_sign_in_as_the_owner_by_an_issuer_of_her_own(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    with oidc_server() as attackers:
        changes = {"issuer": attackers.url, "client_id": "console", "client_secret": "client-secret-of-tests"}
        answer = person(cast.admin).post(f"{BASE}{provider.pk}/edit/", fields_of(provider, **changes))
        assert answer.status_code == 302
        attackers.set_next_sign_in({"sub": "attacker", "email": "owner@example.com", "email_verified": True})
        browser = Browser()
        assert browser.start(email="owner@example.com").startswith(oidc.url)
        assert IdentityProvider.objects.get().issuer == oidc.url


@pytest.mark.parametrize("field", ["issuer", "sign_on_url", "certificates", "client_id"])
def test_a_field_of_trust_is_the_owners_alone_once_a_domain_is_verified(
    cast: Cast, saml: Server, oidc: Server, keys: Path, field: str
) -> None:
    add = add_oidc if field == "client_id" else add_saml
    provider = add(cast.account, oidc if field == "client_id" else saml, "example.com")
    values = {"certificates": write_certificate(keys, "other")}
    setattr(provider, field, values.get(field, "https://attacker.test/x"))

    with pytest.raises(UserError, match="Only the owner can change the"):
        save_provider(provider=provider, actor=Actor.of_user(cast.admin))
    save_provider(provider=provider, actor=Actor.of_user(cast.owner))


def test_the_owner_changes_a_certificate_after_a_recent_sign_in_and_all_admins_hear_of_it(
    cast: Cast, saml: Server, keys: Path, mailoutbox: list[Any]
) -> None:
    provider = add_saml(cast.account, saml, "example.com")
    change = fields_of(provider, certificates=write_certificate(keys, "next"))
    url = f"{BASE}{provider.pk}/edit/"

    early = signed_in(cast.owner).post(url, change)
    assert "reauthenticate" in early["Location"]
    assert IdentityProvider.objects.get().certificates.split() == saml.certificate.split()
    assert person(cast.owner).post(url, change).status_code == 302

    texts = mails_of(mailoutbox)
    assert set(texts) == {"owner@example.com", "admin@example.com"}
    assert (
        "owner@example.com” changed the signing certificates of the identity provider “Acme SAML”"
        in (texts["admin@example.com"])
    )
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="identity_provider.change")
    assert (entry.actor_user, entry.detail["changed"]) == (cast.owner, ["certificates"])


def test_an_admin_reads_what_she_may_not_change_and_changes_the_rest(
    cast: Cast, saml: Server, mailoutbox: list[Any]
) -> None:
    provider = add_saml(cast.account, saml, "example.com")
    client, url = person(cast.admin), f"{BASE}{provider.pk}/edit/"

    page = client.get(url).content.decode()
    assert page.count("Only the owner can change it: the provider has a verified domain.") == 3
    assert "Metadata XML" not in page
    assert client.post(url, fields_of(provider, name="Renamed")).status_code == 302
    assert IdentityProvider.objects.get().name == "Renamed"
    assert mails_of(mailoutbox) == {}
    assert "Only the owner" not in person(cast.owner).get(url).content.decode()


def test_a_record_that_was_published_for_another_issuer_proves_nothing(
    cast: Cast, saml: Server, monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any]
) -> None:
    """An admin waits until the domain's administrator has published the record of a provider that both trust, and leads
    the provider elsewhere."""
    provider, admin = add_saml(cast.account, saml), Actor.of_user(cast.admin)
    row = services.add_domain(provider=provider, actor=admin, domain="example.com")
    published = [row.record]
    monkeypatch.setattr(services, "txt_records", lambda domain: published)
    client = person(cast.admin)

    client.post(f"{BASE}{provider.pk}/edit/", fields_of(provider, issuer="https://attacker.test/metadata"))
    assert IdentityProvider.objects.get().issuer == "https://attacker.test/metadata"
    client.post(f"{BASE}domains/{row.pk}/verify/")
    assert EmailDomain.objects.get().verified_at is None
    with pytest.raises(UserError, match="Publish the new one"):
        verify_domain(row=row, actor=admin)  # as the page of before the change has it
    assert mails_of(mailoutbox) == {}

    published.append(EmailDomain.objects.get().record)
    assert "reauthenticate" in signed_in(cast.admin).post(f"{BASE}domains/{row.pk}/verify/")["Location"]
    client.post(f"{BASE}domains/{row.pk}/verify/")
    assert EmailDomain.objects.get().verified_at is not None
    assert "verified the domain example.com for" in mails_of(mailoutbox)["owner@example.com"]
