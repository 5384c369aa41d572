"""One word for one thing: names are nouns and verbs of the field (docs/glossary.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from django.apps import apps

from tests.source_tree import PACKAGES, ROOT, product_trees

METAPHORS = frozenset(
    ["door", "doors", "stairs", "shelf", "overtaken", "weighed", "judged", "spoken", "taught", "worn"]
)
"""Words of the project's own that no other code base has."""


def words_of(name: str) -> list[str]:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("OAuth", "Oauth"))
    return parts.lower().strip("_").split("_")


def test_no_name_has_a_metaphor_as_a_part() -> None:
    metaphors = [
        f"{path}: {node.name}"
        for path, tree in product_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if METAPHORS & {*words_of(node.name)}
    ]

    assert metaphors == []


def test_no_two_classes_have_one_name() -> None:
    """Two public classes of one name are two meanings of one word; `AlertChannel.Kind` is none of two."""
    files = defaultdict(set)
    for path, tree in product_trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Command":
                files[node.name].add(str(path))

    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_the_glossary_has_the_words_of_each_model() -> None:
    glossary = set(re.findall(r"[a-z]+", (ROOT / "docs" / "glossary.md").read_text().lower()))
    models = [model for model in apps.get_models() if model.__module__.split(".")[0] in PACKAGES]
    missing = {
        model.__name__: [word for word in words_of(model.__name__) if word not in glossary]
        for model in models
    }

    assert {name: words for name, words in missing.items() if words} == {}
