"""Settings → Single sign-on, with a real provider and a real DNS server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from dnslib import RR, TXT
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from accounts.sso.models import EmailDomain, GroupMapping, IdentityProvider
from accounts.sso.services import add_domain
from finops.allocation.services.teams import create_team
from finops.lib.errors import UserError
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import CLIENT_SECRET, Server, add_oidc, add_saml, with_domains
from tests.cast import ACTOR, Cast, reauthenticated, signed_in

BASE = "/a/acme/settings/sign-on/"


class Zone(BaseResolver):  # type: ignore[misc]
    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}

    def resolve(self, request: Any, handler: Any) -> Any:
        reply, name = request.reply(), str(request.q.qname).rstrip(".")
        for text in self.texts.get(name, []):
            reply.add_answer(RR(request.q.qname, rtype=16, rdata=TXT(text)))
        return reply


@pytest.fixture
def zone(settings: Any) -> Iterator[Zone]:
    resolver = Zone()
    server = DNSServer(resolver, port=0, address="127.0.0.1", logger=DNSLogger(log="-request,-reply"))
    server.start_thread()
    settings.SSO_DNS_SERVERS = [f"127.0.0.1:{server.server.server_address[1]}"]
    try:
        yield resolver
    finally:
        server.stop()
        server.server.server_close()


@pytest.fixture
def admin(cast: Cast) -> Client:
    return reauthenticated(signed_in(cast.admin), cast.admin)


@pytest.fixture
def owner(cast: Cast) -> Client:
    return reauthenticated(signed_in(cast.owner), cast.owner)


def messages_of(answer: Any) -> str:
    return " ".join(str(each) for each in answer.context["messages"])


def test_an_admin_adds_tests_verifies_and_enforces_a_provider(
    cast: Cast, admin: Client, oidc: Server, zone: Zone
) -> None:
    form = {
        "name": "Acme",
        "issuer": oidc.url,
        "client_id": "console",
        "client_secret": CLIENT_SECRET,
        "groups_attribute": "groups",
        "default_role": "viewer",
        "creates_people": "on",
    }
    admin.post(f"{BASE}new/oidc/", form)
    provider = IdentityProvider.objects.get(account=cast.account)
    page = f"{BASE}{provider.pk}/"
    tested = messages_of(admin.post(f"{page}test/", follow=True))
    admin.post(f"{page}domains/add/", {"domain": "Example.COM"})
    domain = EmailDomain.objects.get()
    early = messages_of(admin.post(f"{BASE}domains/{domain.pk}/verify/", follow=True))
    zone.texts["example.com"] = ["v=spf1 -all", domain.record]
    late = messages_of(admin.post(f"{BASE}domains/{domain.pk}/verify/", follow=True))
    too_early = messages_of(admin.post(f"{page}enforce/", {"on": "1"}, follow=True))
    oidc.set_next_sign_in({"sub": "admin", "email": "admin@example.com", "email_verified": True})
    Browser(admin).sign_in(email="admin@example.com")
    enforced = messages_of(admin.post(f"{page}enforce/", {"on": "1"}, follow=True))

    assert "settings are correct" in tested
    assert "does not have the TXT record yet" in early
    assert "example.com is verified" in late
    assert "Sign in through Acme first" in too_early
    assert "Sign-in through Acme is required." in enforced
    html = admin.get(page).content.decode() + admin.get(f"{page}edit/").content.decode()
    assert CLIENT_SECRET not in html
    assert domain.record in html
    assert CLIENT_SECRET not in IdentityProvider.objects.get().sealed_client_secret
    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action__startswith="identity_provider.")
        actions = list(entries.order_by("pk").values_list("action", flat=True))
    assert [action.partition(".")[2] for action in actions] == [
        *("create", "add_domain", "verify_domain", "enforce")
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"client_id": "unknown"}, "does not accept the client ID and secret"),
        ({"sealed_client_secret": ""}, "does not accept the client ID and secret"),
        ({"issuer": "{url}/"}, "issuer is"),
        ({"issuer": "{url}/nowhere"}, "answered 404"),
        ({"issuer": "https://10.0.0.1"}, "private or reserved network"),
    ],
)
def test_a_test_of_the_connection_names_what_is_wrong(
    cast: Cast, admin: Client, oidc: Server, change: dict[str, str], text: str
) -> None:
    provider = add_oidc(cast.account, oidc)
    values = {name: value.format(url=oidc.url) for name, value in change.items()}
    IdentityProvider.objects.filter(pk=provider.pk).update(**values)

    assert text in messages_of(admin.post(f"{BASE}{provider.pk}/test/", follow=True))


def test_saml_is_added_by_its_metadata(cast: Cast, admin: Client, saml: Server) -> None:
    import httpx

    form = {"name": "Acme", "default_role": "viewer", "groups_attribute": "groups"}
    empty = admin.post(f"{BASE}new/saml/", form)
    admin.post(f"{BASE}new/saml/", {**form, "metadata": httpx.get(f"{saml.url}/metadata").text})

    assert (empty.status_code, IdentityProvider.objects.get().issuer) == (422, f"{saml.url}/metadata")
    page = admin.get(f"{BASE}{IdentityProvider.objects.get().pk}/").content.decode()
    assert "/acs/" in page


@pytest.mark.parametrize(
    "domain", ["gmail.com", "mail.gmail.com", "x", "a b.com", "127.0.0.1", "", "*.acme.test", "-a.test"]
)
def test_an_invalid_or_public_mail_domain_is_refused(cast: Cast, oidc: Server, domain: str) -> None:
    provider = add_oidc(cast.account, oidc)

    with pytest.raises(UserError):
        add_domain(provider=provider, actor=ACTOR, domain=domain)


def test_a_domain_has_one_provider_in_the_whole_service(
    cast: Cast, admin: Client, oidc: Server, zone: Zone
) -> None:
    own_provider = add_oidc(cast.account, oidc)
    with_domains(add_oidc(cast.other_account, oidc), "acme.test")
    row = add_domain(provider=own_provider, actor=ACTOR, domain="acme.test")
    zone.texts["acme.test"] = [row.record]

    answer = messages_of(admin.post(f"{BASE}domains/{row.pk}/verify/", follow=True))

    assert "already verified for another" in answer
    assert EmailDomain.objects.get(pk=row.pk).verified_at is None


def test_group_mappings_lead_to_roles_and_teams(cast: Cast, admin: Client) -> None:
    team = create_team(account=cast.account, actor=ACTOR, name="Core")
    admin.post(f"{BASE}groups/add/", {"group": "finops", "role": "admin", "team_id": str(team.pk)})
    again = admin.post(f"{BASE}groups/add/", {"group": "FinOps", "role": "viewer", "team_id": ""})
    nothing = admin.post(f"{BASE}groups/add/", {"group": "x", "role": "", "team_id": ""})
    owner = admin.post(f"{BASE}groups/add/", {"group": "x", "role": "owner", "team_id": ""})

    assert [answer.status_code for answer in (again, nothing, owner)] == [422, 422, 422]
    with account_scope(cast.account):
        row = GroupMapping.objects.get()
    assert "Core" in admin.get(BASE).content.decode()
    admin.post(f"{BASE}groups/{row.pk}/remove/")
    assert not GroupMapping.objects.unscoped().exists()


def test_another_issuer_unlinks_everybody(cast: Cast, owner: Client, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    oidc.set_next_sign_in({"sub": "v", "email": "viewer@example.com", "email_verified": True})
    Browser().sign_in(email="viewer@example.com")
    form = {"name": "Acme", "issuer": "https://other.test", "client_id": "c", "default_role": "viewer"}

    refusal = owner.post(f"{BASE}{provider.pk}/edit/", form)
    identities = provider.identities.count()
    owner.post(f"{BASE}{provider.pk}/edit/", {**form, "client_secret": "of the other"})

    assert "Enter the client secret again: the issuer has changed." in refusal.content.decode()
    assert (refusal.status_code, identities) == (422, 1)
    assert not provider.identities.exists()


def test_the_client_secret_is_not_sent_to_another_issuer(cast: Cast, owner: Client, oidc: Server) -> None:
    """It is never shown, so an owner must not get it by a server of her own either."""
    provider = add_oidc(cast.account, oidc, "example.com")
    form = {"name": "Acme", "issuer": "https://mine.test", "client_id": "console", "default_role": "viewer"}

    answer = owner.post(f"{BASE}{provider.pk}/edit/", form)

    assert answer.status_code == 422
    provider.refresh_from_db()
    assert provider.issuer == oidc.url


def test_two_providers_of_an_account_are_not_both_enforced(cast: Cast, oidc: Server, saml: Server) -> None:
    add_oidc(cast.account, oidc, "a.test", is_enforced=True)

    with pytest.raises(ValidationError, match="Another identity provider"):
        add_saml(cast.account, saml, "b.test", is_enforced=True)


def test_an_operator_confirms_a_domain_and_opens_the_way_back(
    cast: Cast, oidc: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = add_oidc(cast.account, oidc)
    call_command("sign_on", "confirm-domain", str(provider.public_id), "example.com")
    call_command("sign_on", "enforce", str(provider.public_id))
    call_command("sign_on", "list")
    listing = capsys.readouterr().out
    call_command("sign_on", "stop-enforcing", str(provider.public_id))

    assert "enforced  example.com" in listing
    assert not IdentityProvider.objects.get().is_enforced
    assert EmailDomain.objects.get().confirmed_by == "command sign_on"
    with pytest.raises(CommandError, match="no provider"):
        call_command("sign_on", "test", "00000000-0000-0000-0000-000000000000")
