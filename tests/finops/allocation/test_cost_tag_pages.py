"""Cost tag pages as people see them: list, editor, review, import, export, deletion."""

from __future__ import annotations

import csv
import html
import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.allocation.cost_tags.words import OPS
from finops.allocation.models import CostTag
from finops.allocation.rules import NORMALISATIONS, Copy, Rule, Test
from finops.allocation.services.cost_tags import cost_tag_from_yaml, create_cost_tag, draft_of, save_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.costs.models import ClosedMonth
from tests.cast import Cast, signed_in
from tests.finops.costs.rows import add_source, cost

PAGE = "/a/acme/cost-tags/"
DAY = date(2026, 3, 10)
PROD = {"dimension": "tag:env", "op": "in", "values": ["prod", "live"]}
RULES = [{"when": PROD, "value": "production"}, {"copy": {"keys": ["env", "Env"], "normalise": ["lower"]}}]


@pytest.fixture
def costly(acme: Account) -> Account:
    """On ten days of February and March 10 USD and 0.50 EUR of production, 4 USD of `Dev`, 6 USD without a tag."""
    lines = [
        line
        for back in range(0, 40, 4)
        for line in (
            cost(DAY - timedelta(days=back), "10", service="EC2", tags={"env": "prod"}),
            cost(DAY - timedelta(days=back), "0.5", service="EC2", tags={"env": "PROD"}, currency="EUR"),
            cost(DAY - timedelta(days=back), "4", service="S3", tags={"Env": "Dev"}),
            cost(DAY - timedelta(days=back), "6", service="Tax"),
        )
    ]
    add_source(acme, lines)
    return acme


@pytest.fixture
def tagged(cast: Cast, costly: Account) -> CostTag:
    return create_cost_tag(
        account=costly,
        actor=cast.actor,
        key="environment",
        description="Where it runs",
        rules=[
            Rule(when=Test(dimension="tag:env", values=("prod",)), value="production"),
            Rule(copy=Copy(keys=("env", "Env"))),
        ],
    )


def text_of(answer: Any) -> str:
    assert answer.status_code in (200, 422), answer.content
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def form(rules: list[Any], **fields: Any) -> dict[str, Any]:
    return {"key": "environment", "rules": json.dumps(rules), **fields}


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}"\s+value="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


def review_then_save(client: Client, url: str, said: dict[str, Any]) -> Any:
    """As the page does: ask for the review, then save what it showed."""
    shown = client.post(url, said, headers={"HX-Request": "true"})
    digest = hidden(shown.content.decode(), "reviewed")
    return client.post(url, {**said, "reviewed": digest, "save": "1"}, headers={"HX-Request": "true"})


def test_without_cost_tags_the_page_offers_to_start_from_a_tag_that_covers_much(
    cast: Cast, costly: Account
) -> None:
    page = signed_in(cast.member).get(PAGE)

    assert "Start from a tag that covers much cost" in text_of(page)
    assert re.search(r"Env, env 70\.0 % of USD, 100\.0 % of EUR", text_of(page))
    started = signed_in(cast.member).get(f"{PAGE}new/?copy=Env&copy=env").content.decode()
    assert json.loads(hidden(started, "rules")) == [
        {"copy": {"keys": ["Env", "env"], "normalise": ["trim", "lower"]}}
    ]


def test_a_viewer_sees_an_empty_list_without_buttons(cast: Cast, costly: Account) -> None:
    page = signed_in(cast.viewer).get(PAGE).content.decode()

    assert "No cost tag yet" in page
    assert "New cost tag" not in page
    assert "Start from a tag" not in page


def test_the_list_says_what_share_of_the_cost_some_rule_catches(cast: Cast, tagged: CostTag) -> None:
    page = text_of(signed_in(cast.viewer).get(PAGE))

    assert "environment Where it runs 2 70.0 % of USD 100.0 % of EUR" in page
    assert "member@example.com" in page


def test_the_list_comes_as_csv(cast: Cast, tagged: CostTag) -> None:
    answer = signed_in(cast.viewer).get(f"{PAGE}?format=csv")

    [row] = csv.DictReader(b"".join(answer.streaming_content).decode().splitlines())  # type: ignore[attr-defined]
    assert row["Key"] == "environment"
    assert row["Rules"] == "2"
    assert row["Coverage"] == "0.7"
    assert row["By currency"] == "70.0 % of USD, 100.0 % of EUR"


def test_the_preview_shows_what_each_rule_catches_and_what_stays(cast: Cast, costly: Account) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}preview/", form(RULES))

    page = text_of(answer)
    assert re.search(r"70 % of USD is caught 48\.00 USD of 160\.00 USD stays \(untagged\)", page)
    assert re.search(r"100 % of EUR is caught 0\.00 EUR of 4\.00 EUR stays", page)
    assert answer.content.decode().count("data-result") == 2
    assert "tag:env is prod or live → production" in page


def test_the_preview_of_unfinished_rules_says_what_they_wait_for(cast: Cast, costly: Account) -> None:
    unfinished = [{"when": {"dimension": "service", "op": "in", "values": []}, "value": "x"}]

    answer = signed_in(cast.member).post(f"{PAGE}preview/", form(unfinished))

    assert answer.status_code == 200
    page = text_of(answer)
    assert "The figures wait until the rules are complete. Rule 1 still needs a value to look for." in page


@pytest.mark.parametrize("rules", ["nonsense", "[" * 100_000, '[{"value":"x","when":' + '{"not":' * 50_000])
def test_rules_that_are_no_json_or_nested_too_deeply_are_refused(
    cast: Cast, costly: Account, rules: str
) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}preview/", {**form([]), "rules": rules})

    assert "The rules could not be read." in text_of(answer)


def test_a_preview_stores_nothing(cast: Cast, tagged: CostTag) -> None:
    signed_in(cast.member).post(f"{PAGE}preview/", form(RULES))

    assert [rule["value"] for rule in CostTag.objects.get().rules if "value" in rule] == ["production"]
    assert CostTag.objects.get().version == 1


def test_nothing_is_saved_before_the_effect_was_shown(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)

    answer = client.post(f"{PAGE}new/", form(RULES, save="1"), headers={"HX-Request": "true"})

    assert "What saving moves" in text_of(answer)
    assert not CostTag.objects.exists()


def test_what_was_changed_after_the_review_is_reviewed_again(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)
    shown = client.post(f"{PAGE}new/", form(RULES), headers={"HX-Request": "true"})
    digest = hidden(shown.content.decode(), "reviewed")

    client.post(f"{PAGE}new/", form(RULES[:1], reviewed=digest, save="1"), headers={"HX-Request": "true"})

    assert not CostTag.objects.exists()


def test_a_reviewed_cost_tag_is_saved_and_its_page_opens(cast: Cast, costly: Account) -> None:
    answer = review_then_save(signed_in(cast.member), f"{PAGE}new/", form(RULES, description="Where it runs"))

    saved = CostTag.objects.get()
    assert answer.headers["HX-Redirect"] == f"{PAGE}{saved.pk}/"
    assert (saved.key, saved.description, saved.version) == ("environment", "Where it runs", 1)
    assert saved.rules == RULES


def test_the_review_shows_by_month_what_moves_and_marks_closed_months(cast: Cast, tagged: CostTag) -> None:
    moved = [{"when": {"dimension": "service", "op": "in", "values": ["Tax"]}, "value": "tax"}, *RULES]
    with account_scope(cast.account):
        ClosedMonth.objects.create(account=cast.account, month=date(2026, 2, 1))

    answer = signed_in(cast.member).post(
        f"{PAGE}{tagged.pk}/edit/", form(moved, version=1), headers={"HX-Request": "true"}
    )

    page = text_of(answer)
    assert re.search(r"\(untagged\) 60\.00 USD 0\.00 USD .60\.00 USD", page)
    assert re.search(r"tax 0\.00 USD 60\.00 USD \+60\.00 USD", page)
    assert re.search(r"2026-02 \S+ USD \S+ USD [\d,]+ Closed", page)
    assert re.search(r"2026-03 \S+ USD \S+ USD [\d,]+ Open", page)
    assert "closed month" in page


def test_an_error_is_at_its_rule_and_field(cast: Cast, costly: Account) -> None:
    wrong = [RULES[0], {"when": {"all": [PROD, {"dimension": "servise", "values": ["x"]}]}, "value": "x"}]

    answer = signed_in(cast.member).post(f"{PAGE}new/", form(wrong), headers={"HX-Request": "true"})

    assert answer.status_code == 422
    path = re.search(r'data-problem="([^"]*)"', answer.content.decode())
    assert path
    assert json.loads(html.unescape(path[1]))[:2] == ["rules", 1]
    assert "Rule 2" in text_of(answer)
    assert "Nearest: service" in text_of(answer)


def test_a_missing_key_and_a_taken_one_are_said_at_the_key(cast: Cast, tagged: CostTag) -> None:
    client = signed_in(cast.member)

    missing = client.post(f"{PAGE}new/", form(RULES, key=""), headers={"HX-Request": "true"})
    taken = review_then_save(client, f"{PAGE}new/", form(RULES, key="Environment"))

    for answer, words in ((missing, "Give the cost tag a key"), (taken, "exists already")):
        assert answer.status_code == 422
        assert 'data-problem="[&quot;key&quot;]"' in answer.content.decode()
        assert words in text_of(answer)


def test_a_lost_update_names_who_changed_it_and_can_be_reviewed_on_top(cast: Cast, tagged: CostTag) -> None:
    draft = draft_of(tagged)
    save_cost_tag(
        cost_tag=tagged,
        actor=cast.other_actor,
        version=1,
        rules=draft.rules[:1],
        default_value="",
        description="",
    )
    client, url = signed_in(cast.member), f"{PAGE}{tagged.pk}/edit/"

    refused = client.post(url, form(RULES, version=1), headers={"HX-Request": "true"})
    assert "stranger@example.com changed it" in text_of(refused)
    assert "What you wrote is still here" in text_of(refused)
    assert CostTag.objects.get().version == 2

    again = client.post(url, form(RULES, version=1, rebase="2"), headers={"HX-Request": "true"})
    assert 'id="id_version"' in again.content.decode()
    answer = review_then_save(client, url, form(RULES, version=2))
    assert answer.headers["HX-Redirect"] == f"{PAGE}{tagged.pk}/"
    assert CostTag.objects.get().rules == RULES


def test_a_change_between_review_and_save_is_not_overwritten(cast: Cast, tagged: CostTag) -> None:
    client, url = signed_in(cast.member), f"{PAGE}{tagged.pk}/edit/"
    shown = client.post(url, form(RULES, version=1), headers={"HX-Request": "true"})
    digest = hidden(shown.content.decode(), "reviewed")
    save_cost_tag(
        cost_tag=tagged, actor=cast.other_actor, version=1, rules=(), default_value="x", description=""
    )

    answer = client.post(
        url, form(RULES, version=1, reviewed=digest, save="1"), headers={"HX-Request": "true"}
    )

    assert "stranger@example.com changed it" in text_of(answer)
    assert CostTag.objects.get().default_value == "x"


def test_the_key_of_a_saved_cost_tag_stays(cast: Cast, tagged: CostTag) -> None:
    review_then_save(signed_in(cast.member), f"{PAGE}{tagged.pk}/edit/", form(RULES, key="other", version=1))

    assert CostTag.objects.get().key == "environment"
    assert CostTag.objects.get().version == 2


def test_an_exported_file_is_imported_unchanged(cast: Cast, tagged: CostTag) -> None:
    client = signed_in(cast.member)
    answer = client.get(f"{PAGE}{tagged.pk}/yaml/")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="cost-tag-environment.yaml"'

    page = client.post(f"{PAGE}import/", {"file": SimpleUploadedFile("x.yaml", answer.content)})

    assert "Nothing: every line of the past keeps the value that it has." in text_of(page)
    assert json.loads(hidden(page.content.decode(), "rules")) == tagged.rules
    assert f'action="{PAGE}{tagged.pk}/edit/"' in page.content.decode()
    assert CostTag.objects.get().version == 1


def test_a_pasted_file_of_a_new_key_opens_the_editor_with_its_effect(cast: Cast, costly: Account) -> None:
    text = "key: env\nrules:\n- when: {dimension: 'tag:env', values: [prod]}\n  value: production\n"
    client = signed_in(cast.member)

    page = client.post(f"{PAGE}import/", {"text": text}).content.decode()

    assert f'action="{PAGE}new/"' in page
    assert "What saving moves" in page
    said = form(json.loads(hidden(page, "rules")), key="env")
    client.post(f"{PAGE}new/", {**said, "reviewed": hidden(page, "reviewed"), "save": "1"})
    assert CostTag.objects.get().rules == [
        {"when": {"dimension": "tag:env", "op": "in", "values": ["prod"]}, "value": "production"}
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Choose a file, or paste the rules"),
        ("key: [", "line"),
        ("key: x\nrules:\n- value: y\n", "a rule that sets a value needs a condition"),
        ("key: x\nrulez: []\n", "rulez"),
    ],
    ids=["empty", "no YAML", "no condition", "unknown field"],
)
def test_a_file_that_cannot_be_read_says_where(cast: Cast, costly: Account, text: str, words: str) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}import/", {"text": text})

    assert answer.status_code == 422
    assert words in text_of(answer)


def test_the_example_of_the_format_is_read_as_it_stands(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)
    example = re.search(
        r'id="yaml-example"[^>]*>(.*?)</pre>', client.get(f"{PAGE}import/").content.decode(), re.S
    )
    assert example

    page = client.post(f"{PAGE}import/", {"text": html.unescape(example[1])})

    assert page.status_code == 200
    assert len(json.loads(hidden(page.content.decode(), "rules"))) == 2


def test_the_documented_file_is_read_and_every_operator_is_documented(cast: Cast, costly: Account) -> None:
    text = Path("docs/cost-tags.md").read_text()
    example = re.search(r"```yaml\n(.*?)```", text, re.S)
    assert example

    draft = cost_tag_from_yaml(example[1])

    assert [rule.name for rule in draft.rules] == ["Production", "As tagged"]
    assert [name for name in (*OPS, *NORMALISATIONS) if f"`{name}`" not in text] == []


def test_a_deleted_cost_tag_is_gone_and_the_audit_log_keeps_its_rules(cast: Cast, tagged: CostTag) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}{tagged.pk}/delete/", follow=True)

    assert "Cost tag environment is deleted" in text_of(answer)
    assert not CostTag.objects.exists()
    assert AuditEntry.objects.get(action="cost_tag.delete").detail["rules"] == tagged.rules


def test_a_used_cost_tag_stays_and_says_by_what(cast: Cast, tagged: CostTag) -> None:
    builds_on = Rule(when=Test(dimension="cost_tag:environment", values=("production",)), value="x")
    create_cost_tag(account=tagged.account, actor=cast.actor, key="tier", rules=[builds_on])

    answer = signed_in(cast.member).post(f"{PAGE}{tagged.pk}/delete/", follow=True)

    assert "is used by" in text_of(answer)
    assert "tier" in text_of(answer)
    assert CostTag.objects.filter(key="environment").exists()


def test_the_page_of_a_cost_tag_shows_its_cost_over_time_and_its_rules(cast: Cast, tagged: CostTag) -> None:
    page = signed_in(cast.viewer).get(f"{PAGE}{tagged.pk}/?period=month_to_date&granularity=day")

    said = text_of(page)
    assert re.search(r"prod|production", said)
    assert "tag:env is prod → production" in said
    assert "copy of tag env, else Env" in said
    assert "All other lines: (untagged)." in said
    assert page.content.decode().count("data-chart=") == 2
    assert "Edit rules" not in said
    assert "Delete" not in said


def test_the_page_of_a_cost_tag_is_by_another_dimension_too(cast: Cast, tagged: CostTag) -> None:
    page = signed_in(cast.viewer).get(f"{PAGE}{tagged.pk}/?period=last_30_days&group_by=service")

    assert "production EC2 60.00 USD" in text_of(page)


def test_a_row_and_the_csv_of_a_cost_tag_are_the_cost_explorers(cast: Cast, tagged: CostTag) -> None:
    client = signed_in(cast.viewer)
    page = html.unescape(client.get(f"{PAGE}{tagged.pk}/").content.decode())
    assert 'href="/a/acme/cost-explorer/?period=last_30_days&granularity=day&group_by=cost_tag' in page

    answer = client.get(f"{PAGE}{tagged.pk}/?period=last_30_days&format=csv", follow=True)

    rows = csv.DictReader(b"".join(answer.streaming_content).decode().splitlines())  # type: ignore[attr-defined]
    assert {(row["cost_tag:environment"], row["currency"]) for row in rows} >= {
        ("production", "USD"),
        ("production", "EUR"),
        ("(untagged)", "USD"),
    }


def test_after_splits_each_value_stands_before_and_after_side_by_side(cast: Cast, tagged: CostTag) -> None:
    shared = SplitDraft(
        name="Development",
        dimension="cost_tag:environment",
        source_value="Dev",
        method="even",
        targets=[("production", "")],
    )
    create_split(account=tagged.account, actor=cast.actor, draft=shared)

    page = signed_in(cast.viewer).get(f"{PAGE}{tagged.pk}/?period=last_30_days&splits=after")

    said = text_of(page)
    assert "Before and after shared costs" in said
    assert "production 60.00 USD 84.00 USD +24.00 USD" in said
    assert re.search(r"Dev 24\.00 USD 0\.00 USD .24\.00 USD", said)


def test_a_wrong_question_says_what_to_mend(cast: Cast, tagged: CostTag) -> None:
    answer = signed_in(cast.viewer).get(f"{PAGE}{tagged.pk}/?period=last_30_days&group_by=servise")

    assert answer.status_code == 400
    assert "Nearest: service" in html.unescape(answer.content.decode())


@pytest.mark.parametrize("path", ["new/", "import/", "preview/"])
def test_a_viewer_may_not_write(cast: Cast, tagged: CostTag, path: str) -> None:
    assert signed_in(cast.viewer).post(f"{PAGE}{path}", form(RULES)).status_code == 403


def test_the_editor_asks_as_little_for_fifty_rules_as_for_one(cast: Cast, tagged: CostTag) -> None:
    many = [{"when": {**PROD, "values": [f"v{number}"]}, "value": f"{number}"} for number in range(50)]
    client = signed_in(cast.member)

    def count(rules: list[Any]) -> dict[str, int]:
        CostTag.objects.update(rules=rules)
        edit = f"{PAGE}{tagged.pk}/edit/"
        asked: dict[str, int] = {}
        for url, said in (
            (PAGE, None),
            (f"{PAGE}{tagged.pk}/", None),
            (edit, None),
            (f"{PAGE}preview/", form(rules)),
            (f"{edit}?", form(rules[1:], version=1)),
        ):
            for _twice in range(2):
                with CaptureQueriesContext(connection) as queries:
                    answer = client.get(url) if said is None else client.post(url, said)
                assert answer.status_code == 200
                asked[url] = len(queries)
        return asked

    few = count(RULES)
    assert count(many) == few
    assert max(few.values()) <= 19, few
