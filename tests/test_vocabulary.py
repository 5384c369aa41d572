"""One word for one thing: names are nouns and verbs of the field (docs/glossary.md).

tests/ratchets.json has the figures that may only fall. `RECORD=1` writes lower ones; a higher one is a failure.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from tests.test_architecture import PACKAGES, ROOT, tracked_files

RATCHETS = ROOT / "tests" / "ratchets.json"
IRREGULAR = frozenset(
    [
        "asked",
        "brought",
        "came",
        "chosen",
        "come",
        "drawn",
        "found",
        "given",
        "gone",
        "held",
        "judged",
        "kept",
        "known",
        "left",
        "made",
        "met",
        "noted",
        "said",
        "seen",
        "sent",
        "spoken",
        "taken",
        "taught",
        "told",
        "weighed",
        "written",
    ]
)
NO_PARTICIPLE = frozenset({"embed", "feed", "need", "seed", "speed"})
OF_OTHERS = frozenset(
    [
        "authentication_failed",  # django-allauth's adapter
        "closed",  # an attribute of Python's files, which pyarrow asks for
        "client_authentication_required",  # oauthlib's RequestValidator calls it
        "unscoped",  # Rails, of a query without its model's default scope
    ]
)
"""Participles that are not ours to name."""
TRUTHS = frozenset({"is", "has", "was", "are"})
BANNED = frozenset(
    [
        "alike",
        "alone",
        "asked",
        "beside",
        "came",
        "going_with",
        "judged",
        "known",
        "loose",
        "made",
        "noted",
        "overtaken",
        "said",
        "spoken",
        "taught",
        "told",
        "travel",
        "weighed",
    ]
)
"""Words of the project's own that no other code base has."""


BANNED_LOCALS = frozenset(
    [
        "alike",
        "alone",
        "at_hand",
        "began",
        "brought",
        "came",
        "chosen",
        "dear",
        "found",
        "given",
        "hers",
        "lacking",
        "look",
        "looks",
        "lost",
        "made",
        "met",
        "mine",
        "noted",
        "one",
        "others",
        "ours",
        "rest",
        "said",
        "spoken",
        "taken",
        "taught",
        "theirs",
        "told",
        "wanted",
        "weighed",
        "what",
        "whose",
        "written",
    ]
)
"""Words that say nothing of the value that a variable has."""
BANNED_IN_TESTS = BANNED_LOCALS | {
    "asked",
    "began",
    "drawn",
    "gone",
    "got",
    "held",
    "kept",
    "known",
    "left",
    "seen",
    "took",
}
"""Of the files in tests/. Fields of their classes may have these names."""
BANNED_NAMES_IN_TESTS = frozenset(
    [
        "acting",
        "begun",
        "drawn",
        "filled",
        "held",
        "here",
        "kept",
        "known",
        "loaded",
        "looking",
        "looks",
        "made",
        "noted",
        "overspent",
        "overtaken",
        "prepaid",
        "priced",
        "pulled",
        "reported",
        "restated",
        "scripted",
        "shelf",
        "somebody",
        "subscribed",
        "tagged",
        "there",
        "told",
        "twice",
        "whose",
        "world",
        "worn",
    ]
)
"""Of functions, fixtures, classes and parameters in tests/. Fields of classes and lambdas may have these names."""
METAPHORS = frozenset({"door", "doors", "stairs"})
"""Words that no name has as a part: the field says endpoint, page, access check or client."""
PUBLIC_FIELDS = frozenset({"others", "rest", "what"})
"""Of these, the fields of answers and charts, whose names are public."""


def names() -> Iterator[tuple[str, str, Path]]:
    """Kind, name and file of each module, class and function of the product. An inner class has its owner's name too."""
    for path in tracked_files():
        parts = path.relative_to(ROOT).parts
        if path.suffix != ".py" or parts[0] not in PACKAGES or "migrations" in parts:
            continue
        yield "module", path.stem, path
        tree = ast.parse(path.read_text())
        outer = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield "function", node.name, path
            elif isinstance(node, ast.ClassDef):
                yield "class" if id(node) in outer else "inner class", node.name, path


def words_of(name: str) -> list[str]:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("OAuth", "Oauth"))
    return parts.lower().strip("_").split("_")


def is_participle(name: str) -> bool:
    """`rows_found`, `Judged`; a truth is none (`is_closed`)."""
    first, *_rest, last = [*words_of(name), words_of(name)[-1]]
    if first in TRUTHS or last in NO_PARTICIPLE:
        return False
    return last in IRREGULAR or last.endswith("ed")


def only_falls(figure: str, count: int, examples: list[str]) -> None:
    """Raises AssertionError for more than tests/ratchets.json says, and for less while that was not written down."""
    ratchets = json.loads(RATCHETS.read_text())
    if os.environ.get("RECORD") and count < ratchets[figure]:
        ratchets[figure] = count
        RATCHETS.write_text(json.dumps(ratchets, indent=2) + "\n")
    assert count <= ratchets[figure], "\n".join(sorted(examples))
    assert count == ratchets[figure], f"{figure} fell to {count}: RECORD=1 writes it down"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rows_found", True),
        ("Judged", True),
        ("_said", True),
        ("is_closed", False),
        ("seed", False),
        ("send", False),
    ],
)
def test_the_rule_of_participles_sees_what_it_must(name: str, expected: bool) -> None:
    assert is_participle(name) is expected


def test_names_that_are_participles_become_fewer() -> None:
    participles = [
        f"{path.relative_to(ROOT)}: {kind} {name}"
        for kind, name, path in names()
        if is_participle(name) and name not in OF_OTHERS
    ]

    only_falls("participle_names", len(participles), participles)


def test_no_name_is_a_word_of_our_own() -> None:
    private = [
        f"{path.relative_to(ROOT)}: {kind} {name}"
        for kind, name, path in names()
        if "_".join(words_of(name)) in BANNED
    ]

    assert private == []


def names_in_tests() -> Iterator[tuple[str, Path]]:
    """Yield names of modules, classes, functions, fixtures and parameters in tests/ and benchmarks/, with their file."""
    for path in tracked_files():
        if path.suffix != ".py" or path.relative_to(ROOT).parts[0] not in ("tests", "benchmarks"):
            continue
        yield path.stem, path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, path
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                signature = node.args
                parameters = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
                for parameter in [*parameters, signature.vararg, signature.kwarg]:
                    if parameter is not None:
                        yield parameter.arg, path


def test_no_name_in_tests_is_a_word_of_our_own() -> None:
    private = [
        f"{path.relative_to(ROOT)}: {name}"
        for name, path in names_in_tests()
        if path.is_relative_to(ROOT / "tests") and "_".join(words_of(name)) in BANNED_NAMES_IN_TESTS
    ]

    assert private == []


def test_no_name_has_a_metaphor_as_a_part() -> None:
    everywhere = [*names_in_tests(), *((name, path) for _kind, name, path in names())]
    metaphors = {
        f"{path.relative_to(ROOT)}: {name}" for name, path in everywhere if METAPHORS & {*words_of(name)}
    }

    assert sorted(metaphors) == []


def variables(tree: ast.Module, public_fields: frozenset[str]) -> Iterator[ast.Name]:
    """Variables that a module, class or function assigns, without fields of classes that may have these names."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
            continue
        if id(node) not in fields or node.id not in public_fields:
            yield node


def test_no_variable_of_a_function_is_a_word_of_our_own() -> None:
    private = []
    for path in tracked_files():
        folder = path.relative_to(ROOT).parts[0]
        if (
            path.suffix != ".py"
            or folder not in (*PACKAGES, "benchmarks", "tests")
            or "migrations" in path.parts
        ):
            continue
        words, fields = (BANNED_IN_TESTS,) * 2 if folder == "tests" else (BANNED_LOCALS, PUBLIC_FIELDS)
        private += [
            f"{path.relative_to(ROOT)}:{node.lineno}: {node.id}"
            for node in variables(ast.parse(path.read_text()), fields)
            if node.id in words
        ]

    assert private == []


def test_no_two_classes_have_one_name() -> None:
    """Two public classes of one name are two meanings of one word; `AlertChannel.Kind` is none of two."""
    files = defaultdict(set)
    for kind, name, path in names():
        if kind == "class" and not name.startswith("_") and name != "Command":
            files[name].add(str(path.relative_to(ROOT)))
    twice = [f"{name}: {', '.join(sorted(where))}" for name, where in files.items() if len(where) > 1]

    only_falls("class_names_in_several_modules", len(twice), twice)


def test_the_glossary_has_the_words_of_each_model() -> None:
    glossary = set(re.findall(r"[a-z]+", (ROOT / "docs" / "glossary.md").read_text().lower()))
    models = [model for model in apps.get_models() if model.__module__.split(".")[0] in PACKAGES]
    missing = {
        model.__name__: [word for word in words_of(model.__name__) if word not in glossary]
        for model in models
    }

    assert {name: words for name, words in missing.items() if words} == {}
