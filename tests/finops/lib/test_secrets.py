from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from finops.lib.secrets import development_secret, make_private_dir, write_private


def test_a_secret_stays_the_same_and_differs_from_others(tmp_path: Path) -> None:
    first = development_secret("SECRET_KEY", tmp_path)
    assert development_secret("SECRET_KEY", tmp_path) == first
    assert development_secret("KEY_PEPPER", tmp_path) != first
    assert len(first) == 64


def test_each_checkout_has_its_own(tmp_path: Path) -> None:
    assert development_secret("SECRET_KEY", tmp_path / "a") != development_secret(
        "SECRET_KEY", tmp_path / "b"
    )


def test_processes_that_ask_at_the_same_time_get_the_same_secrets(tmp_path: Path) -> None:
    names = [f"SECRET_{number % 3}" for number in range(9)]
    ask = (
        "import sys; from pathlib import Path; from finops.lib.secrets import development_secret as secret; "
    )
    asking = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                ask + f"print(secret({name!r}, Path(sys.argv[1])))",
                str(tmp_path / "var"),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=settings.BASE_DIR,
        )
        for name in names
    ]
    answers = [process.communicate()[0].strip() for process in asking]
    assert len(set(zip(names, answers, strict=True))) == 3
    assert "" not in answers


def test_other_users_cannot_read_them(tmp_path: Path) -> None:
    development_secret("SECRET_KEY", tmp_path / "var")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "var").iterdir()}
    assert modes == {"secrets.json": 0o600, "secrets.lock": 0o600}


def test_other_users_cannot_list_the_folder(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "var")
    assert (tmp_path / "var").stat().st_mode & 0o066 == 0


def test_a_private_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text("[]")
    with pytest.raises(TypeError, match=r"secrets\.json must hold a JSON object"):
        development_secret("SECRET_KEY", tmp_path)
