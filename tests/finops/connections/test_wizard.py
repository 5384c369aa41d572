"""Adding a connection, step by step, and changing it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.connections.configs import is_external_id_of, new_external_id
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import config_of
from finops.costs.models import CostSource
from tests.cast import Cast, signed_in
from tests.finops.connections.bill_box import (
    FORM,
    KEY,
    NEW,
    BillBox,
    BillBoxConfig,
    bill_box,
    closed_box,
    connect,
)
from tests.pages import get_page, text_of

__all__ = ["bill_box"]

TEST = "/a/acme/connections/new/test/?connector=bill_box"
CATALOG = "/a/acme/connections/new/"


def rows_of(cast: Cast) -> tuple[int, int, int]:
    with account_scope(cast.account):
        return CostConnection.objects.count(), CostSync.objects.count(), CostSource.objects.count()


def config(cast: Cast, connection: CostConnection) -> BillBoxConfig:
    with account_scope(cast.account):
        opened = config_of(CostConnection.objects.select_related("account").get(pk=connection.pk))
    assert isinstance(opened, BillBoxConfig)
    return opened


def external_id_in(page: str) -> str:
    match = re.search(r'name="external_id" value="([^"]+)"', page)
    assert match
    return match.group(1)


@pytest.mark.usefixtures("bill_box")
def test_the_first_step_groups_connectors_and_finds_them_by_words(cast: Cast) -> None:
    client = signed_in(cast.member)

    every, match, none = (get_page(client, CATALOG, q=q) for q in ("", "boxes BILL", "no such thing"))

    assert "Any FOCUS source" in every
    assert "Upload files" in every
    for connector in connectors().values():
        assert (connector.title in every) is connector.is_offered
    assert "Bill box Bills in a box" in match
    assert "No provider matches “no such thing”" in none
    assert "Bill box" not in none


@pytest.mark.usefixtures("bill_box")
def test_the_second_step_shows_snippets_with_the_external_id_and_a_field_for_each_setting(cast: Cast) -> None:
    html = signed_in(cast.member).get(NEW).content.decode()

    external_id = external_id_in(html)
    assert is_external_id_of(cast.account, external_id)
    assert f"{{&quot;sts:ExternalId&quot;: &quot;{external_id}&quot;}}" in html
    assert 'data-copy="step-1"' in html
    assert re.search(r'<input type="password" name="key"[^>]*required', html)
    assert re.search(r'<textarea name="certificate"', html)
    assert re.search(r'<input type="text" name="box"[^>]*placeholder="bills"', html)
    assert re.search(r'<option value="eu_west" selected>Eu west</option>', html)
    assert '<option value="us-east-1">us-east-1</option>' in html
    assert re.search(r'<input type="number" name="pages" value="3"[^>]*max="9"', html)
    assert re.search(r'<input type="checkbox" name="with_tax"[^>]*checked', html)
    assert "All available months" in html
    assert '<option value="60" selected>Every hour</option>' in html


@pytest.mark.usefixtures("bill_box")
def test_a_form_makes_a_connection_and_leads_to_its_first_sync(cast: Cast) -> None:
    client = signed_in(cast.member)
    external_id = external_id_in(client.get(NEW).content.decode())
    entered = {
        **FORM,
        "external_id": external_id,
        "folders": "a\n\n b ",
        "pages": "7",
        "first_month": "2026-02-01",
    }
    del entered["with_tax"]

    answer = client.post(NEW, entered)

    with account_scope(cast.account):
        (connection,) = CostConnection.objects.select_related("source", "account")
        (sync,) = CostSync.objects.all()
    assert answer.headers["Location"] == f"/a/acme/connections/syncs/{sync.pk}/"
    assert connection.cost_source.name == "Boxes of Acme"
    assert connection.external_id == external_id
    assert f"{connection.first_month}" == "2026-02-01"
    assert connection.interval_minutes == 60
    assert KEY not in str(connection.config)
    opened = config(cast, connection)
    assert (opened.key, opened.folders, opened.pages, opened.with_tax) == (KEY, ("a", "b"), 7, False)


@pytest.mark.usefixtures("bill_box")
def test_an_external_id_of_another_account_is_replaced(cast: Cast) -> None:
    stolen = new_external_id(account=cast.other_account)

    signed_in(cast.member).post(NEW, {**FORM, "external_id": stolen})

    with account_scope(cast.account):
        (connection,) = CostConnection.objects.all()
    assert connection.external_id != stolen
    assert is_external_id_of(cast.account, connection.external_id)


@pytest.mark.usefixtures("bill_box")
@pytest.mark.parametrize(
    ("fields", "beside", "text"),
    [
        ({"box": ""}, "box", "Enter the box."),
        ({"box": "NOT A BOX"}, "box", "Invalid format. For example: bills"),
        ({"key": ""}, "key", "Enter the API key."),
        ({"pages": "10"}, "pages", "Enter 9 or less"),
        ({"region": "mars"}, "region", "Select a valid choice"),
        ({"name": " "}, "name", "Give the source a name."),
        ({"first_month": "2026-02-02"}, "first_month", "Select a valid choice"),
        ({"interval_minutes": "1"}, "interval_minutes", "Select a valid choice"),
    ],
)
def test_an_error_is_shown_next_to_its_field_and_nothing_is_stored(
    cast: Cast, fields: dict[str, str], beside: str, text: str
) -> None:
    answer = signed_in(cast.member).post(NEW, {**FORM, **fields})

    html = answer.content.decode()
    assert answer.status_code == 422
    match = re.search(rf'id="id_{beside}_error">(.*?)</div>\s*</div>', html, re.DOTALL)
    assert match
    assert text in match.group(1)
    assert KEY not in html
    assert rows_of(cast) == (0, 0, 0)


@pytest.mark.usefixtures("bill_box")
def test_a_name_that_is_taken_is_refused(cast: Cast) -> None:
    client = signed_in(cast.member)
    client.post(NEW, FORM)

    answer = client.post(NEW, FORM)

    assert "A cost source with this name already exists." in text_of(answer, status=422)
    assert 'id="id_name_error"' in answer.content.decode()
    assert rows_of(cast) == (1, 1, 1)


@pytest.mark.usefixtures("bill_box")
def test_a_test_names_what_is_missing_permission_by_permission_and_stores_nothing(cast: Cast) -> None:
    client = signed_in(cast.member)
    before = rows_of(cast)

    works = text_of(client.post(TEST, FORM))
    with closed_box():
        lacks = text_of(client.post(TEST, {**FORM, "name": ""}))
    incomplete = text_of(client.post(TEST, {**FORM, "box": "", "key": ""}))

    assert works == "Connection works Passed: Reach the box Passed: Read box bills"
    assert "1 of 2 checks failed" in lacks
    assert "Failed: Read box bills Grant box:Read to the key." in lacks
    assert incomplete == "Box: Enter the box. API key: Enter the API key."
    assert rows_of(cast) == before
    assert [each.key for each in BillBox.configs] == [KEY, KEY]


@pytest.mark.usefixtures("bill_box")
def test_credentials_are_written_only_and_kept_while_their_field_is_empty(cast: Cast) -> None:
    connection = connect(cast)
    url = f"/a/acme/connections/{connection.source_id}/edit/"
    client = signed_in(cast.member)

    html = client.get(url).content.decode()
    response = client.post(url, {**FORM, "box": "other", "key": ""})
    after_kept = config(cast, connection)
    client.post(url, {**FORM, "box": "other", "key": "a-new-key"})

    assert KEY not in html
    assert "Stored. Leave empty to keep it." in html
    assert "Credentials last changed" in html
    assert response.status_code == 302
    assert (after_kept.box, after_kept.key) == ("other", KEY)
    assert config(cast, connection).key == "a-new-key"
    with account_scope(cast.account):
        entries = list(AuditEntry.objects.filter(action__startswith="cost_connection.").values_list("detail"))
    assert KEY not in str(entries)
    assert "a-new-key" not in str(entries)


@pytest.mark.usefixtures("bill_box")
def test_settings_are_tested_with_the_stored_credentials(cast: Cast) -> None:
    connection = connect(cast)
    url = f"/a/acme/connections/{connection.source_id}/edit/test/"

    answer = text_of(signed_in(cast.member).post(url, {**FORM, "key": ""}))

    assert "Connection works" in answer
    assert BillBox.configs[-1].key == KEY
    assert BillBox.configs[-1].external_id == connection.external_id


@pytest.mark.usefixtures("bill_box")
def test_settings_that_cannot_be_are_refused_and_nothing_changes(cast: Cast) -> None:
    connection = connect(cast)
    url = f"/a/acme/connections/{connection.source_id}/edit/"

    answer = signed_in(cast.member).post(url, {**FORM, "box": "NOT A BOX", "key": "typed"})

    assert "Invalid format." in text_of(answer, status=422)
    assert "typed" not in answer.content.decode()
    assert config(cast, connection).box == "bills"


@pytest.mark.usefixtures("bill_box")
def test_members_without_write_access_see_no_settings(cast: Cast) -> None:
    connection = connect(cast)
    urls = [NEW, CATALOG, f"/a/acme/connections/{connection.source_id}/edit/"]

    codes: list[Any] = [signed_in(cast.viewer).get(url).status_code for url in urls]

    assert codes == [403, 403, 403]


def test_a_connection_of_a_connector_that_is_gone_says_so(
    cast: Cast, bill_box: type[BillBox], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(cast)
    registry: Any = connectors()
    monkeypatch.delitem(registry, bill_box.name)

    answer = signed_in(cast.member).get(f"/a/acme/connections/{connection.source_id}/edit/")

    assert "Connector “bill_box” is not available" in text_of(answer)


def test_layouts_of_providers_are_offered_next_to_the_field_of_the_files(cast: Cast) -> None:
    html = signed_in(cast.member).get("/a/acme/connections/new/?connector=bucket_focus").content.decode()

    field = re.search(r'<input type="text" name="pattern" value="\*\*/\*"[^>]*id="id_pattern">', html)
    choice = re.search(
        r'<select class="form-select mt-1"[^>]*data-copies-to="id_pattern">(.*?)</select>', html
    )
    assert field
    assert choice
    assert '<option value="*/{year}/{month}/{day}/focus.csv">OVHcloud: one file a day</option>' in choice[1]
    assert '<option value="ibm-focus-{yyyymm}.csv">IBM Cloud: FOCUS reports by month</option>' in choice[1]
