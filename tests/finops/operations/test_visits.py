"""An operator looks into an account: read-only, for an hour, with a banner, and a line in the account's audit log."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from finops.lib import clock
from tests.cast import Cast, reauthenticated, signed_in
from tests.isolation.discovery import fill, fingerprint
from tests.isolation.rows import MAKERS
from tests.isolation.test_urls import QUESTIONS, ROUTES


@pytest.fixture
def visitor(cast: Cast, operator: Client) -> Client:
    """An acting operator in a visit to Acme."""
    client = reauthenticated(operator, User.objects.get(email="operator@example.com"))
    answer = client.post(f"/admin/accounts/account/{cast.account.pk}/actions/visit/")
    assert answer.headers["Location"] == "/a/acme/"
    return client


def test_without_a_visit_an_operator_finds_no_account(cast: Cast, operator: Client) -> None:
    assert operator.get("/a/acme/").status_code == 404


def test_a_visit_is_of_one_account_and_has_a_banner(cast: Cast, visitor: Client) -> None:
    page = visitor.get("/a/acme/")

    assert "You view Acme as an operator." in page.content.decode()
    assert visitor.get("/a/elsewhere/").status_code == 404


def test_the_account_sees_the_visit_in_its_audit_log(cast: Cast, visitor: Client) -> None:
    entry = AuditEntry.objects.unscoped().get(action="account.visit")

    assert (entry.account, entry.actor_label) == (cast.account, "Operator operator@example.com")
    assert "account.visit" in signed_in(cast.owner).get("/a/acme/settings/audit-log/").content.decode()


@pytest.mark.slow
def test_every_page_opens_or_is_refused_and_nothing_changes(cast: Cast, visitor: Client) -> None:
    values = {name: make(cast.account) for name, make in MAKERS.items()}
    before = fingerprint()

    for route in ROUTES:
        url = fill(route, "acme", values) + QUESTIONS.get(route.path, "")
        assert visitor.get(url).status_code in {200, 403, 405}, url
        assert visitor.post(url).status_code == 403, url

    assert fingerprint() == before


def test_a_visit_is_over_after_an_hour_and_when_it_is_ended(cast: Cast, visitor: Client) -> None:
    with clock.frozen(clock.now() + timedelta(minutes=61)):
        assert visitor.get("/a/acme/").status_code == 404
    visitor.post("/admin/visits/end/")

    assert visitor.get("/a/acme/").status_code == 404


def test_a_visit_ends_with_the_role(cast: Cast, visitor: Client) -> None:
    User.objects.filter(email="operator@example.com").update(is_superuser=False)

    assert visitor.get("/a/acme/").status_code == 404


def test_another_session_of_the_operator_is_in_no_visit(cast: Cast, visitor: Client) -> None:
    assert signed_in(User.objects.get(email="operator@example.com")).get("/a/acme/").status_code == 404
