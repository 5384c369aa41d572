"""Cost tag pages as people see them: the list, a cost tag's cost, deletion."""

from __future__ import annotations

import html
import json
import re

import pytest

from accounts.models import Account, AuditEntry
from finops.allocation.models import CostTag
from finops.allocation.rules import Rule, Test
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from tests.cast import Cast, signed_in
from tests.finops.allocation.cost_tag_pages import PAGE, RULES, form, hidden_value
from tests.pages import csv_rows, get_page, text_of


def test_without_cost_tags_the_page_offers_to_start_from_a_tag_that_covers_much(
    cast: Cast, costly: Account
) -> None:
    page = signed_in(cast.member).get(PAGE)

    assert "Start from a tag" in text_of(page)
    assert re.search(r"Env, env 70% of USD, 100% of EUR", text_of(page))
    started = signed_in(cast.member).get(f"{PAGE}new/?copy=Env&copy=env").content.decode()
    assert json.loads(hidden_value(started, "rules")) == [
        {"copy": {"keys": ["Env", "env"], "normalise": ["trim", "lower"]}}
    ]


def test_a_viewer_sees_an_empty_list_without_buttons(cast: Cast, costly: Account) -> None:
    page = signed_in(cast.viewer).get(PAGE).content.decode()

    assert "No cost tags yet" in page
    assert "New cost tag" not in page
    assert "Start from a tag" not in page


def test_the_list_says_what_share_of_the_cost_some_rule_catches(cast: Cast, environment_tag: CostTag) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "environment Where it runs 2 70% of USD 100% of EUR" in page
    assert "member@example.com" in page


def test_the_list_comes_as_csv(cast: Cast, environment_tag: CostTag) -> None:
    answer = signed_in(cast.viewer).get(f"{PAGE}?format=csv")

    [row] = csv_rows(answer)
    assert row["Key"] == "environment"
    assert row["Rules"] == "2"
    assert row["Coverage"] == "0.7"
    assert row["By currency"] == "0.7 of USD, 1 of EUR"


def test_a_deleted_cost_tag_is_gone_and_the_audit_log_keeps_its_rules(
    cast: Cast, environment_tag: CostTag
) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}{environment_tag.pk}/delete/", follow=True)

    assert "Cost tag environment deleted" in text_of(answer)
    assert not CostTag.objects.exists()
    assert AuditEntry.objects.get(action="cost_tag.delete").detail["rules"] == environment_tag.rules


def test_a_used_cost_tag_stays_and_says_by_what(cast: Cast, environment_tag: CostTag) -> None:
    builds_on = Rule(when=Test(dimension="cost_tag:environment", values=("production",)), value="x")
    create_cost_tag(account=environment_tag.account, actor=cast.actor, key="tier", rules=[builds_on])

    answer = signed_in(cast.member).post(f"{PAGE}{environment_tag.pk}/delete/", follow=True)

    assert "is used by" in text_of(answer)
    assert "tier" in text_of(answer)
    assert CostTag.objects.filter(key="environment").exists()


def test_the_page_of_a_cost_tag_shows_its_cost_over_time_and_its_rules(
    cast: Cast, environment_tag: CostTag
) -> None:
    page = signed_in(cast.viewer).get(f"{PAGE}{environment_tag.pk}/?period=month_to_date&granularity=day")

    text = text_of(page)
    assert re.search(r"prod|production", text)
    assert "tag:env is prod → production" in text
    assert "copy of tag env, else Env" in text
    assert "All other lines: (untagged)." in text
    assert page.content.decode().count("data-chart=") == 2
    assert "Edit rules" not in text
    assert "Delete" not in text


def test_the_page_of_a_cost_tag_is_by_another_dimension_too(cast: Cast, environment_tag: CostTag) -> None:
    page = signed_in(cast.viewer).get(f"{PAGE}{environment_tag.pk}/?period=last_30_days&group_by=service")

    assert "production EC2 $60.00" in text_of(page)


def test_a_row_and_the_csv_of_a_cost_tag_are_the_cost_explorers(cast: Cast, environment_tag: CostTag) -> None:
    client = signed_in(cast.viewer)
    page = html.unescape(client.get(f"{PAGE}{environment_tag.pk}/").content.decode())
    assert 'href="/a/acme/cost-explorer/?period=last_30_days&granularity=day&group_by=cost_tag' in page

    answer = client.get(f"{PAGE}{environment_tag.pk}/?period=last_30_days&format=csv", follow=True)

    rows = csv_rows(answer)
    assert {(row["cost_tag:environment"], row["currency"]) for row in rows} >= {
        ("production", "USD"),
        ("production", "EUR"),
        ("(untagged)", "USD"),
    }


def test_after_splits_each_value_is_shown_before_and_after_side_by_side(
    cast: Cast, environment_tag: CostTag
) -> None:
    shared = SplitDraft(
        name="Development",
        dimension="cost_tag:environment",
        source_value="Dev",
        method="even",
        targets=[("production", "")],
    )
    create_split(account=environment_tag.account, actor=cast.actor, draft=shared)

    page = signed_in(cast.viewer).get(f"{PAGE}{environment_tag.pk}/?period=last_30_days&splits=after")

    text = text_of(page)
    assert "Before and after shared costs" in text
    assert "production $60.00 $84.00 +$24.00" in text
    assert re.search(r"Dev \$24\.00 \$0\.00 .\$24\.00", text)


def test_a_wrong_question_says_what_to_mend(cast: Cast, environment_tag: CostTag) -> None:
    answer = signed_in(cast.viewer).get(f"{PAGE}{environment_tag.pk}/?period=last_30_days&group_by=servise")

    assert answer.status_code == 400
    assert "Nearest: service" in html.unescape(answer.content.decode())


@pytest.mark.parametrize("path", ["new/", "import/", "preview/"])
def test_a_viewer_may_not_write(cast: Cast, environment_tag: CostTag, path: str) -> None:
    assert signed_in(cast.viewer).post(f"{PAGE}{path}", form(RULES)).status_code == 403
