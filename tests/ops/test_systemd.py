"""The units of systemd: what they start exists. That systemd takes them is in `make lint` (ops/check_deployment.py)."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from finops.worker.queues import QUEUES
from tests.ops.variables import EXAMPLE, ROOT, SYSTEMD, of_example, unknown

PLACE = "/srv/finops"
UNITS = sorted(SYSTEMD.iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]


def _values(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)


def _commands(queues: Sequence[str]) -> list[list[str]]:
    """Of the unit of workers one for each of these queues."""
    lines = [line for service in SERVICES for line in _values(service, "ExecStart")]
    split = [shlex.split(line.replace(PLACE, str(ROOT))) for line in lines]
    return [
        [word.replace("%i", queue) for word in words]
        for words in split
        for queue in (queues if "%i" in words else ("",))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("command", _commands(QUEUES[:1]), ids=lambda words: " ".join(words[1:4]))
def test_each_program_of_a_unit_answers_help(command: list[str]) -> None:
    answer = subprocess.run([*command, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stderr
    assert "usage" in answer.stdout.lower()


@pytest.mark.long  # one of them is started above
@pytest.mark.parametrize("queue", QUEUES[1:])
def test_the_worker_of_each_queue_answers_help(queue: str) -> None:
    (command,) = [each for each in _commands([queue]) if queue in each]

    test_each_program_of_a_unit_answers_help(command)


def test_every_variable_of_the_units_is_one_of_the_settings() -> None:
    names = {line.split("=")[0] for unit in UNITS for line in _values(unit, "Environment")}

    assert names
    assert unknown(names | of_example()) == []


def test_the_example_has_what_production_refuses_to_start_without() -> None:
    required = set(re.findall(r"`([A-Z_]+)` •", (ROOT / "docs" / "configuration.md").read_text()))

    assert required
    assert required - of_example() == set()


def test_the_example_holds_no_secret() -> None:
    for name in ("SECRET_KEY", "KEY_PEPPER", "DATABASE_URL"):
        assert f"\n{name}=\n" in EXAMPLE.read_text()


def test_the_target_has_the_clock_once_and_a_worker_of_each_queue() -> None:
    units = " ".join(_values(SYSTEMD / "finops.target", "Wants")).split()

    assert sorted(units) == sorted(
        [
            *("finops-web.service", "finops-beat.service", "finops-redis.service"),
            *(f"finops-worker@{queue}.service" for queue in QUEUES),
        ]
    )


def test_everything_waits_for_the_migrations() -> None:
    first = ("finops-migrate.service", "finops-redis.service")
    waiting = [service for service in SERVICES if service.name not in first]

    for service in waiting:
        assert "finops-migrate.service" in " ".join(_values(service, "After"))
        assert "finops-migrate.service" in " ".join(_values(service, "Requires"))
