"""The steps of a Dockerfile, run without buildah in folders that hold only what its COPY lines brought.

For machines on which no image can be built: base, users, mounts and limits are those of the machine, so this finds missing files and
failing commands, and nothing else. Paths of the image below /srv, /tmp and /var become folders of the stage.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

from docker.utils.build import exclude_paths  # type: ignore[import-untyped] # comes with moto

HAS_FOLDERS = re.compile(r"(?<![\w./-])/(srv|tmp|var)\b")
OF_ROOT = ("useradd",)
"""Programs that change users of the machine; their steps are left out."""


class Stage:
    """One stage while it is built, then the folder in which its programs run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder
        python = Path(getattr(sys, "_base_executable", sys.executable)).parent
        self.environment = {"PATH": f"{python}:{os.defpath}", "HOME": str(Path.home())}
        self.command: list[str] = []
        for name in ("tmp", "var/lib/finops"):
            (folder / name).mkdir(parents=True)

    def mapped(self, text: str) -> str:
        return HAS_FOLDERS.sub(rf"{self.folder}/\1", text)

    def run(self, *command: str) -> None:
        """Raises CalledProcessError."""
        subprocess.run(command, cwd=self.place, env=self.environment, check=True)


class Build:
    """Runs the instructions of `dockerfile` below `folder`; `last` is the stage of the image. CalledProcessError for a command that
    fails, FileNotFoundError for a source that the context lacks."""

    def __init__(self, dockerfile: str, context: Path, ignored: str, folder: Path) -> None:
        self._context, self._folder = context, folder
        self._sources = exclude_paths(str(context), [line for line in ignored.splitlines() if line])
        self._stages: dict[str, Stage] = {}
        for name, value in instructions(dockerfile):
            step = getattr(self, f"_{name.lower()}", None)
            if step is not None:
                step(value)

    @property
    def last(self) -> Stage:
        return list(self._stages.values())[-1]

    def _from(self, value: str) -> None:
        number = str(len(self._stages))
        self._stages[value.partition(" AS ")[2] or number] = Stage(self._folder / number)

    def _workdir(self, value: str) -> None:
        self.last.place = Path(self.last.mapped(value))
        self.last.place.mkdir(parents=True, exist_ok=True)

    def _env(self, value: str) -> None:
        pairs = (pair.split("=", 1) for pair in value.split())
        new = {name: Template(text).substitute(self.last.environment) for name, text in pairs}
        self.last.environment |= {name: self.last.mapped(text) for name, text in new.items()}

    def _run(self, value: str) -> None:
        if not value.startswith(OF_ROOT):
            self.last.run("sh", "-c", self.last.mapped(value))

    def _cmd(self, value: str) -> None:
        self.last.command = json.loads(value)

    def _copy(self, value: str) -> None:
        *sources, target = value.split()
        place = self.last.place / self.last.mapped(target)
        if sources[0].startswith("--from="):
            of_stage = self._stages[sources.pop(0).removeprefix("--from=")]
            shutil.copytree(
                of_stage.mapped(sources[0]), place, symlinks=True, dirs_exist_ok=True, copy_function=os.link
            )
            return
        for source in sources:
            self._copy_of_context(source.rstrip("/"), place)

    def _copy_of_context(self, source: str, place: Path) -> None:
        files = [path for path in self._sources if source in (".", path) or path.startswith(f"{source}/")]
        files = [path for path in files if (self._context / path).is_file()]
        if not files:
            raise FileNotFoundError(f"COPY {source}: not in the context")
        for path in files:
            inside = Path(path).name if path == source else Path(path).relative_to(source)
            (place / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._context / path, place / inside)


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Name and value of each, without comments, continuation lines joined."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, value = line.strip().partition(" ")
            yield name, value.strip()
