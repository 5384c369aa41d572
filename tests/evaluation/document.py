"""docs/evaluation.md, written from a record."""

from __future__ import annotations

from tests.evaluation.judge import CHOICES, OUTCOMES, Record

_HEAD = """\
# Evaluation

{questions} questions as people ask assistants, on the demo's last three months. The right answers are computed from the raw files by plain SQL of
DuckDB, and from the usage events; the product reads neither. A script stands for the model: it makes the right call, then the same call with each mistake
that assistants make, {calls} calls in all. Written by `RECORD=1 .venv/bin/python -m pytest tests/evaluation -m long`; every eighth question with its mistakes
is in `make test-slow`. Which tool a model chooses for a question is not measured: words in common with the descriptions say little of it.

An answer to a call with a mistake must be *right*, *refused*, or say in `warnings` what was taken for what. *Names it*: the refusal has the word that was
meant. **Wrong without a warning: {without_warning}.**

| mistake | calls | right | refused, names it | refused | wrong, with a warning | wrong, without one |
|---|---|---|---|---|---|---|
"""

_CHOICES = """
## With a person who can be asked

The calls that are wrong with a warning, made by a client that can ask its person (ADR 0079). She chooses the value that was meant, if it is offered.

| mistake | calls | asked, and right | asked, and wrong | asked without that value | not asked |
|---|---|---|---|---|---|
"""

_SIZE = """
## Size

An answer has {mean:,} bytes in the mean and {most:,} at most.
"""


def document(record: Record) -> str:
    lines = [
        f"| {kind} | {sum(counts.values())} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |"
        for kind, counts in sorted(
            record.outcomes.items(), key=lambda item: (item[0] != "no mistake", item[0])
        )
    ]
    choices = [
        f"| {kind} | {sum(counts.values())} | {' | '.join(str(counts[choice]) for choice in CHOICES)} |"
        for kind, counts in sorted(record.choices.items())
    ]
    head = _HEAD.format(
        questions=len(record.sizes), calls=record.calls, without_warning=len(record.without_warning)
    )
    size = _SIZE.format(
        mean=round(sum(record.sizes) / len(record.sizes)),
        most=max(record.sizes),
    )
    return head + "\n".join(lines) + "\n" + _CHOICES + "\n".join(choices) + "\n" + size
