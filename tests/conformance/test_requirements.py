from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.requirements import REQUIREMENTS, requirement

FOLDERS = ("mcpserver", "conformance")


def named_in_tests() -> Iterator[str]:
    """The ids in `@requirement(...)` above test functions, read from the sources: also of tests not run now."""
    for folder in FOLDERS:
        for path in sorted((Path(__file__).parent.parent / folder).rglob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield from _ids(node)


def _ids(test: ast.FunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "requirement":
            yield from (str(argument.value) for argument in mark.args if isinstance(argument, ast.Constant))


def test_every_requirement_has_a_test() -> None:
    assert set(REQUIREMENTS) - set(named_in_tests()) == set()


def test_every_test_names_known_requirements() -> None:
    assert set(named_in_tests()) <= set(REQUIREMENTS)

    with pytest.raises(LookupError):
        requirement("http:no-such-thing")
