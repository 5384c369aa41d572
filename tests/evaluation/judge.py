"""The outcome of a call: right, refused, wrong with a warning, or wrong without one."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.evaluation.mistakes import Mistake, mistakes
from tests.evaluation.question import Question
from tests.evaluation.truth import Figures, RawFiles
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.test_elicitation import FORMS

Outcome = Literal["right", "refused", "refused, names it", "wrong, with a warning", "wrong, without one"]
OUTCOMES: Final[tuple[Outcome, ...]] = (
    "right",
    "refused, names it",
    "refused",
    "wrong, with a warning",
    "wrong, without one",
)


Choice = Literal["no question", "without the value", "right", "wrong"]
"""Whether the person is asked, is offered the value that was meant, and gets the right answer with it."""

CHOICES: Final[tuple[Choice, ...]] = ("right", "wrong", "without the value", "no question")


@dataclass
class Record:
    """Counts of outcomes by kind of mistake, and what was wrong without a word of it."""

    outcomes: dict[str, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    without_warning: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    choices: dict[str, Counter[Choice]] = field(default_factory=lambda: defaultdict(Counter))
    """Of the calls that are wrong with a warning: what a client that can ask its person gets."""

    @property
    def calls(self) -> int:
        return sum(sum(each.values()) for each in self.outcomes.values())


def evaluate(mcp_client: McpClient, raw: RawFiles, questions: Iterable[Question]) -> Record:
    """Ask each question right, then with each mistake. A hundredth of a second or two a call."""
    record = Record()
    for question in questions:
        truth = question.truth(raw)
        arguments = question.call_arguments(mcp_client)
        answer = mcp_client.ask(question.tool, **arguments)
        record.sizes.append(len(json.dumps(answer, ensure_ascii=False).encode()))
        _note(record, "no mistake", arguments, _outcome_of(question, truth, answer, answer), question)
        for mistake in mistakes(arguments):
            missing = set(_leaves(arguments)) - set(_leaves(mistake.arguments))
            outcome = _outcome(mcp_client, question, truth, answer, mistake, missing)
            _note(record, mistake.kind, mistake.arguments, outcome, question)
            if outcome == "wrong, with a warning":
                record.choices[mistake.kind][_choice(mcp_client, question, truth, mistake, missing)] += 1
    return record


def _note(
    record: Record, kind: str, arguments: Mapping[str, Any], outcome: Outcome, question: Question
) -> None:
    record.outcomes[kind][outcome] += 1
    if outcome == "wrong, without one":
        record.without_warning.append((question.text, arguments, kind))


def _outcome(
    mcp_client: McpClient,
    question: Question,
    truth: Figures,
    right_answer: Mapping[str, Any],
    mistake: Mistake,
    missing: Collection[str],
) -> Outcome:
    result = mcp_client.call(question.tool, **mistake.arguments)
    if result["isError"]:
        text = result["content"][0]["text"]
        return "refused, names it" if any(word in text for word in missing) else "refused"
    return _outcome_of(question, truth, result["structuredContent"], right_answer)


def _choice(
    mcp_client: McpClient, question: Question, truth: Figures, mistake: Mistake, missing: Collection[str]
) -> Choice:
    """Call as a client that can ask its person, who chooses what was meant."""
    params = {"name": question.tool, "arguments": mistake.arguments, "_meta": FORMS}
    result = mcp_client.result("tools/call", params)
    if result["resultType"] != "input_required":
        return "no question"
    ((key, request),) = result["inputRequests"].items()
    names = request["params"]["requestedSchema"]["properties"][key]["enum"]
    name = next((each for each in names if each in missing), "")
    if not name:
        return "without the value"
    reply = {
        "requestState": result["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {key: name}}},
    }
    answer = mcp_client.result("tools/call", {**params, **reply})["structuredContent"]
    return "right" if question.is_right(_figures(question, answer), truth) else "wrong"


def _outcome_of(
    question: Question, truth: Figures, answer: Mapping[str, Any], right_answer: Mapping[str, Any]
) -> Outcome:
    if question.is_right(_figures(question, answer), truth):
        return "right"
    warnings = [text for text in answer["warnings"] if text not in right_answer["warnings"]]
    return "wrong, with a warning" if warnings else "wrong, without one"


def _figures(question: Question, answer: Mapping[str, Any]) -> Figures:
    """Empty where the answer has another shape, as one without groups."""
    try:
        return question.read(answer)
    except (KeyError, TypeError):
        return {}


def _leaves(value: Any) -> Iterator[str]:
    """The names and texts of arguments at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield str(value)
