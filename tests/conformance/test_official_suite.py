"""The official conformance suite, both requirement sets, against a real server process.

It asks at the path where its own prompts stand beside ours (fixtures.py). What else it cannot find on a console (tools
and resources of its own test server) is in `baselines/<revision>.yml`; the suite fails
when a check fails that is not there, and when one is there that passes. `baselines/first-<revision>.txt` has the
entries of the day the suite came in; none may join them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance import node
from tests.conformance.fixtures import PATH
from tests.conformance.proxy import authorizing_proxy
from tests.conformance.requirements import requirement
from tests.long import also_long
from tests.servers import LiveServer

BASELINES = Path(__file__).parent / "baselines"
REVISIONS = ("2026-07-28", "2025-11-25")  # which have a set of requirements
OLDER = ("2025-06-18", "2025-03-26")

# What needs no fixtures, so it is green on any server; and the checks inside that do need one of the suite's own tools.
GREEN = {
    "2026-07-28": (
        "server-stateless",
        "http-header-validation",
        "tools-list",
        "prompts-list",
        "resources-list",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "caching",
    ),
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "prompts-list",
        "resources-list",
        "dns-rebinding-protection",
    ),
}
WITH_OUR_FIXTURES = ("prompts-get-simple", "prompts-get-with-args", "completion-complete")
NEED_A_FIXTURE = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}

pytestmark = [pytest.mark.xdist_group("mcp-clients"), pytest.mark.slow]
each_revision = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@requirement("clients:conformance-suite")
@each_revision
def test_the_suite_finds_exactly_what_the_baseline_lists(
    live_server_process: LiveServer, keys: dict[str, str], results: Path, revision: str
) -> None:
    with authorizing_proxy(f"{live_server_process.url}{PATH}", keys["suite"]) as url:
        result = node.run(
            node.CONFORMANCE,
            *("server", "--url", url, "--requirements", revision),
            *("--expected-failures", str(BASELINES / f"{revision}.yml")),
            *("--output-dir", str(results / revision)),
            home=results,
        )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    green = (*GREEN[revision], *WITH_OUR_FIXTURES)
    assert {name: state for name in green if (state := _bad(results / revision, name))} == {}


@requirement("clients:conformance-suite")
@pytest.mark.parametrize(
    ("revision", "scenario"),
    [
        *((OLDER[0], scenario) for scenario in GREEN["2025-11-25"]),
        *((OLDER[1], scenario) for scenario in ("server-initialize", "tools-list")),
        *also_long(
            *(
                (OLDER[1], scenario)
                for scenario in ("ping", "prompts-list", "resources-list", "dns-rebinding-protection")
            )
        ),
    ],
)
def test_an_older_revision_passes_what_needs_no_fixture(
    live_server_process: LiveServer, keys: dict[str, str], tmp_path: Path, revision: str, scenario: str
) -> None:
    options = ("--scenario", scenario, "--spec-version", revision, "--force")

    with authorizing_proxy(live_server_process.mcp_url, keys["suite"]) as url:
        result = node.run(node.CONFORMANCE, "server", "--url", url, *options, home=tmp_path)

    assert result.returncode == 0, result.stdout
    assert "0 failed, 0 warnings" in result.stdout + result.stderr


@requirement("clients:conformance-suite")
@each_revision
def test_a_baseline_only_loses_entries(revision: str) -> None:
    first = set((BASELINES / f"first-{revision}.txt").read_text().split())
    now = entries(revision)

    assert now == sorted(set(now))
    assert set(now) <= first


def entries(revision: str) -> list[str]:
    lines = (BASELINES / f"{revision}.yml").read_text().splitlines()
    return [line.removeprefix("  - ") for line in lines if line.startswith("  - ")]


def _bad(results: Path, scenario: str) -> list[str]:
    """The checks of a scenario that did not pass; or that it did not run."""
    paths = list(results.glob(f"server-{scenario}-[0-9]*T*/checks.json"))
    if len(paths) != 1:
        return [f"ran {len(paths)} times"]
    checks = json.loads(paths[0].read_text())
    is_error = [check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")]
    return [id_ for id_ in is_error if id_ not in NEED_A_FIXTURE]
