"""The editor of a cost tag: preview, review, save, and what is refused."""

from __future__ import annotations

import html
import json
import re
from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.allocation.services.cost_tags import draft_of, save_cost_tag
from finops.costs.models import ClosedMonth
from tests.cast import Cast, signed_in
from tests.finops.allocation.cost_tag_pages import PAGE, PROD, RULES, form, hidden_value, review_then_save
from tests.pages import text_of


def test_the_preview_shows_what_each_rule_catches_and_what_stays(cast: Cast, costly: Account) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}preview/", form(RULES))

    page = text_of(answer)
    assert re.search(r"70% of USD matches a rule \(untagged\): \$48\.00 of \$160\.00", page)
    assert re.search(r"100% of EUR matches a rule \(untagged\): €0\.00 of €4\.00", page)
    assert answer.content.decode().count("data-result") == 2
    assert "tag:env is prod or live → production" in page


def test_the_preview_of_unfinished_rules_says_what_they_wait_for(cast: Cast, costly: Account) -> None:
    unfinished = [{"when": {"dimension": "service", "op": "in", "values": []}, "value": "x"}]

    answer = signed_in(cast.member).post(f"{PAGE}preview/", form(unfinished))

    assert answer.status_code == 200
    page = text_of(answer)
    assert "Complete the rules to see a preview. Rule 1 still needs a value to match." in page


@pytest.mark.parametrize("rules", ["nonsense", "[" * 100_000, '[{"value":"x","when":' + '{"not":' * 50_000])
def test_rules_that_are_no_json_or_nested_too_deeply_are_refused(
    cast: Cast, costly: Account, rules: str
) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}preview/", {**form([]), "rules": rules})

    assert "The rules are unreadable. Reload the page and try again." in text_of(answer)


def test_a_preview_stores_nothing(cast: Cast, environment_tag: CostTag) -> None:
    signed_in(cast.member).post(f"{PAGE}preview/", form(RULES))

    assert [rule["value"] for rule in CostTag.objects.get().rules if "value" in rule] == ["production"]
    assert CostTag.objects.get().version == 1


def test_nothing_is_saved_before_the_effect_was_shown(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)

    answer = client.post(f"{PAGE}new/", form(RULES, save="1"), headers={"HX-Request": "true"})

    assert "Impact of saving" in text_of(answer)
    assert not CostTag.objects.exists()


def test_a_change_after_the_review_is_reviewed_again(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)
    response = client.post(f"{PAGE}new/", form(RULES), headers={"HX-Request": "true"})
    digest = hidden_value(response.content.decode(), "reviewed")

    client.post(f"{PAGE}new/", form(RULES[:1], reviewed=digest, save="1"), headers={"HX-Request": "true"})

    assert not CostTag.objects.exists()


def test_a_reviewed_cost_tag_is_saved_and_its_page_opens(cast: Cast, costly: Account) -> None:
    answer = review_then_save(signed_in(cast.member), f"{PAGE}new/", form(RULES, description="Where it runs"))

    saved = CostTag.objects.get()
    assert answer.headers["HX-Redirect"] == f"{PAGE}{saved.pk}/"
    assert (saved.key, saved.description, saved.version) == ("environment", "Where it runs", 1)
    assert saved.rules == RULES


def test_the_review_shows_by_month_what_moves_and_marks_closed_months(
    cast: Cast, environment_tag: CostTag
) -> None:
    moved = [{"when": {"dimension": "service", "op": "in", "values": ["Tax"]}, "value": "tax"}, *RULES]
    with account_scope(cast.account):
        ClosedMonth.objects.create(account=cast.account, month=date(2026, 2, 1))

    answer = signed_in(cast.member).post(
        f"{PAGE}{environment_tag.pk}/edit/", form(moved, version=1), headers={"HX-Request": "true"}
    )

    page = text_of(answer)
    assert re.search(r"\(untagged\) \$60\.00 \$0\.00 .\$60\.00", page)
    assert re.search(r"tax \$0\.00 \$60\.00 \+\$60\.00", page)
    assert re.search(r"Feb \$\S+ \$\S+ [\d,]+ Closed", page)
    assert re.search(r"Mar \$\S+ \$\S+ [\d,]+ Open", page)
    assert "closed month" in page


def test_an_error_is_at_its_rule_and_field(cast: Cast, costly: Account) -> None:
    wrong = [RULES[0], {"when": {"all": [PROD, {"dimension": "servise", "values": ["x"]}]}, "value": "x"}]

    answer = signed_in(cast.member).post(f"{PAGE}new/", form(wrong), headers={"HX-Request": "true"})

    path = re.search(r'data-problem="([^"]*)"', answer.content.decode())
    assert path
    assert json.loads(html.unescape(path[1]))[:2] == ["rules", 1]
    assert "Rule 2" in text_of(answer, status=422)
    assert "Nearest: service" in text_of(answer, status=422)


def test_a_missing_key_and_a_taken_one_are_said_at_the_key(cast: Cast, environment_tag: CostTag) -> None:
    client = signed_in(cast.member)

    missing = client.post(f"{PAGE}new/", form(RULES, key=""), headers={"HX-Request": "true"})
    conflict = review_then_save(client, f"{PAGE}new/", form(RULES, key="Environment"))

    for answer, words in (
        (missing, "Enter a key, such as team or environment."),
        (conflict, "A cost tag with this key already exists."),
    ):
        assert 'data-problem="[&quot;key&quot;]"' in answer.content.decode()
        assert words in text_of(answer, status=422)


def test_a_lost_update_names_who_changed_it_and_can_be_reviewed_on_top(
    cast: Cast, environment_tag: CostTag
) -> None:
    draft = draft_of(environment_tag)
    save_cost_tag(
        cost_tag=environment_tag,
        actor=cast.other_actor,
        version=1,
        rules=draft.rules[:1],
        default_value="",
        description="",
    )
    client, url = signed_in(cast.member), f"{PAGE}{environment_tag.pk}/edit/"

    refusal = client.post(url, form(RULES, version=1), headers={"HX-Request": "true"})
    assert "stranger@example.com changed it" in text_of(refusal)
    assert "). Your edits are not saved yet." in text_of(refusal)
    assert CostTag.objects.get().version == 2

    again = client.post(url, form(RULES, version=1, rebase="2"), headers={"HX-Request": "true"})
    assert 'id="id_version"' in again.content.decode()
    answer = review_then_save(client, url, form(RULES, version=2))
    assert answer.headers["HX-Redirect"] == f"{PAGE}{environment_tag.pk}/"
    assert CostTag.objects.get().rules == RULES


def test_a_change_between_review_and_save_is_not_overwritten(cast: Cast, environment_tag: CostTag) -> None:
    client, url = signed_in(cast.member), f"{PAGE}{environment_tag.pk}/edit/"
    response = client.post(url, form(RULES, version=1), headers={"HX-Request": "true"})
    digest = hidden_value(response.content.decode(), "reviewed")
    save_cost_tag(
        cost_tag=environment_tag,
        actor=cast.other_actor,
        version=1,
        rules=(),
        default_value="x",
        description="",
    )

    answer = client.post(
        url, form(RULES, version=1, reviewed=digest, save="1"), headers={"HX-Request": "true"}
    )

    assert "stranger@example.com changed it" in text_of(answer)
    assert CostTag.objects.get().default_value == "x"


def test_the_key_of_a_saved_cost_tag_stays(cast: Cast, environment_tag: CostTag) -> None:
    review_then_save(
        signed_in(cast.member), f"{PAGE}{environment_tag.pk}/edit/", form(RULES, key="other", version=1)
    )

    assert CostTag.objects.get().key == "environment"
    assert CostTag.objects.get().version == 2


def test_the_editor_needs_as_few_queries_for_fifty_rules_as_for_one(
    cast: Cast, environment_tag: CostTag
) -> None:
    many = [{"when": {**PROD, "values": [f"v{number}"]}, "value": f"{number}"} for number in range(50)]
    client = signed_in(cast.member)

    def count(rules: list[Any]) -> dict[str, int]:
        CostTag.objects.update(rules=rules)
        edit = f"{PAGE}{environment_tag.pk}/edit/"
        query_counts: dict[str, int] = {}
        for url, fields in (
            (PAGE, None),
            (f"{PAGE}{environment_tag.pk}/", None),
            (edit, None),
            (f"{PAGE}preview/", form(rules)),
            (f"{edit}?", form(rules[1:], version=1)),
        ):
            for _twice in range(2):
                with CaptureQueriesContext(connection) as queries:
                    answer = client.get(url) if fields is None else client.post(url, fields)
                assert answer.status_code == 200
                query_counts[url] = len(queries)
        return query_counts

    few = count(RULES)
    assert count(many) == few
    assert max(few.values()) <= 22, few
