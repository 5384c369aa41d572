"""Stylesheets: each has the rules of some pages, and the pages that need them link it.

templates/base.html links console.css on every page, templates/layouts/app.html links app.css on those of the
console, and the pages of an area link the file of that area in their block `head`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps

from tests.source_tree import PACKAGES, ROOT

TEMPLATES = ROOT / "templates"
PACKAGE_TEMPLATES = Path(apps.get_app_config("allauth").path) / "templates"
"""Some of our pages extend them."""
STYLESHEETS = sorted((ROOT / "static/css").glob("*.css"))
TABLER = ROOT / "node_modules/@tabler/core/dist/css/tabler.min.css"

CONSOLE_PAGE = "layouts/app.html"
ROOT_TEMPLATES = ("base.html", "error_without_request.html")
MOST_LINES = 450
MOST_LINES_OF_SHARED = {"console.css": 900, "app.css": 900}
"""More than of others: each further file would be a further request of every page."""
SET_BY_LIBRARIES = {"htmx-request", "ui-resizable-handle"}

PAGES_OF_FRAGMENTS = {
    "_field.html": ("base.html",),
    "allocation/_cost_tag_preview.html": ("allocation/cost_tag_edit.html",),
    "budgets/_at_risk.html": ("costs/overview.html",),
    "budgets/_month_end.html": ("costs/overview.html",),
    "connections/_mapping_preview.html": ("connections/mapping.html",),
    "connections/_pull.html": ("change_events/source.html", "ingestion/source.html"),
    "dashboards/widgets/": ("dashboards/board.html", "dashboards/widget_form.html"),
    "insights/_potential_savings.html": ("costs/overview.html",),
    "finops/lib/drawings/svg.py": ("reports/report.html",),
    # Its buttons sort tables, and only pages of the console have tables.
    "static/js/console.js": (CONSOLE_PAGE,),
    # charts.js imports it on every page; only charts of the cost explorer have a range to select.
    "static/js/chart-range.js": ("costs/explorer.html",),
}
"""Pages of fragments that htmx or a registry inserts, and of Python's classes; a folder ends with a slash.

Fragments that no template includes, and Python's classes, may otherwise be on any page of the console.
"""

EXTENDS = re.compile(r'{% extends "([^"]+)" %}')
INCLUDES = re.compile(r'{% include "([^"]+)"')
LINKS = re.compile(r'{% static "css/([^"]+)" %}')
SCRIPTS = re.compile(r'{% static "(js/[^"]+)" %}')
IMPORTS = re.compile(r'\b(?:from|import) "(\.[^"]+)";')
CLASSES_OF_SCRIPTS = re.compile(r'(?:className\s*[:=]\s*|classList\.\w+\()"([^"]*)"')
CLASSES_OF_PYTHON = re.compile(r'\b(?:css|class)=\\?f?"([^"\\]*)')
CLASSES_OF_ELEMENTS = re.compile(r'\bclass="([^"]*)"')
CLASSES_OF_TAGS = re.compile(r'\bcss="([^"]*)"|{% block \w+_css %}(.*?){% endblock')
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
NAME = re.compile(r"[A-Za-z_][\w-]*")
EXPRESSION = "*"


@cache
def templates() -> dict[str, str]:
    """The text of each template by its name, without comments. Emails have styles of their own."""
    comments = re.compile(r"{#.*?#}|{% comment %}[\s\S]*?{% endcomment %}")
    return {
        str(path.relative_to(folder)): comments.sub("", path.read_text())
        for folder in (PACKAGE_TEMPLATES, TEMPLATES)
        for path in sorted(folder.rglob("*.html"))
        if not {"mail", "email"} & set(path.relative_to(folder).parts)
    }


@cache
def scripts() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "static/js").rglob("*.js")}


@cache
def modules() -> dict[str, str]:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths if "migrations" not in path.parts}


def selectors(stylesheet: Path) -> list[str]:
    text = re.sub(r"/\*.*?\*/", "", stylesheet.read_text(), flags=re.DOTALL)
    preludes = [each for each in re.findall(r"([^{};]+){", text) if not each.strip().startswith("@")]
    return [selector for prelude in preludes for selector in prelude.split(",")]


def classes_of_rules(stylesheet: Path) -> set[str]:
    return {name for selector in selectors(stylesheet) for name in CLASS.findall(selector)}


def first_classes(stylesheet: Path) -> set[str]:
    """Of each selector the class of the outermost element: a rule has an effect only on pages with it."""
    return {names[0] for selector in selectors(stylesheet) if (names := CLASS.findall(selector))}


def classes_of_template(text: str) -> set[str]:
    """Classes of elements, and those that tags get as `css`; an expression within a class is an asterisk."""
    elements = re.sub(r"{%.*?%}", " ", re.sub(r"{{.*?}}", EXPRESSION, text), flags=re.DOTALL)
    values = [*CLASSES_OF_ELEMENTS.findall(elements), *map(" ".join, CLASSES_OF_TAGS.findall(text))]
    return {name for value in values for name in value.split()}


@cache
def classes_by_source() -> dict[str, set[str]]:
    """Classes by the template, script or Python module that sets them."""
    classes = {name: classes_of_template(text) for name, text in templates().items()}
    for texts, pattern in ((scripts(), CLASSES_OF_SCRIPTS), (modules(), CLASSES_OF_PYTHON)):
        classes |= {name: set(NAME.findall(" ".join(pattern.findall(text)))) for name, text in texts.items()}
    return classes


@cache
def links_by_block(template: str) -> dict[str, frozenset[str]]:
    """The stylesheets that a page links, by block of its template; an empty name for those outside."""
    text = templates().get(template, "")
    parent = EXTENDS.search(text)
    links = dict(links_by_block(parent[1])) if parent else {"": frozenset(LINKS.findall(text))}
    for block in ("styles", "head"):
        if body := re.search(rf"{{% block {block} %}}(.*?){{% endblock {block} %}}", text, re.DOTALL):
            inherited = links.get(block, frozenset()) if "block.super" in body[1] else frozenset()
            links[block] = inherited | frozenset(LINKS.findall(body[1]))
    return links


def links(page: str) -> set[str]:
    return {name for names in links_by_block(page).values() for name in names}


@cache
def templates_by(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """Templates by what a tag of theirs names: what they extend or include, or their scripts."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, text in templates().items():
        for target in pattern.findall(text):
            names[target].append(name)
    return names


@cache
def scripts_by_import() -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for name, text in scripts().items():
        for target in IMPORTS.findall(text):
            module = ((ROOT / name).parent / target).resolve()
            names[str(module.relative_to(ROOT))].append(name)
    return names


def sources_around(source: str) -> list[str]:
    """Templates and scripts that include, load or import a source; templates that extend a page."""
    for name, pages in PAGES_OF_FRAGMENTS.items():
        if source == name or (name.endswith("/") and source.startswith(name)):
            return list(pages)
    if is_page(source):
        return templates_by(EXTENDS)[source]
    loading = templates_by(SCRIPTS)[source.removeprefix("static/")] if source.endswith(".js") else []
    return [*templates_by(INCLUDES)[source], *loading, *scripts_by_import()[source]]


def is_page(template: str) -> bool:
    return template in ROOT_TEMPLATES or bool(EXTENDS.search(templates().get(template, "")))


def pages_of(source: str) -> set[str]:
    """Templates of the pages on which a template, a script or a Python module sets its classes."""
    sources = {source}
    waiting = [source]
    while waiting:
        new = set(sources_around(waiting.pop())) - sources
        sources |= new
        waiting += new
    return {each for each in sources if is_page(each)} or {CONSOLE_PAGE}


@cache
def stylesheets_by_class() -> dict[str, set[str]]:
    """The files of which a page with a class must link one; without classes that have rules on every page."""
    on_every_page = classes_of_rules(ROOT / "static/css/console.css") | classes_of_rules(TABLER)
    names: dict[str, set[str]] = defaultdict(set)
    for stylesheet in STYLESHEETS:
        for name in first_classes(stylesheet) - on_every_page:
            names[name].add(stylesheet.name)
    return names


def classes_of(names: set[str]) -> set[str]:
    """The classes of our stylesheets among the names that a source sets: `budget-bar-*` can be several."""
    classes = stylesheets_by_class().keys()
    patterns = [
        re.compile(".*".join(map(re.escape, name.split(EXPRESSION))))
        for name in names
        if EXPRESSION in name and NAME.search(name)
    ]
    return {each for each in classes if each in names or any(pattern.fullmatch(each) for pattern in patterns)}


def test_pages_link_the_stylesheets_of_their_classes() -> None:
    by_class = stylesheets_by_class()
    faults = {
        f"{source} sets the class {name} on {page}, which links none of {sorted(by_class[name])}"
        for source, names in classes_by_source().items()
        if (classes := classes_of(names))
        for page in pages_of(source)
        for name in classes
        if not by_class[name] & links(page)
    }

    assert sorted(faults) == []


def test_every_stylesheet_has_pages() -> None:
    assert {path.name for path in STYLESHEETS} == set(LINKS.findall("".join(templates().values())))


@pytest.mark.parametrize("stylesheet", STYLESHEETS, ids=[path.name for path in STYLESHEETS])
def test_no_stylesheet_is_long(stylesheet: Path) -> None:
    most = MOST_LINES_OF_SHARED.get(stylesheet.name, MOST_LINES)

    assert len(stylesheet.read_text().splitlines()) <= most


def test_every_class_with_rules_is_set_somewhere() -> None:
    text = "\n".join([*templates().values(), *scripts().values(), *modules().values()])
    names = set(NAME.findall(text))
    beginnings = tuple(set(re.findall(r"([A-Za-z][\w-]*-)\$?\{", text)))
    classes = {name for stylesheet in STYLESHEETS for name in classes_of_rules(stylesheet)}
    unused = classes - classes_of_rules(TABLER) - SET_BY_LIBRARIES - names

    assert [name for name in sorted(unused) if not name.startswith(beginnings)] == []
