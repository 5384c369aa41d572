"""What was won on size stays: figures of tests/ratchets.json that may only fall.

A figure may be passed with a change of the file itself, in the same commit, by whoever says there why it is worth it.
`RECORD=1` writes lower ones.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_architecture import PACKAGES, ROOT, tracked_files
from tests.test_vocabulary import RATCHETS

LONGEST_FUNCTION = 50
RUN = 5
"""Statements in a row that stand elsewhere too make a duplicate."""


@cache
def sources() -> dict[Path, str]:
    """The product's Python without migrations, by path from the project's root."""
    paths = [path.relative_to(ROOT) for path in tracked_files() if path.suffix == ".py"]
    return {
        path: (ROOT / path).read_text()
        for path in paths
        if path.parts[0] in PACKAGES and "migrations" not in path.parts
    }


def package_of(path: Path) -> str:
    """`ingestion`, `finops.costs`; `finops` for its modules outside an app."""
    return ".".join(path.parts[: 2 if path.parts[0] == "finops" and len(path.parts) > 2 else 1])


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def only_falls(figure: str, counts: dict[str, int]) -> None:
    """Raises AssertionError, with the names, for a count above that of tests/ratchets.json."""
    ratchets = json.loads(RATCHETS.read_text())
    if os.environ.get("RECORD"):
        before = ratchets.get(figure, counts)
        ratchets[figure] = {name: min(count, before.get(name, count)) for name, count in counts.items()}
        RATCHETS.write_text(json.dumps(ratchets, indent=2, sort_keys=True) + "\n")
    allowed = ratchets[figure]
    higher = {
        name: (count, allowed.get(name, 0)) for name, count in counts.items() if count > allowed.get(name, 0)
    }

    assert higher == {}, (
        f"{figure}: what it is now, and at most. A feature that needs more raises it by hand in tests/ratchets.json; "
        "RECORD=1 only lowers."
    )


def test_no_package_grows_in_files() -> None:
    only_falls("files_of_package", dict(sorted(Counter(package_of(path) for path in sources()).items())))


def test_no_package_grows_in_lines() -> None:
    lines: Counter[str] = Counter()
    for path, text in sources().items():
        lines[package_of(path)] += text.count("\n")

    # In hundreds, so that a mended line does not need the figure changed.
    only_falls(
        "lines_of_package", {package: -(-count // 100) * 100 for package, count in sorted(lines.items())}
    )


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path}: {node.name}": length
        for path, node in functions()
        if (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }

    assert long == {}


def test_raw_sql_comes_to_no_other_module() -> None:
    """The ORM elsewhere: raw SQL is for the push, authentication, locks and what it measures faster by much."""
    calls = re.compile(r"\.execute(?:many)?\(|\bRawSQL\(|\.raw\(")
    only_falls(
        "raw_sql_calls",
        {str(path): count for path, text in sources().items() if (count := len(calls.findall(text)))},
    )


def test_the_private_interface_of_the_driver_is_used_nowhere_else() -> None:
    private = re.compile(r"psycopg\.pq|\.pgconn\b|\.connection\.connection\b")
    only_falls(
        "driver_internals",
        {str(path): count for path, text in sources().items() if (count := len(private.findall(text)))},
    )


def test_runs_of_statements_that_occur_twice_become_fewer() -> None:
    """Same statements with the same names; docstrings do not count."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, node in functions():
        body = [ast.dump(each) for each in node.body[bool(ast.get_docstring(node)) :]]
        for start in range(len(body) - RUN + 1):
            places["".join(body[start : start + RUN])].append(f"{path}:{node.body[start].lineno}")
    twice = [where for where in places.values() if len(where) > 1]

    only_falls("duplicate_runs", {"all": len(twice)})
