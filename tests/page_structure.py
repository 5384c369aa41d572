"""What a page of the console lacks or has twice, read from its HTML: headings, landmarks, names of controls, ids, machine words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Final

from tests.isolation.discovery import our_models

MACHINE_WORDS: Final = re.compile(
    r"\{\{|\{%|%\(\w+\)s|\b(?:NoneType|Undefined|undefined|NaN)\b|\b(?:Decimal|UUID)\(|\bdatetime\.|<\w+ object|<QuerySet|&lt;\w|\bTraceback\b"
)
"""What a template writes that lacks a format, a translation or an escape. "None" is also a word of pages."""
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_NO_TEXT: Final = frozenset({"script", "style", "code", "pre", "textarea", "samp", "template"})
"""Texts of programs, or what a person wrote."""
_NAMES: Final = ("aria-label", "aria-labelledby", "title")
_FIELDS: Final = frozenset({"input", "select", "textarea"})
_WITHOUT_LABEL: Final = frozenset({"hidden", "submit", "button", "image"})


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    has_name: bool = False


@dataclass
class _Field:
    tag: str
    attributes: dict[str, str]
    is_inside_label: bool

    def __str__(self) -> str:
        return f"{self.tag} {self.attributes.get('name') or self.attributes.get('id', '')}".strip()


@dataclass
class _Page(HTMLParser):
    open: list[_Element] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)
    labels: dict[str, str] = field(default_factory=dict)
    fields: list[_Field] = field(default_factory=list)
    controls: list[_Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(each.tag == "template" for each in self.open):  # not shown; scripts fill in copies
            return
        attributes = {name: value or "" for name, value in attrs}
        self.counts[tag] += 1
        if "id" in attributes:
            self.ids[attributes["id"]] += 1
        if tag == "label" and attributes.get("for"):
            self.labels[attributes["for"]] = attributes.get("class", "")
        if tag in _FIELDS and attributes.get("type") not in _WITHOUT_LABEL:
            self.fields.append(_Field(tag, attributes, any(each.tag == "label" for each in self.open)))
        self.texts += [
            attributes[name] for name in ("aria-label", "title", "placeholder") if name in attributes
        ]
        element = _Element(tag, attributes, has_name=any(attributes.get(name) for name in _NAMES))
        if tag == "button" or (tag == "a" and "href" in attributes):
            self.controls.append(element)
        if element.has_name or attributes.get("alt"):
            for outer in self.open:
                outer.has_name = True
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while any(each.tag == tag for each in self.open) and self.open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        if any(each.tag in _NO_TEXT for each in self.open) or not data.strip():
            return
        self.texts.append(data)
        for each in self.open:
            each.text += data


def faults_of(html: str, *, landmarks: tuple[str, ...] = ("main", "nav")) -> list[str]:
    """Return the structural faults of a page. Of a part of a page, which has no doctype, neither heading nor landmarks
    are required."""
    page = _Page()
    page.feed(html)
    page.close()
    faults = [f"id twice: {each}" for each, count in page.ids.items() if count > 1]
    if html.lstrip().lower().startswith("<!doctype"):
        faults += [f"no {tag}" for tag in landmarks if not page.counts[tag]]
        faults += [] if page.counts["h1"] == 1 else [f"{page.counts['h1']} h1"]
    faults += [f"no label: {each}" for each in page.fields if not _is_labelled(each, page)]
    faults += [f"required, not marked: {each}" for each in page.fields if _lacks_mark(each, page)]
    faults += [
        f"no name: {each.tag} {each.attributes}"
        for each in page.controls
        if not (each.text.strip() or each.has_name or each.attributes.get("aria-hidden") == "true")
    ]
    faults += [f"machine word: {text}" for text in page.texts if MACHINE_WORDS.search(text)]
    faults += [
        f"value without its label: {text}" for text in page.texts if text.strip() in _values_of_choices()
    ]
    return faults


@cache
def _values_of_choices() -> frozenset[str]:
    """Return the values of choices that cannot be words, such as cost_source."""
    return frozenset(
        value
        for model in our_models()
        for column in model._meta.get_fields()
        for value, label in getattr(column, "flatchoices", None) or ()
        if "_" in str(value) and value != label
    )


def _is_labelled(control: _Field, page: _Page) -> bool:
    attributes = control.attributes
    return (
        control.is_inside_label
        or attributes.get("id", "") in page.labels
        or any(attributes.get(name) for name in _NAMES)
        or attributes.get("aria-hidden") == "true"
    )


def _lacks_mark(control: _Field, page: _Page) -> bool:
    """Return whether a required field has a visible label without the mark. Of boxes and choices their group has it."""
    classes = page.labels.get(control.attributes.get("id", ""))
    return (
        "required" in control.attributes
        and control.attributes.get("type") not in ("checkbox", "radio", "file")
        and classes is not None
        and not {"visually-hidden", "required"} & set(classes.split())
    )
