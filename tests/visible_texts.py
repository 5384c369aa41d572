"""`make texts`: which texts that a person or an assistant reads a change adds (+) and removes (-), for a review of wording.

They are extracted from templates, Python and JavaScript; variable parts are {…}. A text with words that docs/writing.md
refuses has a !. `C=commit` compares the working tree with another commit than the one where the branch left main.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePath
from typing import Final

from tests.source_tree import PACKAGES, ROOT

VARIABLE: Final = "{…}"
_TAG: Final = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_COMMENT: Final = re.compile(r"\{%\s*comment.*?endcomment\s*%\}", re.DOTALL)
_TAG_TEXT: Final = re.compile(r"""\{%\s*(?!load|include|extends|url|if|elif|query|static|cell)\w+[^%]*?%\}""")
_QUOTED: Final = re.compile(r'"([^"]*[a-z][^"]* [^"]*|[A-Z][a-z]+)"')
_EXPRESSION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z]{2}")
_ATTRIBUTES: Final = frozenset(
    {
        "title",
        "aria-label",
        "placeholder",
        "alt",
        "content",
        "aria-description",
        "data-announce",
        "data-confirm",
        "data-confirm-no",
        "data-confirm-text",
        "data-confirm-yes",
        "data-label",
    }
)
_INLINE: Final = frozenset(
    {"a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "small", "span", "strong", "time"}
)
_INTERNAL: Final = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "ImproperlyConfigured",
        "KeyError",
        "RuntimeError",
        "TypeError",
    }
)
_SQL: Final = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|WITH|FROM|WHERE|SET|ORDER BY|LISTEN)\b"
)
_LABELS: Final = frozenset(
    {
        "label",
        "title",
        "verbose_name",
        "verbose_name_plural",
        "help_text",
        "heading",
        "empty",
        "text",
        "advice",
    }
)


REFUSED: Final = re.compile(
    r"\b(is|are|was|were|be) (told|foretold|made by us|said)\b|\b(told|foretold) (of|once|at once|again)\b|\bask again with\b"
    r"|\bgo on with cursor\b|\bfigures of (this|these) chart|\bthe table below has\b|^Left (out|empty): (all|the|what|by|a)\b"
    r"|\bfor ever\b|\bcould be saved\b|\blooked (at anew|for yet)\b|\bin 4 of 5 cases\b|\bstill to come\b|\bnobody is\b"
    r"|\bcalls itself\b|\bno living\b|\bthe days before\b|\bexists already\b|\ball the same\b|\bgo(es)? with (it|them)\b"
    r"|\bunder way\b|\b\w+ says: |\be-mail",
    re.IGNORECASE,
)
"""What docs/writing.md has in its right column."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="main")
    base = _git("merge-base", "HEAD", parser.parse_args().commit).strip()
    changed = _git("diff", "--name-only", "--no-renames", "-z", base)
    for name in sorted(
        {*changed.split("\0"), *_git("ls-files", "-z", "-o", "--exclude-standard").split("\0")}
    ):
        before = set(texts_of(name, _git("show", f"{base}:{name}")))
        now = set(texts_of(name, (ROOT / name).read_text() if (ROOT / name).is_file() else ""))
        if before != now:
            sys.stdout.write("\n".join(["", f"## {name}", *difference(before, now), ""]))


def difference(before: set[str], now: set[str]) -> list[str]:
    """Return a line for each text that was removed or added, in their order."""
    added = [f"+ {'! ' if REFUSED.search(text) else ''}{text}" for text in sorted(now - before)]
    return [f"- {text}" for text in sorted(before - now)] + added


def _git(*arguments: str) -> str:
    """Return what git writes: nothing for a file that the commit lacks."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=arguments[0] != "show"
    ).stdout


def texts_of(name: str, source: str) -> Iterator[str]:
    """Yield the visible texts of a file of this name, which is relative to the project's folder."""
    path = PurePath(name)
    if name.startswith("templates/"):
        yield from _of_template(source, is_html=path.suffix == ".html")
    elif path.suffix == ".py" and path.parts[0] in PACKAGES and "migrations" not in path.parts:
        yield from _of_module(source)
    elif name.startswith("static/js/"):
        yield from _of_script(source)


class _Page(HTMLParser):
    """The texts of a page: one for each block element, with its inline elements."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._line: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_code = tag in ("script", "style")
        if tag not in _INLINE:
            self.end_line()
        for name, value in attrs:
            if name in _ATTRIBUTES and value:
                self.texts += value.split("<br>")

    def handle_endtag(self, tag: str) -> None:
        self._is_code = False
        if tag not in _INLINE:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self._is_code:
            self._line.append(data)

    def end_line(self) -> None:
        self.texts.append("".join(self._line))
        self._line = []


def _of_template(source: str, *, is_html: bool) -> Iterator[str]:
    source = _COMMENT.sub("", source)
    for tag in _TAG_TEXT.findall(source):
        yield from _clean(_QUOTED.findall(tag))
    source = _EXPRESSION.sub(VARIABLE, source)
    if not is_html:
        yield from _clean(_TAG.sub("\n", source).splitlines())
        return
    page = _Page()
    # The text between two tags of Django is a separate text: "{% if a %}Yes{% else %}No{% endif %}".
    page.feed(_TAG.sub("", re.sub(r"(?s)\{%\s*(?:else|elif)[^%]*%\}", "<br>", source)))
    page.close()
    page.end_line()
    yield from _clean(page.texts)


def _clean(texts: list[str]) -> Iterator[str]:
    for text in texts:
        line = " ".join(text.split())
        if _WORD.search(line.replace(VARIABLE, "")):
            yield line


def _of_module(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    hidden = {id(node) for each in ast.walk(tree) for node in _developer_texts(each)}
    yield from _clean(list(_strings(tree, hidden, is_label=False)))


def _strings(node: ast.AST, hidden: set[int], *, is_label: bool) -> Iterator[str]:
    if id(node) in hidden:
        return
    if isinstance(node, ast.JoinedStr):
        text = "".join(
            str(part.value) if isinstance(part, ast.Constant) else VARIABLE for part in node.values
        )
        if _is_text(text, is_label=is_label):
            yield text
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and _is_text(node.value, is_label=is_label):
            yield node.value
        return
    for child in ast.iter_child_nodes(node):
        label = isinstance(child, ast.keyword) and child.arg in _LABELS
        yield from _strings(child, hidden, is_label=label or (is_label and isinstance(node, ast.keyword)))


def _is_text(text: str, *, is_label: bool) -> bool:
    if _SQL.search(text) and not text.endswith("."):
        return False
    if is_label:
        return True
    return " " in text.strip() and bool(re.search(r"[a-z]{2}", text)) and "%s" not in text


def _developer_texts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield strings that only developers read: docstrings, log messages, and programming errors."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _name(node.exc.func) in _INTERNAL:
        yield node.exc
    if isinstance(node, ast.Call) and (
        ast.unparse(node.func).startswith(("logger.", "re.", "logging.")) or _name(node.func) == "Meta_"
    ):
        yield node
    if isinstance(node, ast.Assert) and node.msg:
        yield node.msg


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


_JS_STRING: Final = re.compile(r"""(?<![\w/])(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1""")


def _of_script(source: str) -> Iterator[str]:
    source = re.sub(r"(?m)^\s*(//|\*|/\*).*$", "", source)
    strings = [re.sub(r"\$\{[^}]*\}", VARIABLE, match[1]) for match in _JS_STRING.findall(source)]
    yield from _clean(
        [each for each in strings if " " in each.strip() and re.search(r"[A-Z][a-z]|[a-z] [a-z]", each)]
    )


if __name__ == "__main__":
    main()
