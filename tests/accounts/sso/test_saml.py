"""Sign-in by SAML, with a real provider."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.test import Client

from accounts.models import Membership, Role, User
from accounts.scoping import account_scope
from accounts.sso import saml as protocol
from accounts.sso import saml_settings
from accounts.sso.models import GroupMapping, SignInAttempt
from finops.lib.errors import UserError
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_saml, write_certificate
from tests.cast import Cast

NEW: dict[str, Any] = {
    "sub": "saml-7",
    "email": "new@acme.test",
    "name": "New Person",
    "groups": ["all", "finops"],
}


def has_arrived() -> bool:
    return User.objects.filter(email=NEW["email"]).exists()


def response_of(browser: Browser) -> dict[str, str]:
    """The form that the provider makes the browser post."""
    form = browser.at_provider(browser.start(email=NEW["email"]))
    assert isinstance(form, dict)
    return form


def edit_response(form: dict[str, str], before: str, after: str) -> dict[str, str]:
    text = base64.b64decode(form["SAMLResponse"]).decode()
    assert before in text, text
    return {**form, "SAMLResponse": base64.b64encode(text.replace(before, after).encode()).decode()}


def test_a_new_person_becomes_what_her_groups_say(cast: Cast, saml: Server) -> None:
    add_saml(cast.account, saml, "acme.test")
    with account_scope(cast.account):
        GroupMapping.objects.create(account=cast.account, group="FinOps", role=Role.ADMIN)
    saml.set_next_sign_in(NEW)
    browser = Browser()

    answer = browser.sign_in(email=NEW["email"])

    assert answer.status_code == 302
    user = User.objects.get(email=NEW["email"])
    assert user.name == "New Person"
    assert Membership.objects.get(account=cast.account, user=user).role == "admin"
    assert browser.console.get("/a/acme/").status_code == 200


@pytest.mark.parametrize(
    "options",
    [
        {"audience": "https://another.test"},
        {"issuer": "https://evil.test"},
        {"recipient": "http://127.0.0.1:8000/elsewhere/"},
        {"destination": "http://127.0.0.1:8000/elsewhere/"},
        {"lifetimeInSeconds": -3_600},
        {"inResponseTo": "_another"},
        {"signAssertion": False},
        {"signAssertion": False, "signResponse": True},
        {"signatureAlgorithm": "rsa-sha1", "digestAlgorithm": "sha1"},
    ],
    ids=str,
)
def test_an_assertion_that_fails_a_check_signs_no_person_in(
    cast: Cast, saml: Server, options: dict[str, Any]
) -> None:
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in(NEW, options=options)

    answer = Browser().sign_in(email=NEW["email"])

    assert answer.status_code == 403
    assert not has_arrived()


def test_an_assertion_under_another_key_signs_no_person_in(cast: Cast, saml: Server, keys: Path) -> None:
    add_saml(cast.account, saml, "acme.test")
    write_certificate(keys, "strange")
    saml.set_next_sign_in(NEW, keyFile=str(keys / "strange.key"), certFile=str(keys / "strange.crt"))

    assert Browser().sign_in(email=NEW["email"]).status_code == 403
    assert not has_arrived()


def test_a_group_or_an_address_that_was_changed_in_transit_breaks_the_signature(
    cast: Cast, saml: Server
) -> None:
    add_saml(cast.account, saml, "acme.test")
    for before, after in ((">all<", ">admins<"), ("new@acme.test", "owner@acme.test"), ("saml-7", "saml-8")):
        saml.set_next_sign_in(NEW)
        browser = Browser()

        answer = browser.come_back(edit_response(response_of(browser), before, after))

        assert answer.status_code == 403
    assert not has_arrived()


@pytest.mark.parametrize("place", ["before", "after", "extensions", "around"])
def test_a_second_assertion_beside_the_signed_one_is_not_read(cast: Cast, saml: Server, place: str) -> None:
    """Signature wrapping: the signature stays valid, and an unsigned assertion says who arrives."""
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in(NEW)
    browser = Browser()
    form = response_of(browser)
    text = base64.b64decode(form["SAMLResponse"]).decode()
    match = re.search(r"<saml:Assertion .*</saml:Assertion>", text, re.S)
    assert match, text
    signed = match.group()
    unsigned = re.sub(r"<(ds:)?Signature .*?</(ds:)?Signature>", "", signed, flags=re.S)
    evil = re.sub(r' ID="[^"]+"', ' ID="_evil"', unsigned.replace("new@acme.test", "ceo@acme.test"), count=1)
    assert evil not in (signed, unsigned)
    inside = {
        "before": evil + signed,
        "after": signed + evil,
        "extensions": f"<samlp:Extensions>{signed}</samlp:Extensions>{evil}",
        "around": evil.replace("</saml:Issuer>", f"</saml:Issuer>{signed}", 1),
    }[place]

    answer = browser.come_back(edit_response(form, signed, inside))

    assert answer.status_code == 403
    assert not User.objects.filter(email="ceo@acme.test").exists()


def test_a_comment_does_not_cut_an_address(cast: Cast, saml: Server) -> None:
    """Comments are no part of what is signed: `ceo@acme.test<!---->.evil.test` must not become `ceo@acme.test`."""
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in({**NEW, "email": "ceo@acme.test.evil.test"})
    browser = Browser()
    form = edit_response(response_of(browser), "ceo@acme.test.evil.test", "ceo@acme.test<!---->.evil.test")

    assert browser.come_back(form).status_code == 403
    assert not User.objects.filter(email="ceo@acme.test").exists()


def test_an_assertion_that_was_used_opens_nothing_a_second_time(cast: Cast, saml: Server) -> None:
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in(NEW)
    browser, thief = Browser(), Browser()
    form = response_of(browser)
    first = browser.come_back(form)

    again = browser.come_back(form)
    thief.start(email=NEW["email"])
    token = thief.console.session["sign_in_attempts"][-1]
    under_another_request = thief.come_back({**form, "RelayState": token})

    codes = [first.status_code, again.status_code, under_another_request.status_code]
    assert codes == [302, 403, 403]
    assert thief.console.get("/a/acme/").status_code == 302


def test_an_answer_counts_in_the_browser_that_asked_alone(cast: Cast, saml: Server) -> None:
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in(NEW)
    browser, victim = Browser(), Browser()
    form = response_of(browser)

    answer = victim.come_back(form)

    assert answer.status_code == 403
    assert not has_arrived()


def test_a_sign_in_that_the_provider_begins_is_refused(cast: Cast, saml: Server) -> None:
    add_saml(cast.account, saml, "acme.test")
    saml.set_next_sign_in(NEW)
    browser = Browser()
    form = response_of(browser)
    SignInAttempt.objects.all().delete()

    for token in ("", "invented", form["RelayState"]):
        assert browser.come_back({**form, "RelayState": token}).status_code == 403
    assert not has_arrived()


def test_an_answer_for_another_account_is_refused(cast: Cast, saml: Server) -> None:
    """Two accounts with the same provider: what is said for one does not open the other."""
    add_saml(cast.account, saml, "acme.test")
    other = add_saml(cast.other_account, saml, "elsewhere.test")
    saml.set_next_sign_in(NEW)
    browser = Browser()
    form = response_of(browser)

    answer = browser.come_back({**form, "action": f"/auth/sso/saml/{other.public_id}/acs/"})

    assert answer.status_code == 403
    assert not has_arrived()


@pytest.mark.parametrize(
    "text", ["", "no base64!", "PHhtbD4=", base64.b64encode(b"<a>" * 1_000).decode(), "A" * 600_000]
)
def test_an_invalid_response_is_refused(cast: Cast, saml: Server, text: str) -> None:
    add_saml(cast.account, saml, "acme.test")
    browser = Browser()
    form = response_of(browser)

    assert browser.come_back({**form, "SAMLResponse": text}).status_code == 403


def test_entities_of_a_document_type_are_not_read(cast: Cast, saml: Server) -> None:
    add_saml(cast.account, saml, "acme.test")
    browser = Browser()
    form = response_of(browser)
    bomb = '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b SYSTEM "file:///etc/passwd">]><r>&a;&b;</r>'

    answer = browser.come_back({**form, "SAMLResponse": base64.b64encode(bomb.encode()).decode()})

    assert answer.status_code == 403
    assert "root:" not in answer.content.decode()


def test_the_metadata_of_the_provider_says_what_the_form_asks(saml: Server) -> None:
    values = protocol.read_metadata(httpx.get(f"{saml.url}/metadata").text)

    assert values["issuer"] == f"{saml.url}/metadata"
    assert values["sign_on_url"] == f"{saml.url}/sign-on"
    assert values["certificates"].split() == saml.certificate.split()


def test_invalid_metadata_is_reported() -> None:
    for text in ("", "<a/>", "no xml", "<!DOCTYPE r [<!ENTITY a 'x'>]><r>&a;</r>"):
        with pytest.raises(UserError, match="metadata"):
            protocol.read_metadata(text)


def test_our_metadata_is_public_and_names_the_acs(cast: Cast, saml: Server) -> None:
    provider = add_saml(cast.account, saml, "acme.test")

    answer = Client().get(f"/auth/sso/saml/{provider.public_id}/metadata/")

    assert answer.status_code == 200
    assert saml_settings.acs_url(provider) in answer.content.decode()
    assert 'WantAssertionsSigned="true"' in answer.content.decode()


def test_a_certificate_that_has_expired_is_named(cast: Cast, saml: Server, keys: Path) -> None:
    provider = add_saml(cast.account, saml)
    provider.certificates = write_certificate(keys, "old", days=-1)

    with pytest.raises(UserError, match="has expired"):
        saml_settings.check_settings(provider)
