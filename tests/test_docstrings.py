"""A public function that raises an error of ours says so: who calls it reads its docstring, not its body."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.source_tree import product_trees

DJANGO = frozenset({"ValidationError", "PermissionDenied", "AuthenticationFailed"})
"""Errors of the frameworks that endpoints answer in words."""
HANDLERS = frozenset({"FormErrors", "ErrorMessages"})
SAYS = re.compile(r"\b(?:raises|refuses|refused)\b", re.IGNORECASE)


def name_of(node: ast.expr | None) -> str:
    """`errors.UserError("…")` -> UserError; empty for anything else than a name or the call of one."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@cache
def errors_of_ours() -> frozenset[str]:
    """Names of the product's exception classes: those that descend from one of Python's or the frameworks'."""
    bases = {
        node.name: [name_of(base) for base in node.bases]
        for tree in product_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    errors: set[str] = set()
    while more := {
        name
        for name, parents in bases.items()
        if name not in errors
        and any(parent in errors or parent.endswith(("Error", "Exception")) for parent in parents)
    }:
        errors |= more
    return frozenset(errors)


def raised_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of what statements raise: nothing of functions inside them, nor what a `try` around it handles."""
    for node in nodes:
        if isinstance(node, ast.Raise):
            yield name_of(node.exc)
        elif isinstance(node, ast.Try):
            handled = {name_of(each) for handler in node.handlers for each in types_of(handler)}
            yield from set(raised_names(node.body)) - handled
            yield from raised_names([*node.handlers, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With) and name_of(node.items[0].context_expr) in HANDLERS:
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from raised_names(ast.iter_child_nodes(node))


def callables(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions of a module and methods of its classes. A function inside another is that one's own business."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from callables(node.body)


def types_of(handler: ast.ExceptHandler) -> list[ast.expr]:
    if isinstance(handler.type, ast.Tuple):
        return handler.type.elts
    return [handler.type] if handler.type else []


def silent(node: ast.FunctionDef | ast.AsyncFunctionDef, errors: frozenset[str]) -> set[str]:
    """The errors that a public function raises and does not speak of."""
    own_errors = set(raised_names(node.body)) & errors
    text = ast.get_docstring(node) or ""
    if node.name.startswith("_") or SAYS.search(text) or any(name in text for name in own_errors):
        return set()
    return own_errors


def test_the_rule_sees_what_it_must() -> None:
    source = """
def quiet(): raise errors.UserError("x")
def says(): "Raises UserError when it must."; raise UserError("x")
def names(): "UserError when it must."; raise UserError("x")
def handles():
    try: raise UserError("x")
    except (KeyError, UserError): pass
def passes_on():
    try: pass
    except KeyError as error: raise UserError("x") from error
def of_others(): raise KeyError("x")
def _private(): raise UserError("x")
def around():
    def inside(): raise UserError("x")
"""
    nodes = callables(ast.parse(source).body)

    assert [node.name for node in nodes if silent(node, frozenset({"UserError"}))] == ["quiet", "passes_on"]


def test_errors_of_ours_are_found_through_their_bases() -> None:
    assert {"UserError", "LakeTooLarge", "PushError", "EmbeddedError"} <= errors_of_ours()


def test_a_public_function_that_raises_says_what() -> None:
    errors = errors_of_ours() | DJANGO
    quiet = {
        f"{path}: {node.name}": sorted(names)
        for path, tree in product_trees().items()
        for node in callables(tree.body)
        if (names := silent(node, errors))
    }

    assert quiet == {}, "Name the error in the docstring, and when it is raised."


RAISES = re.compile(r"\braises? ((?:[A-Z]\w+(?:, | and | or |, and )?)+)", re.IGNORECASE)


@pytest.mark.slow
def test_a_docstring_names_errors_that_there_are() -> None:
    """A renamed exception takes its name in docstrings along."""
    trees = product_trees()
    names = {name for tree in trees.values() for name in class_names(tree)} | set(dir(builtins))
    unknown = {
        f"{path}: {name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        for match in RAISES.finditer(ast.get_docstring(node) or "")
        for name in re.findall(r"\b[A-Z]\w+", match[1])
        if name not in names
    }

    assert unknown == set()


def class_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (each.asname or each.name.rpartition(".")[2] for each in node.names)
