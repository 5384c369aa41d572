"""Arguments as language models write them: accepted forms, and errors for the others."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from finops.lib.errors import UserError
from mcpserver.coerce import decode_arguments
from tests.conformance.requirements import requirement
from tests.mcpserver.toys import EchoArguments, Filter, Grain, NameArguments


def decode(**arguments: Any) -> EchoArguments:
    return decode_arguments(EchoArguments, arguments, tool="echo")


def refusal(kind: type[msgspec.Struct] = EchoArguments, /, **arguments: Any) -> str:
    with pytest.raises(UserError) as error:
        decode_arguments(kind, arguments, tool="echo")
    return error.value.message


@requirement("tools:kindness")
@pytest.mark.parametrize(
    ("field", "given", "taken"),
    [
        ("top", "10", 10),
        ("top", " 10 ", 10),
        ("top", 10.0, 10),
        ("grain", "Month", Grain.MONTH),
        ("grain", " DAY ", Grain.DAY),
        ("grain", "daily", Grain.DAY),
        ("note", ["one"], "one"),
        ("basis", "Amortized", "amortized"),
        ("group_by", "service", ["service"]),
        ("group_by", '["service", "region"]', ["service", "region"]),
        ("group_by", ["[odd"], ["[odd"]),
        ("group_by", "[odd", ["[odd"]),
        ("group_by", [123456789012], ["123456789012"]),
        ("filters", {"dimension": "service", "values": "EC2"}, [Filter(dimension="service", values=["EC2"])]),
        ("filters", '{"dimension": "service"}', [Filter(dimension="service")]),
        ("filters", '[{"dimension": "service"}]', [Filter(dimension="service")]),
        ("filters", ['{"dimension": "service"}'], [Filter(dimension="service")]),
        ("filters", "[]", []),
        ("start_date", " 2026-11-01 ", datetime.date(2026, 11, 1)),
        ("amount", "10.50", Decimal("10.50")),
        ("amount", 10.1, Decimal("10.1")),
        ("ratio", "0.5", 0.5),
        ("ratio", 1, 1.0),
        ("shared", "TRUE", True),
        ("shared", "false", False),
        ("note", 7, "7"),
        ("labels", '{"a": "b"}', {"a": "b"}),
    ],
)
def test_an_unambiguous_value_is_accepted(field: str, given: Any, taken: Any) -> None:
    assert getattr(decode(**{field: given}), field) == taken


@requirement("tools:kindness")
@pytest.mark.parametrize("field", EchoArguments.__struct_fields__)
def test_null_leaves_an_optional_argument_out(field: str) -> None:
    assert decode(**{field: None}) == EchoArguments()


@requirement("tools:kindness")
@pytest.mark.parametrize("field", EchoArguments.__struct_fields__)
@pytest.mark.parametrize("given", ["", "  ", "null", " null "])
def test_an_empty_text_leaves_an_optional_argument_out(field: str, given: str) -> None:
    arguments = decode(**{field: given})

    assert arguments == EchoArguments() or (field == "note" and arguments.note == given == "  ")


@requirement("tools:kindness")
@pytest.mark.parametrize("given", [0, 0.0, -0.0, "0", " 0 "])
def test_zero_leaves_an_optional_count_from_one_out_and_is_a_value_elsewhere(given: Any) -> None:
    class Counts(msgspec.Struct, kw_only=True):
        per: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Units.")] = None
        after: Annotated[int, Meta(ge=0)] = 7
        least: Annotated[int, Meta(ge=1)]

    assert decode(top=given) == EchoArguments()
    assert decode(amount=given).amount == Decimal(0)
    assert decode(ratio=given).ratio == 0.0
    counts = decode_arguments(Counts, {"per": given, "after": given, "least": 1}, tool="count")
    assert (counts.per, counts.after) == (None, 0)
    assert refusal(Counts, least=given) == "least: 0 is not in range. It is at least 1."
    (of_filter,) = decode(filters=[{"dimension": "service", "values": ["0", 0]}]).filters
    assert of_filter.values == ["0", "0"]


@requirement("tools:kindness")
@pytest.mark.parametrize("given", ["", "null"])
def test_an_empty_text_is_a_value_inside_of_filters_and_objects(given: str) -> None:
    (of_list,) = decode(filters=[{"dimension": "service", "values": [given]}]).filters
    (of_text,) = decode(filters=[{"dimension": "service", "values": given}]).filters

    assert of_list.values == of_text.values == [given]
    assert decode(labels={"a": given}).labels == {"a": given}
    assert decode(group_by=[given]).group_by == [given]


@requirement("tools:kindness")
@pytest.mark.parametrize("given", ["", "null"])
def test_a_required_argument_is_taken_as_written(given: str) -> None:
    assert decode_arguments(NameArguments, {"name": given}, tool="rename").name == given


@requirement("tools:kindness")
@pytest.mark.parametrize(
    "given",
    [
        "2026-10-01T00:00:00Z",
        "2026-10-01T23:59:59.999Z",
        "2026-10-01T00:00:00+02:00",
        "2026-10-01 12:30",
        "2026-10-01T00:00",
        "20261001",
    ],
)
def test_a_time_is_its_day_as_written(given: str) -> None:
    assert decode(start_date=given).start_date == datetime.date(2026, 10, 1)


@requirement("tools:arguments")
@pytest.mark.parametrize(
    ("field", "given", "expected_message"),
    [
        ("top", "ten", 'top: "ten" is not a whole number. It is at least 1 and at most 50.'),
        ("top", 2.5, "top: 2.5 is not a whole number. It is at least 1 and at most 50."),
        ("top", True, "top: true is not a whole number. It is at least 1 and at most 50."),
        ("top", -1, "top: -1 is not in range. It is at least 1 and at most 50."),
        ("top", 51, "top: 51 is not in range. It is at least 1 and at most 50."),
        ("top", False, "top: false is not a whole number. It is at least 1 and at most 50."),
        ("top", "9" * 30, f'top: "{"9" * 30}" is not a whole number. It is at least 1 and at most 50.'),
        ("grain", "dai", "grain: 'dai' does not exist. Nearest: day. Valid: day, month."),
        ("grain", 7, "grain: '7' does not exist. Valid: day, month."),
        ("basis", "net", "basis: 'net' does not exist. Valid: amortized, billed."),
        (
            "group_by",
            ["a", "b", "c"],
            'group_by: ["a","b","c"] is not short enough (3 items). At most 2 items.',
        ),
        ("group_by", [["a", "b"]], 'group_by[0]: ["a","b"] is not a text.'),
        ("filters", 7, "filters[0]: 7 is not an object. Its fields are dimension, values."),
        ("filters", [{}], "filters[0].dimension is required."),
        (
            "start_date",
            "1/11/2026",
            'start_date: "1/11/2026" is not a day. Write YYYY-MM-DD, such as 2026-11-20.',
        ),
        ("start_date", 20261101, "start_date: 20261101 is not a day. Write YYYY-MM-DD, such as 2026-11-20."),
        (
            "amount",
            "11,500 $",
            (
                'amount: "11,500 $" is not a number. Use no thousands separator or currency sign, '
                "such as 11500.50."
            ),
        ),
        ("amount", "1e99", 'amount: "1e99" is not a number in range.'),
        ("amount", "NaN", 'amount: "NaN" is not a number in range.'),
        ("shared", "yes", 'shared: "yes" is not true or false.'),
        ("note", "n" * 21, f'note: "{"n" * 21}" is not short enough (21 characters). At most 20 characters.'),
        ("note", "a\x00b", 'note: "a\\u0000b" is not text without NUL characters.'),
        ("labels", "a=b", 'labels: "a=b" is not an object.'),
        ("labels", {"a": [1, 2]}, "labels.a: [1,2] is not a text."),
    ],
)
def test_an_error_is_named_with_its_value_and_the_repair(
    field: str, given: Any, expected_message: str
) -> None:
    assert refusal(**{field: given}) == expected_message


@requirement("tools:arguments")
def test_a_missing_argument_is_named_with_what_it_is() -> None:
    assert refusal(NameArguments) == "name is required: The account's new name."
    assert refusal(NameArguments, name=None) == "name is required: The account's new name."


@requirement("tools:unknown-argument")
def test_an_unknown_argument_is_refused_by_name_with_the_nearest() -> None:
    message = refusal(groupby="service")

    assert message.startswith(
        'echo has no argument "groupby". Nearest: group_by. Arguments: top, grain, basis, '
    )


@requirement("tools:kindness")
def test_an_argument_in_camel_case_is_the_one_that_it_means() -> None:
    assert decode(groupBy=["service"]).group_by == ["service"]
    assert decode(startDate="2026-11-01").start_date == datetime.date(2026, 11, 1)


@requirement("tools:unknown-argument")
def test_an_argument_in_two_spellings_is_refused() -> None:
    assert refusal(groupBy="region", group_by="service").startswith('echo has no argument "groupBy".')


@requirement("tools:unknown-argument")
def test_an_unknown_field_inside_is_refused_as_well() -> None:
    message = refusal(filters=[{"dimension": "service", "value": "EC2"}])

    assert message == 'filters[0] has no field "value". Nearest: values. Arguments: dimension, values.'


@pytest.mark.parametrize("given", ["[" * 5000, '{"a":' * 5000, "x" * 100_000, "[" * 30 + "]" * 30])
def test_absurd_texts_are_refused_briefly(given: str) -> None:
    for field in EchoArguments.__struct_fields__:
        if field not in ("group_by",):
            assert len(refusal(**{field: given})) < 400
