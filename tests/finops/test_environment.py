"""Environment variables that nothing reads, as `manage.py check` names them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from finops.checks import check_environment
from finops.environment import COMMAND_LINE, READ_ELSEWHERE, Environment, problems
from finops.settings import env

NAMES = ("DATABASE_URL", "LAKE_URL", "METRICS_TOKEN", "SECRET_KEY_FALLBACKS", "OTEL_EXPORTER_OTLP_ENDPOINT")


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("FINOPS_DATABASE_URL", "Write DATABASE_URL."),
        ("FINOPS_DEBUGGING", "Remove it, or see docs/configuration.md for the names."),
        ("METRICS_TOKN", "Did you mean METRICS_TOKEN?"),
        ("SECRET_KEY_FALLBACK", "Did you mean SECRET_KEY_FALLBACKS?"),
    ],
)
def test_a_variable_that_nothing_reads_comes_with_what_to_write(variable: str, advice: str) -> None:
    assert problems({variable, "DATABASE_URL"}, NAMES) == {variable: advice}


@pytest.mark.parametrize(
    "variable", ["HOME", "HOST", "LAKE", "OTEL_EXPORTER_OTLP_HEADERS", "PGHOST", "PORT", "FINOPS_URL"]
)
def test_variables_of_other_programs_are_ignored(variable: str) -> None:
    assert problems({variable}, NAMES) == {}


def test_the_check_knows_what_settings_read_and_shows_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEYS_FALLBACKS", "a-planted-secret")
    monkeypatch.setenv("LAKE_CACHE_BYTES", "1000")
    messages = [message for message in check_environment() if "SECRET_KEYS_FALLBACKS" in message.msg]

    assert [(message.id, message.hint) for message in messages] == [
        ("finops.W003", "Did you mean SECRET_KEY_FALLBACKS?")
    ]
    assert "planted" not in str(messages)
    assert not [message for message in check_environment() if "LAKE_CACHE_BYTES" in message.msg]
    assert isinstance(env, Environment)
    assert {"SECRET_KEY", "EMAIL_URL", "LOG_LEVEL", "METRICS_LISTEN"} <= env.names


def test_every_variable_is_in_the_documentation() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "configuration.md").read_text()
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = {name for cell in cells for name in re.findall(r"`([A-Z_]+)`", cell)}

    assert (env.names | READ_ELSEWHERE) - documented - COMMAND_LINE == set()
    assert {name for name in documented if not name.startswith("AWS_")} <= env.names | READ_ELSEWHERE


def test_variables_of_the_command_line_are_known() -> None:
    source = "".join(
        path.read_text() for path in (Path(settings.BASE_DIR) / "cli" / "finops_cli").glob("*.py")
    )

    assert set(re.findall(r"FINOPS_[A-Z_]+", source)) == COMMAND_LINE
