"""The page that takes an export of AWS Cost Optimization Hub."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import volume
from tests.finops.insights.savings.hub_files import as_csv, row

ClientFor = Callable[[User], Client]
PAGE = "/a/acme/savings/import/"


@pytest.fixture
def source(acme: Account) -> CostSource:
    return add_source(acme, volume("10"))


def post_file(source: CostSource, content: bytes) -> dict[str, object]:
    return {"source": source.pk, "file": SimpleUploadedFile("recommendations.csv", content)}


def test_a_member_uploads_and_sees_it_in_the_list(
    cast: Cast, source: CostSource, client_for: ClientFor
) -> None:
    client = client_for(cast.member)
    assert "Get the file" in client.get(PAGE).content.decode()

    answer = client.post(
        PAGE, post_file(source, as_csv([row(), row(recommendation_id="b", currency_code="?")])), follow=True
    )

    html = answer.content.decode()
    assert "1 recommendation imported" in html
    assert "1 rows are left out" in html
    assert "Rightsize: vol-1" in html


def test_an_error_of_a_file_is_shown_at_its_field(
    cast: Cast, source: CostSource, client_for: ClientFor
) -> None:
    answer = client_for(cast.member).post(PAGE, post_file(source, b"a,b\n"))

    assert answer.status_code == 422
    assert "no column recommendation_id" in answer.content.decode()


def test_a_viewer_neither_uploads_nor_sees_the_button(
    cast: Cast, source: CostSource, client_for: ClientFor
) -> None:
    client = client_for(cast.viewer)

    assert client.post(PAGE, post_file(source, as_csv([row()]))).status_code == 403
    assert PAGE not in client.get("/a/acme/savings/").content.decode()
    assert not ImportedSaving.objects.exists()


def test_a_source_of_another_account_is_no_choice(
    cast: Cast, acme: Account, source: CostSource, client_for: ClientFor
) -> None:
    with account_scope(cast.other_account):
        foreign_source = add_source(cast.other_account, volume("10"), name="Theirs")

    answer = client_for(cast.member).post(PAGE, post_file(foreign_source, as_csv([row()])))

    assert answer.status_code == 422
    assert "Theirs" not in answer.content.decode()
    assert not ImportedSaving.objects.unscoped().exists()


def test_without_a_source_the_page_leads_to_uploading_a_bill(
    cast: Cast, acme: Account, client_for: ClientFor
) -> None:
    assert "/connections/upload/" in client_for(cast.member).get(PAGE).content.decode()
