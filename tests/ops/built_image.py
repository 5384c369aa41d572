"""The image as the tests run it: built by buildah, or where that cannot run as the steps of the Dockerfile."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ops import image
from tests.ops.dockerfile import Build, Stage
from tests.ops.variables import ROOT

TAG = "localhost/finops-test"
USER = 10001


class BuiltImage(Protocol):
    def command(self, *command: str, **settings: str) -> list[str]:
        """The command line that runs it in the image, as its user, in its environment and these settings."""


class Container:
    """A container of the image, with the folder `data` as its volume."""

    def __init__(self, name: str, data: Path) -> None:
        self._name, self._data = name, data

    def command(self, *command: str, **settings: str) -> list[str]:
        variables = [f"--env={name}={value}" for name, value in settings.items()]
        options = [
            "--isolation=chroot",
            f"--user={USER}",
            f"--volume={self._data}:/var/lib/finops",
            *variables,
        ]
        return [*image.BUILDAH, "run", *options, self._name, "--", *command]


class Folder:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def command(self, *command: str, **settings: str) -> list[str]:
        mapped = {name: self._stage.mapped(value) for name, value in settings.items()}
        variables = [f"{name}={value}" for name, value in {**self._stage.environment, **mapped}.items()]
        return ["env", "--ignore-environment", f"--chdir={self._stage.place}", *variables, *command]


@contextmanager
def built(folder: Path) -> Iterator[BuiltImage]:
    """Build the image of this checkout. Raises CalledProcessError for a step that fails."""
    try:
        base = image.available_base(image.BASE)
    except (OSError, subprocess.CalledProcessError):
        ignored = (ROOT / ".dockerignore").read_text()
        yield Folder(Build((ROOT / "Dockerfile").read_text(), ROOT, ignored, folder).last)
        return
    image.build(TAG, base)
    name = image.buildah("from", "--pull=never", TAG).strip()
    try:
        with tempfile.TemporaryDirectory(prefix="finops-data-") as data:
            os.chown(data, USER, USER)
            yield Container(name, Path(data))
    finally:
        image.buildah("rm", name)
        image.buildah("rmi", TAG)
