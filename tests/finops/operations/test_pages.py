"""The admin console: every model has a list and pages of rows over all accounts, for operators only."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.db import connection, models
from django.test import Client
from django.urls import reverse

from accounts.keys import mint_mcp_key
from accounts.models import Account, Membership, UnsentMail, User
from finops.connections.services import create_connection
from finops.lib import clock
from finops.operations.catalog import GROUPS, entries
from finops.operations.links import list_href, row_href
from finops.operations.model_list import listing
from finops.operations.rows import all_rows, has_secret_key
from tests.cast import Cast, signed_in
from tests.isolation.marks import fill_with_marks
from tests.isolation.rows import MAKERS
from tests.page_structure import faults_of
from tests.pages import get_html, get_page

ENTRIES = list(entries())
LISTS = [list_href(entry.model) for entry in ENTRIES]
# Django's own tables of permissions: roles of operators are two flags of a person.
WITHOUT_PAGES = {"auth.Permission", "auth.Group", "contenttypes.ContentType"}


def test_every_model_of_every_app_has_pages() -> None:
    labels = [entry.model._meta.label for entry in ENTRIES]

    assert len(labels) == len(set(labels))
    assert {model._meta.label for model in apps.get_models()} - set(labels) == WITHOUT_PAGES


@pytest.mark.slow
def test_an_operator_opens_every_list_and_its_csv_and_changes_none(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There are more lists than a person may export in a minute.
    monkeypatch.setattr("finops.rate_limits.EXPORTS_PER_MINUTE", 2 * len(LISTS))
    for url in LISTS:
        assert faults_of(get_html(operator, url)) == [], url
        assert operator.get(f"{url}?q=nothing+such&sort=-created_at").status_code == 200, url
        assert operator.get(f"{url}?format=csv").headers["Content-Type"].startswith("text/csv"), url
        assert operator.post(url).status_code == 405, url


@pytest.mark.slow
def test_a_page_of_each_model_is_well_formed(cast: Cast, operator: Client) -> None:
    fill_with_marks(cast.account)
    for make in MAKERS.values():
        make(cast.account)
    rows = {
        entry.model: all_rows(entry.model).first() for entry in ENTRIES if not has_secret_key(entry.model)
    }
    urls = [row_href(row) for row in rows.values() if row is not None]

    assert {url: faults for url in ["/admin/", *urls] if (faults := faults_of(get_html(operator, url)))} == {}
    assert len(urls) > 60


def test_a_group_lists_its_models(operator: Client) -> None:
    for group in GROUPS:
        page = operator.get(reverse("admin:group", args=[group.slug])).content.decode()

        assert [entry.label for entry in group.entries if f">{entry.label}<" not in page] == []


@pytest.mark.parametrize("path", ["", "groups/usage/", "accounts/user/", "nothing/such/"])
def test_pages_of_operators_are_404_for_everybody_else(cast: Cast, path: str) -> None:
    assert signed_in(cast.owner).get(f"/admin/{path}").status_code == 404
    assert signed_in(cast.owner).post(f"/admin/{path}").status_code == 404


@pytest.mark.parametrize("path", ["", "accounts/user/", "nothing/such/"])
def test_signed_out_leads_to_sign_in(db: None, path: str) -> None:
    answer = Client().get(f"/admin/{path}")

    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/auth/login/?next=/admin/{path}"


def test_an_operator_who_left_finds_nothing(db: None) -> None:
    person = User.objects.create_superuser("operator@example.com", "a long enough secret")
    client = signed_in(person)
    User.objects.filter(pk=person.pk).update(is_staff=False)

    assert client.get("/admin/").status_code == 404


@pytest.mark.parametrize("path", ["", "accounts/user/?q=a", "accounts/user/3/change/"])
def test_the_address_of_before_moved_for_good(db: None, path: str) -> None:
    answer = Client().get(f"/operators/{path}")

    assert (answer.status_code, answer.headers["Location"]) == (301, f"/admin/{path}")


def test_staff_find_the_console_in_their_menu(cast: Cast) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_staff=True)

    assert 'href="/admin/"' in signed_in(cast.member).get("/a/acme/").content.decode()
    assert 'href="/admin/"' not in signed_in(cast.viewer).get("/a/acme/").content.decode()


def test_a_list_has_rows_of_every_account_and_of_the_one_that_is_requested(
    cast: Cast, operator: Client
) -> None:
    for account in (cast.account, cast.other_account):
        mint_mcp_key(account=account, actor=cast.actor, name=f"Key of {account.name}")
    url = reverse("admin:accounts_mcpkey_changelist")

    both = operator.get(url).content.decode()
    searched = operator.get(f"{url}?q=elsewhere").content.decode()
    filtered_page = operator.get(f"{url}?account={cast.account.pk}").content.decode()

    assert "Key of Acme" in both
    assert "Key of Elsewhere" in both
    assert "Key of Acme" not in searched
    assert "Key of Elsewhere" not in filtered_page
    assert "Key of Acme" in filtered_page


def test_a_long_list_and_its_csv_say_where_they_end(
    cast: Cast, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.operations.model_list.MOST_ROWS", 3)
    people = User.objects.count()

    page = operator.get("/admin/accounts/user/").content.decode()
    file = operator.get("/admin/accounts/user/?format=csv")
    short = operator.get("/admin/accounts/user/?q=operator&format=csv")

    assert people > 3
    assert "The list and its CSV end after 3 rows." in page
    assert "-first-3-" in file.headers["Content-Disposition"]
    assert len(b"".join(file.streaming_content).splitlines()) == 1 + 3  # type: ignore[attr-defined]
    assert "-first-" not in short.headers["Content-Disposition"]


def test_a_search_of_what_has_no_text_finds_nothing(operator: Client) -> None:
    UnsentMail.objects.create(sealed="x", next_attempt_at=clock.now())

    assert "match “x”" in operator.get("/admin/accounts/unsentmail/?q=x").content.decode()


@pytest.mark.parametrize("value", ["0", "999999", "x", "1 OR 1=1"])
def test_an_unknown_account_has_no_rows(cast: Cast, operator: Client, value: str) -> None:
    mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    assert "Claude" not in operator.get("/admin/accounts/mcpkey/", {"account": value}).content.decode()


def test_a_row_that_another_one_names_is_linked_by_its_number(cast: Cast, operator: Client) -> None:
    membership = Membership.objects.get(account=cast.account, user=cast.owner)
    Membership.objects.filter(pk=membership.pk).update(id=14_866)
    membership.pk = 14_866

    page = operator.get("/admin/accounts/membership/").content.decode()

    assert f'<a href="{row_href(membership)}">14866</a>' in page
    assert f'<a href="{row_href(cast.owner)}">' in page


def test_many_actions_are_a_menu_with_those_that_destroy_last(cast: Cast, operator: Client) -> None:
    page = operator.get(row_href(cast.account)).content.decode()

    labels = re.findall(r">\s*([A-Z][a-z ]+)…", page)
    assert labels[-2:] == ["Suspend account", "Delete account"]
    assert page.count("dropdown-item text-danger") == 2


def test_a_row_leads_to_what_belongs_to_it(cast: Cast, operator: Client) -> None:
    page = operator.get(row_href(cast.account)).content.decode()

    assert f'href="/admin/accounts/membership/?account={cast.account.pk}"' in page
    assert f'href="/admin/connections/costsync/?account={cast.account.pk}"' in page


@pytest.mark.parametrize("pk", ["0", "x", "99999999999999999999999"])
def test_an_unknown_row_is_not_found(operator: Client, pk: str) -> None:
    assert operator.get(f"/admin/accounts/account/{pk}/change/").status_code == 404


def test_a_list_makes_as_many_queries_for_many_rows_as_for_one(
    cast: Cast, operator: Client, django_assert_max_num_queries: object
) -> None:
    url = reverse("admin:accounts_membership_changelist")
    operator.get(url)

    with django_assert_max_num_queries(7):  # type: ignore[operator]
        operator.get(url)


def test_a_policy_without_exceptions_holds(operator: Client) -> None:
    for url in ("/admin/", "/admin/accounts/user/", row_href(User.objects.get())):
        answer = operator.get(url)
        page = answer.content.decode()

        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "<style" not in page
        assert " style=" not in page
        assert " onclick=" not in page
        assert page.count("<script") == page.count("<script src=") + page.count('<script type="module" src=')


def test_models_without_a_page_a_row_are_those_whose_key_is_a_hash() -> None:
    assert [entry.model._meta.label for entry in ENTRIES if has_secret_key(entry.model)] == [
        "accounts.Session"
    ]


def test_the_scope_is_left_in_one_place(cast: Cast) -> None:
    rows: models.QuerySet[Account] = all_rows(Account)

    assert rows.count() == 2


def test_a_search_that_takes_too_long_ends_with_instructions(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_slowly(declared: object, request: object, rows: models.QuerySet[User]) -> object:
        if not rows.query.is_empty():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(2)")
        return listing(declared, request, rows)  # type: ignore[arg-type]

    monkeypatch.setattr("finops.operations.queries.STATEMENT_SECONDS", 0.1)
    monkeypatch.setattr("finops.operations.model_pages.listing", read_slowly)

    answer = operator.get("/admin/accounts/user/?q=operator")

    assert answer.status_code == 200
    assert "The search took longer than" in answer.content.decode()


def test_fields_have_names_for_people(cast: Cast, operator: Client) -> None:
    people = operator.get(reverse("admin:accounts_user_changelist")).content.decode()
    keys = operator.get(reverse("admin:accounts_mcpkey_changelist")).content.decode()
    audit = operator.get(reverse("admin:accounts_auditentry_changelist")).content.decode()

    for label in ("Operator", "Operator can act", "Can sign in", "Signed up", "Last sign-in"):
        assert f">{label}<" in re.sub(r"\s*\n\s*", "", people)
    assert "Created by (name)" in keys
    for page in (people, keys, audit):
        assert not re.search(r"Is [a-z]+|Superuser|Date joined|[a-z] label<", page)


def test_a_row_without_a_name_has_that_of_its_source(cast: Cast, operator: Client) -> None:
    values: dict[str, object] = {"folder": "/srv/events"}
    row = create_connection(
        account=cast.account, actor=cast.actor, name="Plans", connector="folder_events", values=values
    )

    page = get_page(operator, row_href(row))

    assert "Cost connection of Plans" in page
