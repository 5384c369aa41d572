"""Rules as a document: valid and invalid documents, errors with rule and field, and unchanged YAML after a round
trip."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.allocation.rules import RuleError, read_draft, read_rules, write_draft, write_rules
from finops.allocation.rules.document import NORMALISATIONS
from finops.allocation.rules.yaml import YamlError, draft_from_yaml, draft_to_yaml, read_yaml, write_yaml
from finops.lib.sentences import HIDDEN_CHARACTERS
from tests.examples import examples

SERVICE = {"dimension": "service", "op": "in", "values": ["EC2"]}
OK = {"when": SERVICE, "value": "x"}


def deep(levels: int) -> dict[str, Any]:
    return SERVICE if levels == 1 else {"not": deep(levels - 1)}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"when": SERVICE}, "Rule 2: a rule needs either value or copy"),
        ({**OK, "copy": {"keys": ["env"]}}, "Rule 2: a rule needs either value or copy"),
        ({"value": "x"}, "Rule 2, when: a rule with a value needs a condition"),
        ({"name": "Prod", "when": {**SERVICE, "op": "eqals"}, "value": "x"}, "Rule 2 (“Prod”), when.op: op 'eqals' does not exist. Nearest: equals"),
        ({**OK, "when": {**SERVICE, "values": []}}, "Rule 2, when.values: op in needs at least one value"),
        ({**OK, "when": {**SERVICE, "op": "absent"}}, "Rule 2, when.values: op absent has no values"),
        ({**OK, "when": {**SERVICE, "values": ["a", 7]}}, "Rule 2, when.values[2]: is a number, not a text."),
        ({**OK, "when": {**SERVICE, "values": [str(n) for n in range(2_001)]}}, "Rule 2, when.values: 2,001 exceed the maximum of 2,000."),
        ({**OK, "when": {"all": []}}, "Rule 2, when.all: is empty"),
        ({**OK, "when": {"any": [SERVICE, {"not": {}}]}}, "Rule 2, when.any[2].not: a condition needs all, any, not"),
        ({**OK, "when": {**SERVICE, "all": [SERVICE]}}, "Rule 2, when: all cannot be combined with dimension, op, values. Nest"),
        ({**OK, "when": deep(9)}, "nested more than 8 deep"),
        ({**OK, "when": [SERVICE]}, "Rule 2, when: is a list, not an object"),
        ({**OK, "value": "v" * 256}, "has 256 characters; the maximum is 255"),
        ({**OK, "value": " "}, "Rule 2, value: is empty."),
        ({**OK, "value": "a\x00"}, "Rule 2, value: has an invalid character"),
        ({**OK, "valid_from": "2026-05-02", "valid_to": "2026-05-01"}, "Rule 2, valid_to: the last day, 2026-05-01, is before"),
        ({**OK, "valid_from": "May"}, "Rule 2, valid_from: 'May' is not a day such as 2026-05-31."),
        ({**OK, "vlaue": "x"}, "Rule 2: field 'vlaue' does not exist. Nearest: value"),
        ({**OK, "name": "FIRST"}, "Rule 2, name: rule 1 already has the name 'FIRST'."),
        ({"copy": {"keys": []}}, "Rule 2, copy.keys: enter at least one tag key"),
        ({"copy": {"keys": ["env"], "normalise": ["Trim"]}}, "Nearest: trim"),
        ({"copy": {"keys": ["env"], "map": {"a": "1", "A": "2"}}}, "'A' is given twice"),
        ({"copy": {"keys": ["env"], "map": {"a": ""}}}, "Rule 2, copy.map.a: is empty."),
        ("rule", "Rule 2: is a text, not an object"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_rule_that_cannot_be_is_refused_by_number_and_field(rule: Any, message: str) -> None:
    with pytest.raises(RuleError) as error:
        read_rules([{"name": "first", **OK}, rule])

    assert message in error.value.message
    assert error.value.rule == 2


def test_at_most_500_rules_are_taken() -> None:
    assert len(read_rules([OK] * 500)) == 500

    with pytest.raises(RuleError, match="501 rules; the maximum is 500"):
        read_rules([OK] * 501)


def test_all_values_together_are_bounded() -> None:
    many = {**SERVICE, "values": [str(number) for number in range(2_000)]}

    with pytest.raises(RuleError, match="22,000 values; the maximum is 20,000"):
        read_rules([{**OK, "when": many}] * 11)


def test_common_spellings_of_an_operator_are_accepted() -> None:
    (rule,) = read_rules(
        [{"value": "x", "when": {"dimension": "service", "op": "Not equals", "values": "S3"}}]
    )

    assert write_rules([rule]) == [
        {"when": {"dimension": "service", "op": "not_in", "values": ["S3"]}, "value": "x"}
    ]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
words = texts.filter(lambda text: bool(text.strip()))
names = words.map(str.strip)
tests_ = st.one_of(
    st.fixed_dictionaries(
        {
            "dimension": names,
            "op": st.sampled_from(["in", "not_in", "contains", "not_contains", "starts_with", "ends_with"]),
            "values": st.lists(words, min_size=1, max_size=3, unique=True),
        }
    ),
    st.fixed_dictionaries({"dimension": names, "op": st.just("absent")}),
)
conditions = st.recursive(
    tests_,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=4,
)
days = {
    "valid_from": st.just("2026-01-05"),
    "valid_to": st.dates().map(lambda day: max(day.isoformat(), "2026-01-05")),
}
copies = st.fixed_dictionaries(
    {
        "keys": st.lists(
            names.filter(lambda key: not key.startswith("tag:")), min_size=1, max_size=2, unique=True
        )
    },
    optional={
        "normalise": st.lists(st.sampled_from(list(NORMALISATIONS)), min_size=1, max_size=3, unique=True),
        "map": st.dictionaries(words, names, min_size=1, max_size=2).filter(
            lambda document: len({key.lower() for key in document}) == len(document)
        ),
    },
)
documents = st.fixed_dictionaries(
    {
        "key": names,
        "rules": st.lists(
            st.one_of(
                st.fixed_dictionaries({"when": conditions, "value": names}, optional=days),
                st.fixed_dictionaries({"copy": copies}, optional={"when": conditions, **days}),
            ),
            max_size=4,
        ),
    },
    optional={"description": names, "default_value": names},
)
QUICK = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(documents)
def test_every_document_comes_back_the_same_from_json_and_yaml(document: dict[str, Any]) -> None:
    draft = read_draft(document)

    assert write_draft(draft) == document
    assert read_draft(json.loads(json.dumps(write_draft(draft)))) == draft
    assert draft_from_yaml(draft_to_yaml(draft)) == draft


def problem_of(read: Callable[[Any], object], document: Any) -> str:
    """What is said of it; a dot when there is nothing to say."""
    try:
        read(document)
    except RuleError as error:
        return error.message
    return "."


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "rules",
                    "key",
                    "when",
                    "all",
                    "not",
                    "dimension",
                    "op",
                    "values",
                    "value",
                    "copy",
                    "keys",
                    "map",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@QUICK
@given(anything)
def test_any_json_is_read_or_refused_with_a_message(document: Any) -> None:
    for read in (read_rules, read_draft):
        assert problem_of(read, document).endswith(".")


@QUICK
@given(st.text(max_size=60) | documents.map(lambda document: draft_to_yaml(read_draft(document))[:-9]))
def test_any_text_is_read_as_yaml_or_refused_with_the_line(text: str) -> None:
    assert problem_of(draft_from_yaml, text).endswith(".")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key: x\nrules:\n  - value: x\n    when:\n      dimension: service\n      op: is like\n      values: [a]\n", "Line 6: Rule 1, when.op: op 'is_like'"),
        ("key: x\nrules:\n  - {value: x}\n", "Line 3: Rule 1, when: a rule with a value needs"),
        ("key: &a x\nrules: [*a]\n", "Line 1: The file has an anchor or alias"),
        ("key: !!python/object/apply:os.system [id]\n", "Line 1: The file has a tag"),
        ("[" * 100_000, "nested more than 50 deep"),
        ("key: x\nkey: y\n", "Line 2: The key 'key' is given twice."),
        ("rules: [\n", "The file is not YAML"),
        ("", "is nothing, not an object"),
        ("key: x\x00", "The file is not YAML"),
        ("#" * (2 * 2**20 + 1), "larger than 2 MB"),
    ],
    ids=["op", "condition", "alias", "tag", "deep", "twice", "unfinished", "empty", "nul", "large"],
)  # fmt: skip
def test_a_file_that_cannot_be_is_refused_by_line(text: str, message: str) -> None:
    with pytest.raises(YamlError) as error:
        draft_from_yaml(text)

    assert message in error.value.message


def test_words_that_yaml_takes_for_something_else_stay_texts() -> None:
    draft = draft_from_yaml(
        "key: no\ndefault_value: 0123\nrules:\n  - value: on\n    valid_from: 2026-05-01\n"
        "    when: {dimension: account, values: [123456789012, null, 1e3]}\n".replace("null, ", "")
    )

    assert (draft.key, draft.default_value, draft.rules[0].value) == ("no", "0123", "on")
    assert write_rules(draft.rules)[0]["when"]["values"] == ["123456789012", "1e3"]


hidden_texts = st.text(
    st.sampled_from("a: -#'\"\\\n\u200b\u202e\ufe0f\u2028\x85\ufeff\u2800\U000e0041\x1b é"), max_size=150
)


@given(hidden_texts, hidden_texts)
def test_hidden_characters_are_escaped_in_a_file_and_read_back(name: str, value: str) -> None:
    document = {f"k{name}": [value, {"x": value}]}

    text = write_yaml(document)

    assert read_yaml(text) == document
    assert not HIDDEN_CHARACTERS.search(text.replace("\n", ""))
