"""The content of a page in lines: title, headings, links, forms with their fields, tables, charts."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

_TEXTS = {"title", "h1", "h2", "h3", "h4", "button", "a", "summary", "th", "legend", "label"}
_REQUESTS = ("hx-get", "hx-post", "hx-delete", "hx-put")
_RANDOM = {"csrfmiddlewaretoken", "draft_id"}
"""Fields whose value is another at each look."""
_HASH = re.compile(r"\.[0-9a-f]{12}(?=\.\w+$)")


def outline(html: str, *, whole: bool = False) -> str:
    """Of `main`, and of what is beside it too where `whole` is set."""
    parser = _Outline(whole)
    parser.feed(html)
    parser.close()
    return "".join(f"{line}\n" for line in parser.lines)


class _Outline(HTMLParser):
    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._shown = 1 if whole else 0
        self._open: list[tuple[str, str, list[str]]] = []
        self._headers: list[list[str]] = []
        self._rows: list[int] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        attrs = {name: value or "" for name, value in attributes}
        if tag == "main":
            self._shown += 1
        if not self._shown and tag != "title":
            return
        self._start(tag, attrs)
        for name in _REQUESTS:
            if name in attrs:
                self.lines.append(f"{name} {attrs[name]}")
        if "data-chart" in attrs:
            self.lines.append(f"chart {hashlib.sha256(attrs['data-chart'].encode()).hexdigest()[:12]}")

    def _start(self, tag: str, attrs: dict[str, str]) -> None:
        if tag in _TEXTS:
            target = attrs.get("href", "") if tag == "a" else attrs.get("name", "") if tag == "button" else ""
            self._open.append((tag, target, []))
        elif tag == "form":
            self.lines.append(f"form {attrs.get('method', 'get').lower()} {attrs.get('action', '')}")
        elif tag == "table":
            self._headers.append([])
            self._rows.append(0)
        elif tag == "tr" and self._rows:
            self._rows[-1] += 1
        elif tag in {"input", "select", "textarea"} and attrs.get("name") not in _RANDOM:
            self.lines.append(_field(tag, attrs))
        elif tag == "option":
            selected = " selected" if "selected" in attrs else ""
            self.lines.append(f"  option {attrs.get('value', '')!r}{selected}")
        elif tag in {"script", "img"} and attrs.get("src"):
            self.lines.append(f"{tag} {_HASH.sub('', urlsplit(attrs['src']).path)}")

    def handle_data(self, data: str) -> None:
        for _tag, _target, texts in self._open:
            texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            _tag, target, texts = self._open.pop()
            self._text(tag, " ".join("".join(texts).split()), target)
        elif tag == "table" and self._rows:
            self.lines.append(f"table {' | '.join(self._headers.pop())}  rows {self._rows.pop()}")
        elif tag == "main":
            self._shown -= 1

    def _text(self, tag: str, text: str, target: str) -> None:
        if tag == "th" and self._headers:
            self._headers[-1].append(text)
        elif tag == "a":
            self.lines.append(f"link {text} -> {target}")
        else:
            self.lines.append(f"{tag} {text}" + (f" [{target}]" if target else ""))


def _field(tag: str, attrs: dict[str, str]) -> str:
    kind = attrs.get("type", "text") if tag == "input" else tag
    value = f" {attrs['value']!r}" if "value" in attrs else ""
    flags = "".join(f" {name}" for name in ("checked", "required", "disabled", "readonly") if name in attrs)
    return f"field {kind} {attrs.get('name', '')}{value}{flags}"
