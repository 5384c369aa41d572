"""The skills of the plugin folder over MCP (SEP-2640): which calls answer frequent questions, and how.

The files are those of the plugin, byte for byte, so that a host that checks digests and one that installs the plugin
read the same.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings

from mcpserver.context import ToolCall
from mcpserver.resources.resource import MARKDOWN, McpResource

EXTENSION: Final = "io.modelcontextprotocol/skills"
FOLDER: Final = "plugins/finops-console/skills"
ROOT: Final = "skill://finops-console/"
MANIFEST: Final = "SKILL.md"


@dataclasses.dataclass(frozen=True)
class SkillFile:
    uri: str
    content: bytes

    @property
    def entry(self) -> dict[str, Any]:
        """The file as an entry of a skill's manifest: with digest and size in bytes."""
        digest = hashlib.sha256(self.content).hexdigest()
        return {"uri": self.uri, "digest": f"sha256:{digest}", "size": len(self.content)}


@dataclasses.dataclass(frozen=True)
class Skill:
    """A skill; `files` begins with SKILL.md."""

    frontmatter: Mapping[str, Any]
    files: Sequence[SkillFile]

    @property
    def uri(self) -> str:
        return self.files[0].uri

    @property
    def entry(self) -> dict[str, Any]:
        """The skill in answers of skills/list and skills/get."""
        return {
            "uri": self.uri,
            "frontmatter": dict(self.frontmatter),
            "resources": [file.entry for file in self.files],
        }


@functools.cache
def read_skills(folder: str = FOLDER) -> tuple[Skill, ...]:
    """Return all skills by name. Raises ValueError for a SKILL.md whose name differs from the name of its folder."""
    manifests = sorted((settings.BASE_DIR / folder).glob(f"*/{MANIFEST}"))
    return tuple(_read_skill(path.parent) for path in manifests)


def _read_skill(folder: Path) -> Skill:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    paths.sort(key=lambda path: path.name != MANIFEST)
    uri = f"{ROOT}{folder.name}/"
    files = [SkillFile(f"{uri}{path.relative_to(folder).as_posix()}", path.read_bytes()) for path in paths]
    frontmatter = _frontmatter(files[0].content.decode())
    if frontmatter.get("name") != folder.name:
        raise ValueError(f"{folder / MANIFEST}: its name must be {folder.name}.")
    return Skill(frontmatter, files)


def _frontmatter(text: str) -> Mapping[str, Any]:
    frontmatter: Mapping[str, Any] = yaml.safe_load(text.split("---\n", 2)[1])
    return frontmatter


def skill_resources(skills: Sequence[Skill]) -> list[McpResource]:
    """Each file as a resource, for resources/read."""
    return [_resource(skill, file) for skill in skills for file in skill.files]


def _resource(skill: Skill, file: SkillFile) -> McpResource:
    name, text = str(skill.frontmatter["name"]), file.content.decode()
    is_manifest = file.uri == skill.uri

    def read(call: ToolCall) -> str:
        return text

    return McpResource(
        uri=file.uri,
        name=name if is_manifest else f"{name}/{file.uri.rsplit('/', 1)[1]}",
        title=_title(text) or name,
        description=str(skill.frontmatter["description"]) if is_manifest else f"Read with the skill {name}.",
        mime_type=MARKDOWN,
        read=read,
        same_for_all=True,
        size=len(file.content),
    )


def _title(text: str) -> str:
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")
