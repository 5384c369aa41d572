from __future__ import annotations

from django.test import Client

from accounts.models import Account, AuditEntry, Role, User
from accounts.scoping import account_scope
from accounts.services import create_account
from tests.cast import PASSWORD, Cast, signed_in
from tests.pages import get_page

URL = "/a/acme/settings/account/"


def test_signing_up_leads_to_an_account_of_ones_own(db: None) -> None:
    client = Client()

    signed_up = client.post("/auth/signup/", {"email": "ana@example.com", "password1": PASSWORD}, follow=True)
    response = client.post("/accounts/new/", {"name": "Ana & Co"}, follow=True)

    assert "New account" in signed_up.content.decode()
    account = Account.objects.get(name="Ana & Co")
    assert account.memberships.get().role == Role.OWNER
    assert response.redirect_chain[-1][0] == f"/a/{account.slug}/connections/"


def test_signing_in_leads_to_the_overview(cast: Cast) -> None:
    client = Client()

    answer = client.post("/auth/login/", {"login": cast.member.email, "password": PASSWORD}, follow=True)

    assert answer.redirect_chain[-1][0] == "/a/acme/"


def test_a_wrong_password_is_said_in_the_products_design(cast: Cast) -> None:
    answer = Client().post("/auth/login/", {"login": cast.member.email, "password": "wrong"})

    page = answer.content.decode()
    assert "The email or password is incorrect." in page
    assert 'class="alert alert-danger"' in page


def test_the_switcher_offers_ones_own_accounts_alone(cast: Cast) -> None:
    both = signed_in(cast.both).get("/a/acme/").content.decode()
    member = signed_in(cast.member).get("/a/acme/").content.decode()

    assert 'href="/a/elsewhere/"' in both
    assert 'href="/a/elsewhere/"' not in member


def test_an_admin_changes_the_account_and_its_address_stays(cast: Cast) -> None:
    signed_in(cast.admin).post(URL, {"name": "Acme Ltd", "fiscal_start_month": "4"})

    account = Account.objects.get(pk=cast.account.pk)
    assert (account.name, account.fiscal_start_month, account.slug) == ("Acme Ltd", 4, "acme")


def test_a_member_sees_the_account_and_may_not_change_it(cast: Cast) -> None:
    client = signed_in(cast.member)

    page = client.get(URL).content.decode()
    assert "Only admins and owners can change this." in page
    assert "Fiscal year starts in January" in get_page(client, URL)
    assert "No country" in page
    assert "<select" not in page, "a field that cannot be changed is no field"
    assert client.post(URL, {"name": "Mine", "fiscal_start_month": "1"}).status_code == 403
    assert Account.objects.get(pk=cast.account.pk).name == "Acme"


def test_an_account_without_a_name_is_refused(cast: Cast) -> None:
    answer = signed_in(cast.owner).post(URL, {"name": " ", "fiscal_start_month": "13"})

    assert answer.status_code == 422
    assert "Enter a name." in answer.content.decode()


def test_the_audit_log_is_for_admins(cast: Cast) -> None:
    assert signed_in(cast.member).get("/a/acme/settings/audit-log/").status_code == 403
    assert signed_in(cast.admin).get("/a/acme/settings/audit-log/").status_code == 200


def test_the_audit_log_filters_sorts_pages_and_exports(cast: Cast) -> None:
    with account_scope(cast.account):
        AuditEntry.objects.all().delete()
        AuditEntry.objects.bulk_create(
            AuditEntry(
                account=cast.account, actor_label="ana", action="mcp_key.mint", target=f"key {number:03}"
            )
            for number in range(120)
        )
    client, url = signed_in(cast.admin), "/a/acme/settings/audit-log/"

    first, last = client.get(url).content.decode(), client.get(url, {"page": "3"}).content.decode()
    oldest = client.get(url, {"sort": "at"}).content.decode()
    page = client.get(url, {"q": "ANA 007"}).content.decode()
    other = client.get(url, {"action": "member.add"}).content.decode()
    exported = b"".join(client.get(url, {"format": "csv"})).decode()

    assert "key 119" in first
    assert "key 000" not in first
    assert "key 000" in last
    assert "key 000" in oldest
    assert "key 007" in page
    assert "key 008" not in page
    assert "No entries match." in other
    assert len(exported.splitlines()) == 121


def test_the_audit_log_says_what_a_change_changed(cast: Cast) -> None:
    client = signed_in(cast.owner)
    client.post(URL, {"name": "Acme Ltd", "fiscal_start_month": "1"})

    page = client.get("/a/acme/settings/audit-log/").content.decode()

    assert "name: Acme → Acme Ltd" in page
    assert "fiscal_start_month" not in page


def test_a_page_that_is_not_there_has_the_products_look(cast: Cast) -> None:
    answer = signed_in(cast.member).get("/a/nowhere/")

    assert answer.status_code == 404
    assert "Go to home page" in answer.content.decode()


def test_a_form_from_another_session_says_what_to_do(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.member)

    answer = client.post("/accounts/new/", {"name": "x"})

    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_a_person_without_any_account_makes_one(db: None) -> None:
    user = User.objects.create_user("ana@example.com", PASSWORD)

    answer = signed_in(user).get("/", follow=True)

    assert "Create an account for your company" in answer.content.decode()


def test_operators_sign_in_on_the_same_page(cast: Cast) -> None:
    answer = Client().get("/operators/login/", follow=True)

    assert answer.redirect_chain[-1][0].startswith("/auth/login/")
    assert signed_in(cast.owner).get("/admin/").status_code == 404


def test_the_switcher_has_a_search_where_accounts_are_many(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    assert "Search accounts" not in client.get("/a/acme/teams/").content.decode()

    for number in range(7):
        create_account(name=f"Account {number}", owner=cast.viewer)

    assert 'aria-label="Search accounts"' in client.get("/a/acme/teams/").content.decode()
