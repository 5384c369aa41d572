"""compose.yaml: after its specification, with the parts and the protection that it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto.server import ThreadedMotoServer

from finops.worker.queues import CONNECTIONS
from tests.ops.variables import EXAMPLE, ROOT, of_example, unknown
from tests.s3 import variables

COMPOSE = ROOT / "compose.yaml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
PROGRAMS = {name: service for name, service in SERVICES.items() if "finops" in service["image"]}
ONCE = ("migrate", "bucket")
"""Services that end."""


def _command(service: dict[str, Any]) -> str:
    return " ".join(service.get("command", []))


def test_the_file_follows_the_compose_specification() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")

    answer = subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", COMPOSE],
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stdout


def test_there_are_two_web_servers_two_workers_and_one_scheduler() -> None:
    workers = [name for name, service in PROGRAMS.items() if "finops.worker" in _command(service)]
    clocks = [name for name, service in PROGRAMS.items() if re.search(r"\bbeat\b", _command(service))]
    web = [name for name, service in PROGRAMS.items() if "command" not in service]

    assert (len(web), len(workers), clocks) == (2, 2, ["beat"])


def test_all_programs_wait_for_the_migrations() -> None:
    for name, service in PROGRAMS.items():
        if name not in ONCE:
            assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_a_read_only_root_and_no_rights_to_spare(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"worker-1", "worker-2", "beat", *ONCE}))
def test_a_service_that_answers_has_a_health_check(name: str) -> None:
    # The image has one of its own: tests/ops/test_image.py.
    assert "test" in SERVICES[name].get("healthcheck", {}) or name.startswith("web-")


def test_every_variable_is_one_of_the_settings() -> None:
    names = {name for service in SERVICES.values() for name in service.get("environment", {})}
    interpolated = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text())) - {"FINOPS_IMAGE"}

    assert unknown(names) == []
    assert interpolated - of_example() == set()


def test_no_service_but_the_program_gets_its_secrets() -> None:
    assert [name for name, service in SERVICES.items() if "env_file" in service] == list(PROGRAMS)


def test_the_database_has_a_connection_for_each_of_the_pools() -> None:
    pool = re.search(r"^DATABASE_POOL=(\d+)$", EXAMPLE.read_text(), re.MULTILINE)
    limit = re.search(r"max_connections=(\d+)", _command(SERVICES["postgres"]))

    assert pool
    assert limit
    assert 2 * int(pool[1]) + 2 * CONNECTIONS + 3 <= int(limit[1])


def test_the_bucket_is_created_once_and_no_more() -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    environment = {**os.environ, **variables(f"http://{host}:{port}")}
    _python, *arguments = SERVICES["bucket"]["command"]

    try:
        for _start in range(2):
            subprocess.run([sys.executable, *arguments], env=environment, check=True)
    finally:
        server.stop()
