"""The image: linted, without what only building needs, and (long) built and run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from ops import front_end_files, image
from tests.ops.variables import ROOT, unknown
from tests.servers import free_port
from tests.waiting import wait_until

DOCKERFILE = ROOT / "Dockerfile"
TAG = "localhost/finops-test"
LARGEST_KB = 1_000_000


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")

    answer = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stdout) == (0, "")


def test_the_image_runs_as_an_unprivileged_user_and_has_a_health_check() -> None:
    run_stage = DOCKERFILE.read_text().split("\nFROM ")[-1]
    arguments = [line for line in run_stage.splitlines() if line.startswith(("CMD", "ENTRYPOINT"))]

    assert "\nUSER 10001\n" in run_stage
    assert "/healthz" in run_stage
    assert "\nSTOPSIGNAL SIGTERM\n" in run_stage
    assert all(line.split(maxsplit=1)[1].startswith("[") for line in arguments)


def test_every_variable_of_the_image_is_one_of_the_settings() -> None:
    run_stage = DOCKERFILE.read_text().split("\nFROM ")[-1]
    names = set(re.findall(r"^(?:ENV|   ) ([A-Z_]+)=", run_stage, re.MULTILINE))

    assert "VAR_DIR" in names
    assert unknown(names - {"PYTHONDONTWRITEBYTECODE", "TMPDIR"}) == []


def test_the_image_holds_every_package_of_the_program_and_no_test() -> None:
    allowed = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    packages = {app.split(".")[0] for app in settings.INSTALLED_APPS if (ROOT / app.split(".")[0]).is_dir()}

    assert packages < allowed
    assert [name for name in allowed if not (ROOT / name).exists()] == []
    assert "tests" not in allowed


@pytest.mark.slow
def test_the_image_holds_the_front_end_files_that_are_served(tmp_path: Path) -> None:
    front_end_files.copy(tmp_path)

    assert (tmp_path / "@tabler/core/dist/css/tabler.min.css").stat().st_size > 0
    assert (tmp_path / front_end_files.ICONS / "plus.svg").is_file()
    assert not (tmp_path / "esbuild").exists()


def _in_container(container: str, *command: str, **settings: str) -> list[str]:
    """The command line that runs it in a container of the image, as its user, in its environment."""
    variables = [f"--env={name}={value}" for name, value in settings.items()]
    options = ["--isolation=chroot", "--user=10001", *variables]
    storage = [f"--root={image.WORK / 'storage'}", f"--runroot={image.WORK / 'run'}"]
    return ["buildah", "--storage-driver=vfs", *storage, "run", *options, container, "--", *command]


@contextmanager
def _container() -> Iterator[str]:
    container = image.buildah("from", "--pull=never", TAG).strip()
    try:
        yield container
    finally:
        image.buildah("rm", container)
        image.buildah("rmi", TAG)


@pytest.mark.long
def test_the_image_is_built_and_answers() -> None:
    assert shutil.which("buildah"), "Install buildah, and mmdebstrap where no image can be pulled."
    subprocess.run([sys.executable, "-m", "ops.image", "--tag", TAG], cwd=ROOT, check=True)
    with _container() as container:
        missing = subprocess.run(
            _in_container(container, "sh", "-c", "command -v npm node gcc cc pip"),
            capture_output=True,
            check=False,
        )
        result = subprocess.run(
            _in_container(container, "sh", "-c", "touch /srv/finops/x || touch /etc/x || touch /x"),
            capture_output=True,
            check=False,
        )
        size = subprocess.run(
            _in_container(container, "du", "-sk", "/srv/finops"), capture_output=True, text=True, check=True
        )
        unreadable = subprocess.run(
            _in_container(container, "find", "/srv/finops", "!", "-readable"), capture_output=True, check=True
        )
        assert int(size.stdout.split()[0]) < LARGEST_KB
        assert unreadable.stdout == b""
        assert missing.stdout == b""
        assert result.returncode != 0
        _serves(container)


def _serves(container: str) -> None:
    port = free_port()
    command = _in_container(
        container,
        *("python", "-m", "finops.web", "--port", str(port)),
        SECRET_KEY="".join(chr(97 + number % 26) for number in range(60)),
        KEY_PEPPER="".join(chr(122 - number % 26) for number in range(60)),
        PUBLIC_URL="https://finops.example.com",
        DATABASE_URL="postgres://nobody@127.0.0.1:1/none",
    )
    process = subprocess.Popen(command, start_new_session=True)
    try:
        wait_until(lambda: _answers(port), "The web server of the image did not come up")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
