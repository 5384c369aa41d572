"""The look for secrets that `make lint` takes, by its own configuration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

SECRETS = {
    "AWS Access Key": "key = AKIA" + "Q3EGTRZXK7WHPVYN",
    "GitHub Token": "token: ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
    "Private Key": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "Basic Auth Credentials": "postgres://finops:" + "r4venous@db.internal/finops",
}


def look_at(path: Path) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("detect-secrets-hook"))
    command = [program, "--no-verify", "--baseline", ".secrets.baseline", str(path)]
    return subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_in_a_file_is_found(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "deploy.yaml"
    path.write_text(f"{SECRETS[kind]}\n")

    done = look_at(path)

    assert done.returncode == 1
    assert f"Secret Type: {kind}" in done.stdout


def test_an_example_of_the_documentation_passes(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("DATABASE_URL=postgres://user:password@host/name\n")

    assert look_at(path).returncode == 0
