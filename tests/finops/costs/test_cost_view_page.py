from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs.models import CostView
from finops.costs.queries import cost_view
from tests.cast import Cast, signed_in

URL = "/a/acme/settings/cost-view/"
FORM = {
    "basis": "amortized",
    "charge_categories": ["Usage", "Purchase"],
    "product_key": "app",
    "actor_tag_keys": "who\nowner",
}


def test_an_admin_changes_how_the_account_counts(cast: Cast) -> None:
    answer = signed_in(cast.admin).post(URL, FORM, follow=True)

    assert "Cost view saved" in answer.content.decode()
    with account_scope(cast.account):
        view = cost_view(cast.account)
        assert (view.basis, view.charge_categories, view.product_key) == (
            "amortized",
            ("Usage", "Purchase"),
            "app",
        )
        assert CostView.objects.get().actor_tag_keys == ["who", "owner"]
        assert AuditEntry.objects.latest("pk").action == "cost_view.change"


def test_the_form_shows_the_view_as_it_is(cast: Cast) -> None:
    signed_in(cast.admin).post(URL, FORM)

    page = signed_in(cast.viewer).get(URL).content.decode()

    assert re.search(r'value="amortized"[^>]*checked', page)
    assert not re.search(r'value="Tax"[^>]*checked', page)
    assert "Only admins and owners can change this." in page


def test_a_new_account_counts_what_is_billed_and_all_of_it(cast: Cast) -> None:
    page = signed_in(cast.viewer).get(URL).content.decode()

    assert re.search(r'value="billed"[^>]*checked', page)
    assert len(re.findall(r'name="charge_categories"[^>]*checked', page)) == 5


@pytest.mark.parametrize("name", ["viewer", "member"])
def test_only_an_admin_may_change_it(cast: Cast, name: str) -> None:
    assert signed_in(cast.person(name)).post(URL, FORM).status_code == 403

    with account_scope(cast.account):
        assert not CostView.objects.exists()


@pytest.mark.parametrize(
    "change", [{"basis": "guessed"}, {"charge_categories": []}, {"charge_categories": ["Gift"]}]
)
def test_a_view_that_cannot_be_is_refused(cast: Cast, change: dict[str, Any]) -> None:
    assert signed_in(cast.admin).post(URL, {**FORM, **change}).status_code == 422

    with account_scope(cast.account):
        assert cost_view(cast.account).basis == "billed"
