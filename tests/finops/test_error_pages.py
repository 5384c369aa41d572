"""What a person reads when a page cannot be shown: in the look of the product, with a way on."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from tests.cast import Cast, signed_in


def test_a_failure_on_our_side_looks_like_the_product() -> None:
    answer = server_error(RequestFactory().get("/"))

    page = answer.content.decode()
    assert answer.status_code == 500
    assert "css/console" in page
    assert '<a class="btn btn-primary" href="/">Go to home page</a>' in page


@pytest.mark.django_db
def test_what_is_not_there_and_what_is_not_allowed_lead_home(cast: Cast) -> None:
    missing = Client().get("/nowhere/")
    refused = signed_in(cast.viewer).get("/a/acme/budgets/new/")

    for answer, status in ((missing, 404), (refused, 403)):
        page = answer.content.decode()
        assert answer.status_code == status
        assert '<a href="/" class="brand fs-2">' in page
        assert "Go to home page" in page


@pytest.mark.django_db
def test_each_page_of_ones_sign_in_has_a_title_of_its_own(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    pages = [client.get(f"/auth/{path}/").content.decode() for path in ("email", "password/change", "2fa")]

    titles = {page.partition("<title>")[2].partition("</title>")[0].strip() for page in pages}
    assert len(titles) == len(pages)
