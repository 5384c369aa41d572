"""Documents, docstrings and comments name only what exists: functions, classes, files, settings, commands and tests.

Names of other programs and examples are in OTHERS.
"""

from __future__ import annotations

import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import get_commands

from tests.source_tree import PACKAGES, ROOT, tracked_files

CODE = {".py", ".js", ".mjs", ".html", ".css", ".toml", ".yaml", ".yml", ".json", ".sql", ".sh", ".tpl", ""}
CODE |= {".service", ".socket", ".target", ".conf", ".example"}
APART = ("tests/data/", "tests/test_references.py", "vendor/")
STRING_OR_COMMENT = re.compile(r"(\"\"\"|''')[\s\S]*?\1|#[ :][^\n]*")
DEFINITION = re.compile(r"(?:def|class) (\w+)")
QUOTED = re.compile(r"[\"'](\w+)[\"']")
WORD = re.compile(r"[A-Za-z_]\w*")

SPAN = re.compile(r"`([^`\n]+)`")
CAMEL = re.compile(r"[a-z][A-Z]")
CONSTANT = re.compile(r"[A-Z]{4,}")
PLAIN = re.compile(r"\.?([a-z_]+)(?:\(\))?")
NAME = re.compile(r"(?<![\w/<$…*-])[A-Za-z_]\w*(?![\w…*<-]|\.\.\.)")
BARE_NAME = re.compile(r"(?<![\w/<$…*.`-])(?:_\w+|[A-Za-z]\w*_\w+|(?:[A-Z][a-z]+){3,})(?![\w…*<`-])")
MEMBER = re.compile(r"(?<![\w.-])([\w/]+?(?:\.py)?)[.:]([A-Za-z_]\w*)(?![\w.…*])")
FILE = re.compile(
    r"(?<![\w/.{}<>*:$…-])(?:\.\./)*((?:[\w-]+/)*[\w-]+\.(?:py|md|html|mjs|css|sql|toml))\b(?![/*<.])"
)
COMMAND = re.compile(r"manage\.py ([a-z_]+)|`make ([a-z][\w-]*)")
OTHERS = """
BENCH_MIXED_ACCOUNTS COST_OPTIMIZATION_RECOMMENDATIONS DBL_DIG FOCUS_Spec GetFlightInfo INVALID_ARGUMENT
PackageNotFoundError RLIMIT_AS SD_LISTEN_FDS_START TIMESTAMP_NTZ CONN_HEALTH_CHECKS __dict__ annotate at_hash
aws_created_by claude_code cleartokens cost_report created_by createsuperuser delivery data_types dataexports-security.html dispatch
exc_info execute_wrappers invalid_deflate invalid_zstd jti like_first lines_of_code log_min_duration_statement multiLine node_modules null
omit_defaults openid pass_fds preexec_fn rename_cols reverse sd_listen_fds SequenceMatcher service_description
session_data sockaddr_un tcp_info token_uri usage_key use_ssl user_name userPrincipalName outputSchema listChanged
BILLED_PROJECT BILLEDCOST a acme berlin env lines_before billed_cost_before msg_type no not_ ps ss test_it top x_ x_Bad
"""
OF_LIBRARIES = ("AWS_", "BOTOCORE_", "OPENMETER_", "OTEL_", "pg_")
KNOWN = frozenset([*dir(builtins), *OTHERS.split()])


class Prose(NamedTuple):
    """A document, or the docstrings and comments of a module, which has `words` of code."""

    file: str
    text: str
    words: frozenset[str]

    @property
    def app(self) -> str:
        """The folder of the product's app, empty elsewhere."""
        folders = self.file.split("/")[:-1]
        return "/".join(folders[:2]) if folders and folders[0] in PACKAGES else ""


class Sources(NamedTuple):
    """`quoted` are the texts of an app that are a word; `members` the words beside a class or in a module."""

    prose: list[Prose]
    words: set[str]
    defined: set[str]
    quoted: dict[str, set[str]]
    members: dict[str, set[str]]
    files: set[str]


@cache
def read_sources() -> Sources:
    found = Sources([], set(KNOWN), set(), defaultdict(set), defaultdict(set), set())
    for path in tracked_files():
        name = str(path.relative_to(ROOT))
        parts = name.split("/")
        found.files.update("/".join(parts[start:]) for start in range(len(parts)))
        found.words.update(parts, [path.stem, path.stem.removeprefix("bench_")])
        if name.startswith(APART) or path.name == "package-lock.json":
            continue
        if path.suffix == ".md":
            found.prose.append(Prose(name, path.read_text(), frozenset()))
        elif path.suffix == ".py":
            _add_module(found, path, name)
        elif path.suffix in CODE:
            found.words.update(WORD.findall(path.read_text()))
    return found


def _add_module(found: Sources, path: Path, name: str) -> None:
    text, code = _split(path.read_text())
    prose = Prose(name, text, frozenset(WORD.findall(code)))
    definitions = DEFINITION.findall(code)
    found.prose.append(prose)
    found.words.update(prose.words)
    if prose.app:
        found.defined.update(definitions)
        found.quoted[prose.app].update(QUOTED.findall(code))
    for owner in (path.name, name, *(each for each in definitions if each[0].isupper())):
        found.members[owner].update(prose.words)


def _split(source: str) -> tuple[str, str]:
    """Return the docstrings and comments of a module, and its code."""
    prose: list[str] = []

    def without_prose(match: re.Match[str]) -> str:
        before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
        if before.strip() and (match[1] or not before[-1].isspace()):
            return match[0]
        prose.append(match[0])
        return " "

    code = STRING_OR_COMMENT.sub(without_prose, source)
    return "\n".join(prose), code


def unknown_names(prose: Prose, sources: Sources) -> Iterator[str]:
    """Names between backquotes, and in modules also others that only code has: with an underscore, or of three words."""
    spans = SPAN.findall(prose.text)
    names = {name for span in spans for name in NAME.findall(span) if "_" in name or CAMEL.search(name)}
    names |= set(filter(CONSTANT.fullmatch, spans))
    if prose.words:
        names |= set(BARE_NAME.findall(SPAN.sub("", prose.text)))
    yield from (name for name in names - sources.words if not name.startswith(OF_LIBRARIES))


def unknown_plain_names(prose: Prose, sources: Sources) -> Iterator[str]:
    """A word between backquotes in the product is one of its file's code, a definition, a module or a text of its app."""
    if prose.app:
        words = {word[1] for word in map(PLAIN.fullmatch, SPAN.findall(prose.text)) if word}
        unknown = words - prose.words - sources.quoted[prose.app] - sources.defined - KNOWN
        yield from (word for word in unknown if f"{word}.py" not in sources.files)


def unknown_members(prose: Prose, sources: Sources) -> Iterator[str]:
    """`Class.member`, and `name` of a file, as docs/interface.md has it."""
    for span in SPAN.findall(prose.text):
        for owner, member in MEMBER.findall(span):
            if owner in sources.members and member not in sources.members[owner]:
                yield f"{owner}.{member}"


def missing_files(prose: Prose, sources: Sources) -> Iterator[str]:
    yield from set(FILE.findall(prose.text)) - sources.files - KNOWN


def unknown_commands(prose: Prose, sources: Sources) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M))
    for command, target in COMMAND.findall(prose.text):
        if command and command not in get_commands():
            yield f"manage.py {command}"
        if target and target not in targets:
            yield f"make {target}"


CHECKS = (unknown_names, unknown_plain_names, unknown_members, missing_files, unknown_commands)


@pytest.mark.parametrize("check", CHECKS)
def test_what_documents_docstrings_and_comments_name_exists(
    check: Callable[[Prose, Sources], Iterator[str]],
) -> None:
    sources = read_sources()

    assert [
        f"{prose.file}: {name}" for prose in sources.prose for name in sorted(set(check(prose, sources)))
    ] == []


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("docs/x.md", "`gone_function` and `querySpend`", "gone_function"),
        ("docs/x.md", "`VANISHED` and `VANISHED IN A COMMAND`", "VANISHED"),
        ("docs/x.md", "`test_that_was_renamed`", "test_that_was_renamed"),
        ("docs/x.md", "`LAKE_URL_OF_BEFORE` and `LAKE_URL`", "LAKE_URL_OF_BEFORE"),
        ("docs/x.md", "`mcpserver/execution.py:_run_handler` and `Tool.name`", "_run_handler"),
        ("docs/x.md", "`ToolAccess.GONE`", "ToolAccess.GONE"),
        ("docs/x.md", "[x](../finops/wsgi.py), `finops/asgi.py`", "finops/wsgi.py"),
        ("docs/x.md", "`manage.py load_nothing`, `manage.py migrate`", "manage.py load_nothing"),
        ("docs/x.md", "`make nothing`, `make test`", "make nothing"),
        ("finops/lib/clock.py", "See _gone_helper and GoneClassName.", "_gone_helper"),
        ("finops/lib/clock.py", "`straight` becomes `True`.", "straight"),
    ],
)
def test_a_name_of_what_is_gone_is_found(file: str, text: str, found: str) -> None:
    prose = Prose(file, text, frozenset({"name"} if file.endswith(".py") else ()))

    assert found in {name for check in CHECKS for name in check(prose, read_sources())}
