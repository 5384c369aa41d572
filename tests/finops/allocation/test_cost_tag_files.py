"""Rules of a cost tag as a file: export, import, its format."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Account
from finops.allocation.cost_tags.text import OPS
from finops.allocation.models import CostTag
from finops.allocation.rules import NORMALISATIONS
from finops.allocation.services.cost_tags import cost_tag_from_yaml
from tests.cast import Cast, signed_in
from tests.finops.allocation.cost_tag_pages import PAGE, form, hidden_value
from tests.pages import text_of


def test_an_exported_file_is_imported_unchanged(cast: Cast, environment_tag: CostTag) -> None:
    client = signed_in(cast.member)
    answer = client.get(f"{PAGE}{environment_tag.pk}/yaml/")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="cost-tag-environment.yaml"'

    page = client.post(f"{PAGE}import/", {"file": SimpleUploadedFile("x.yaml", answer.content)})

    assert "No impact: all past lines keep their value." in text_of(page)
    assert json.loads(hidden_value(page.content.decode(), "rules")) == environment_tag.rules
    assert f'action="{PAGE}{environment_tag.pk}/edit/"' in page.content.decode()
    assert CostTag.objects.get().version == 1


def test_a_pasted_file_of_a_new_key_opens_the_editor_with_its_effect(cast: Cast, costly: Account) -> None:
    text = "key: env\nrules:\n- when: {dimension: 'tag:env', values: [prod]}\n  value: production\n"
    client = signed_in(cast.member)

    page = client.post(f"{PAGE}import/", {"text": text}).content.decode()

    assert f'action="{PAGE}new/"' in page
    assert "Impact of saving" in page
    fields = form(json.loads(hidden_value(page, "rules")), key="env")
    client.post(f"{PAGE}new/", {**fields, "reviewed": hidden_value(page, "reviewed"), "save": "1"})
    assert CostTag.objects.get().rules == [
        {"when": {"dimension": "tag:env", "op": "in", "values": ["prod"]}, "value": "production"}
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Choose a file, or paste the rules"),
        ("key: [", "line"),
        (
            "key: x\nrules:\n- value: y\n",
            ("a rule with a value needs a condition. Use the default value for all other lines."),
        ),
        ("key: x\nrulez: []\n", "rulez"),
    ],
    ids=["empty", "no YAML", "no condition", "unknown field"],
)
def test_a_file_that_cannot_be_read_says_where(cast: Cast, costly: Account, text: str, words: str) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}import/", {"text": text})

    assert words in text_of(answer, status=422)


def test_the_example_of_the_format_is_read_as_it_stands(cast: Cast, costly: Account) -> None:
    client = signed_in(cast.member)
    example = re.search(
        r'id="yaml-example"[^>]*>(.*?)</pre>', client.get(f"{PAGE}import/").content.decode(), re.S
    )
    assert example

    page = client.post(f"{PAGE}import/", {"text": html.unescape(example[1])})

    assert page.status_code == 200
    assert len(json.loads(hidden_value(page.content.decode(), "rules"))) == 2


def test_the_documented_file_is_read_and_every_operator_is_documented(cast: Cast, costly: Account) -> None:
    text = Path("docs/cost-tags.md").read_text()
    example = re.search(r"```yaml\n(.*?)```", text, re.S)
    assert example

    draft = cost_tag_from_yaml(example[1])

    assert [rule.name for rule in draft.rules] == ["Production", "As tagged"]
    assert [name for name in (*OPS, *NORMALISATIONS) if f"`{name}`" not in text] == []
