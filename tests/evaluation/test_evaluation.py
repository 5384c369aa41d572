"""Every question by its right call, and by calls with one mistake: an answer is right, refused, or says what it took."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models import F
from pytest_django import DjangoDbBlocker, Settings

from finops.demo.loader import load
from finops.lake.models import LakeSegment
from finops.lib import clock
from tests.evaluation.document import document
from tests.evaluation.judge import evaluate
from tests.evaluation.question import Question
from tests.evaluation.questions import questions
from tests.evaluation.truth import MONTHS, NOW, RawFiles
from tests.factories.module_scope import module_account
from tests.mcpserver.mcp_client import McpClient
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

DOCUMENT = ROOT / "docs" / "evaluation.md"
QUESTIONS = questions()
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A key that reads the demo company's account, which has three months."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("demo"), NOW):
        key = load(lambda _line: None, months=MONTHS).handout["mcp_key_read"]
        # The clock stands still here: what a later import replaced was there before.
        replaced = LakeSegment.objects.unscoped().filter(retired_at__isnull=False)
        replaced.update(created_at=F("created_at") - timedelta(hours=1))
        yield key


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> RawFiles:
    return RawFiles(tmp_path_factory.mktemp("raw"))


@pytest.fixture
def mcp_client(demo: str, db: None, settings: Settings) -> Iterator[McpClient]:
    """More calls than a credential has a minute."""
    settings.MCP_RATE_LIMIT_PER_MINUTE = 100_000
    with clock.frozen(NOW):
        yield McpClient(demo)


def test_there_are_150_questions_with_different_texts() -> None:
    texts = [question.text for question in QUESTIONS]
    assert len(texts) >= 150
    assert [text for text, count in Counter(texts).items() if count > 1] == []


@each_question
def test_a_question_is_answered_as_the_raw_files_say(
    mcp_client: McpClient, raw: RawFiles, question: Question
) -> None:
    truth = question.truth(raw)

    answer = mcp_client.ask(question.tool, **question.call_arguments(mcp_client))

    assert truth, "The raw files have nothing of it: the question tests nothing."
    figures = question.read(answer)
    assert question.is_right(figures, truth), (figures, truth)


def test_a_mistake_is_corrected_refused_or_warned_of(mcp_client: McpClient, raw: RawFiles) -> None:
    record = evaluate(mcp_client, raw, QUESTIONS[::8])

    assert record.without_warning == []
    assert record.calls > 100
    choices = sum(record.choices.values(), Counter())
    assert choices["right"]
    assert not choices["wrong"]


@pytest.mark.long
def test_the_record_is_that_of_every_question_and_mistake(mcp_client: McpClient, raw: RawFiles) -> None:
    record = evaluate(mcp_client, raw, QUESTIONS)

    text = document(record)
    if os.environ.get("RECORD"):
        DOCUMENT.write_text(text)
    assert record.without_warning == [], "\n".join(str(each) for each in record.without_warning)
    assert DOCUMENT.read_text() == text, "RECORD=1 writes it."
