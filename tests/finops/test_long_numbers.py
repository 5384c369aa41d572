"""Ids in links and forms that are longer than any id: Python's int() raises for 5,000 digits, PostgreSQL for 20."""

from __future__ import annotations

import pytest

from tests.cast import Cast, signed_in

pytestmark = pytest.mark.django_db

ASKED = {
    "alerts/deliveries/": "channel",
    "shared-costs/preview/": "split",
    "unit-economics/": "saved",
    "assistant-activity/": "credential",
    "alerts/subscriptions/new/": "cost_tag",
}
SENT = {
    "budgets/new/": {"name": "b", "scope": "team", "team": "9"},
    "alerts/subscriptions/new/": {"trigger": "budget", "thresholds": "9"},
    "teams/assign/": {"team": "9"},
}


@pytest.mark.parametrize("digits", [20, 5_000])
@pytest.mark.parametrize("path", ASKED)
def test_a_link_with_a_number_of_any_length_opens_a_page(cast: Cast, path: str, digits: int) -> None:
    number = "9" * digits
    value = f"mcp_key:{number}" if ASKED[path] == "credential" else number
    assert signed_in(cast.owner).get(f"/a/acme/{path}", {ASKED[path]: value}).status_code == 200


@pytest.mark.parametrize("digits", [20, 5_000])
@pytest.mark.parametrize("path", SENT)
def test_a_form_with_a_number_of_any_length_is_answered(cast: Cast, path: str, digits: int) -> None:
    form = {name: value * digits if value == "9" else value for name, value in SENT[path].items()}
    assert signed_in(cast.owner).post(f"/a/acme/{path}", form).status_code in (200, 404, 422)
