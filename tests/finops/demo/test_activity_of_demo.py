"""What the demo says its assistants asked, asked again at the door: every call answers as the demo has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.activity.models import AssistantCall, Outcome
from finops.demo.activity import ASKED, WRONG
from finops.lib import clock
from tests.finops.demo.test_load_demo import TODAY, handout, load, own_var
from tests.mcpserver.door import Door

__all__ = ["own_var"]
pytestmark = pytest.mark.django_db


def test_each_call_of_the_demo_answers_as_its_activity_says(own_var: Path) -> None:
    load()
    door = Door(handout(own_var)["mcp_key_read"])
    account = Account.objects.get(slug="lumenly")

    with clock.frozen(TODAY):
        for asked in (*ASKED, *WRONG):
            answer = door.call(asked.tool, **asked.arguments)
            text = answer["content"][0]["text"]
            if asked.problem:
                assert answer["isError"], asked
                assert text.partition(". ")[0] == asked.problem.partition(". ")[0]
            else:
                assert not answer.get("isError"), text
                assert asked.page in answer["structuredContent"]["console_url"]

    with account_scope(account):
        made = AssistantCall.objects.filter(at__lt=TODAY)
        wrong = made.filter(outcome=Outcome.ERROR)
        assert 0 < wrong.count() < made.count() / 10
        for name in set(wrong.values_list("name", flat=True)):
            assert made.filter(name=name, outcome=Outcome.OK).exists(), f"{name} never answers"
