"""Tag recommendations, as people see them, open them, and as assistants ask."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.allocation.rules import Copy, Rule
from finops.allocation.services.cost_tags import create_cost_tag
from finops.insights.tag_recommendations.queries import RecommendationDetail, find_recommendations
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source
from tests.finops.insights.tag_recommendations.test_recommendations import UNTIDY, tagged_line
from tests.mcpserver.mcp_client import McpClient, mint

PAGE = "/a/acme/cost-tags/recommendations/"
DRAFT = f"{PAGE}draft/"


@pytest.fixture
def account_with_untidy_tags(acme: Account) -> Account:
    add_source(acme, [*UNTIDY, tagged_line("1", {"<b>x": "1"})])
    return acme


def _first_of_kind(account: Account, kind: str) -> RecommendationDetail:
    with account_scope(account):
        return next(each for each in find_recommendations(account).details if each.row.kind == kind)


def _rules(page: str) -> object:
    (rules,) = re.findall(r'name="rules" value="([^"]*)"', page)
    return json.loads(html.unescape(rules))


def test_the_page_lists_what_each_would_cover(cast: Cast, account_with_untidy_tags: Account) -> None:
    page = signed_in(cast.viewer).get(PAGE).content.decode()

    assert "Tags &#x27;env&#x27;, &#x27;Env&#x27; and &#x27;user:env&#x27; mean the same" in page
    assert "89.1% of USD" in page  # 90 of 101
    assert "Open draft" not in page


def test_a_kind_is_listed_alone(cast: Cast, account_with_untidy_tags: Account) -> None:
    page = signed_in(cast.viewer).get(PAGE, {"kind": "same_values"}).content.decode()

    assert "&#x27;prod&#x27; and &#x27;Production&#x27;" in page
    assert "user:env&#x27; mean the same" not in page


def test_keys_are_listed_by_coverage_and_escaped(cast: Cast, account_with_untidy_tags: Account) -> None:
    page = signed_in(cast.viewer).get(PAGE, {"kind": "keys"}).content.decode()

    assert page.index("user:env") < page.index("&lt;b&gt;x")
    assert "<b>x" not in page


@pytest.mark.parametrize(("kind", "lines"), [("", 5), ("untagged_cost", 3), ("keys", 5)])
def test_the_csv_has_what_the_page_lists(
    cast: Cast, account_with_untidy_tags: Account, kind: str, lines: int
) -> None:
    answer = signed_in(cast.viewer).get(PAGE, {"kind": kind, "format": "csv"})

    assert len(b"".join(answer).decode().strip().splitlines()) == lines


def test_without_tags_the_page_says_where_they_come_from(cast: Cast, acme: Account) -> None:
    assert "No tags in the cost yet" in signed_in(cast.viewer).get(PAGE).content.decode()


def test_a_draft_opens_in_the_editor_and_nothing_is_saved(
    cast: Cast, account_with_untidy_tags: Account
) -> None:
    detail = _first_of_kind(account_with_untidy_tags, "same_keys")

    page = signed_in(cast.member).get(DRAFT, {"id": detail.row.id}).content.decode()

    assert _rules(page) == [{"copy": {"keys": ["env", "Env", "user:env"], "normalise": ["trim", "lower"]}}]
    assert "Draft, not saved yet." in page
    assert not CostTag.objects.exists()


def test_a_draft_for_a_cost_tag_is_saved_to_it_once_reviewed(
    cast: Cast, account_with_untidy_tags: Account
) -> None:
    cost_tag = create_cost_tag(
        account=account_with_untidy_tags,
        actor=cast.actor,
        key="environment",
        rules=[Rule(copy=Copy(keys=("env",)))],
    )
    detail = _first_of_kind(account_with_untidy_tags, "same_keys")
    client = signed_in(cast.member)
    page = client.get(DRAFT, {"id": detail.row.id}).content.decode()
    form = {"key": "environment", "rules": json.dumps(_rules(page)), "version": cost_tag.version}
    edit = f"/a/acme/cost-tags/{cost_tag.pk}/edit/"

    review = client.post(edit, form).content.decode()
    (digest,) = re.findall(r'name="reviewed"\s+value="(\w+)"', review)
    client.post(edit, {**form, "reviewed": digest, "save": "1"})

    assert edit in page
    cost_tag.refresh_from_db()
    assert [rule["copy"]["keys"] for rule in cost_tag.rules] == [["env"], ["Env", "user:env"]]
    assert "same_keys" not in {
        each.row.kind for each in find_recommendations(account_with_untidy_tags).details
    }


def test_a_viewer_cannot_open_a_draft(cast: Cast, account_with_untidy_tags: Account) -> None:
    detail = _first_of_kind(account_with_untidy_tags, "same_keys")

    assert signed_in(cast.viewer).get(DRAFT, {"id": detail.row.id}).status_code == 403


def test_another_account_sees_nothing_of_them(cast: Cast, account_with_untidy_tags: Account) -> None:
    detail = _first_of_kind(account_with_untidy_tags, "same_keys")
    stranger = signed_in(cast.stranger)

    assert stranger.get(PAGE).status_code == 404
    assert stranger.get(DRAFT, {"id": detail.row.id}).status_code == 404


def test_a_recommendation_that_is_gone_leads_to_the_present_ones(
    cast: Cast, account_with_untidy_tags: Account
) -> None:
    page = signed_in(cast.member).get(DRAFT, {"id": "same-keys-0"}).content.decode()

    assert "That recommendation no longer exists. These are the current ones." in page
    assert "Tags &#x27;env&#x27;, &#x27;Env&#x27; and &#x27;user:env&#x27; mean the same" in page


def test_the_tool_answers_as_the_page_does(cast: Cast, account_with_untidy_tags: Account) -> None:
    detail = _first_of_kind(account_with_untidy_tags, "same_values")

    answer = McpClient(mint(cast)).ask("listTagRecommendations", kinds="same_values")

    (row,) = answer["recommendations"]
    assert row["id"] == detail.row.id
    assert row["covers"] == [{"amount": 80, "currency": "USD", "share": 0.792079}]
    assert row["console_url"].endswith(f"cost-tags/recommendations/draft/?id={row['id']}")
    assert answer["keys"][0]["key"] == "env"


def test_a_page_with_many_tags_asks_as_many_questions_as_one_with_few(
    cast: Cast, account_with_untidy_tags: Account
) -> None:
    client = signed_in(cast.viewer)
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(PAGE)
    add_source(
        account_with_untidy_tags,
        [tagged_line("5", {f"key{n}": "a", f"Key-{n}": "A"}) for n in range(30)],
        name="Other",
    )
    client.get(PAGE)
    with CaptureQueriesContext(connection) as many:
        client.get(PAGE)

    assert len(many) <= len(few)
