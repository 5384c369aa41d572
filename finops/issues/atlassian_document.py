"""An issue's text in the format of Jira's REST API 3: Atlassian Document Format, whose text nodes are never read as markup."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from finops.issues.content import IssueContent, IssueFact

Node = dict[str, Any]

MAX_BYTES: Final = 32_000
"""Jira accepts 32,767 characters; whether that includes the markup is not documented, so it is included."""


def atlassian_document(content: IssueContent, marker: str) -> Node:
    """Return the description, with as many lines of evidence as Jira accepts. Its last paragraph holds the marker, by which
    the issue is found again."""
    document = _document(content, marker)
    if len(msgspec.json.encode(document)) <= MAX_BYTES or not content.evidence:
        return document
    fewer = msgspec.structs.replace(
        content, evidence=content.evidence[:-1], more_evidence=content.more_evidence + 1
    )
    return atlassian_document(fewer, marker)


def _document(content: IssueContent, marker: str) -> Node:
    blocks: list[Node] = [_list([_fact(fact) for fact in content.facts])]
    blocks += [_paragraph(_strong(f"{fact.label}: "), _text(fact.value)) for fact in content.texts]
    if content.evidence:
        blocks.append(_paragraph(_strong("Evidence:")))
        items = [_evidence(facts) for facts in content.evidence]
        if content.more_evidence:
            items.append([_text(f"and {content.more_evidence:,} more on the page")])
        blocks.append(_list(items))
    link = {"type": "link", "attrs": {"href": content.url}}
    blocks.append(_paragraph(_text("Open in FinOps Console", link)))
    blocks.append(
        _paragraph(_text(f"Reference {marker} links this issue to the recommendation. Keep this line."))
    )
    return {"type": "doc", "version": 1, "content": blocks}


def _fact(fact: IssueFact) -> list[Node]:
    return [_strong(f"{fact.label}: "), _code(fact.value)]


def _evidence(facts: list[IssueFact]) -> list[Node]:
    nodes: list[Node] = []
    for number, fact in enumerate(facts):
        before = (", " if number else "") + (f"{fact.label} " if fact.label else "")
        nodes += [_text(before)] if before else []
        nodes.append(_code(fact.value))
    return nodes


def _text(text: str, *marks: Node) -> Node:
    return {"type": "text", "text": text, **({"marks": list(marks)} if marks else {})}


def _strong(text: str) -> Node:
    return _text(text, {"type": "strong"})


def _code(text: str) -> Node:
    return _text(text, {"type": "code"})


def _paragraph(*nodes: Node) -> Node:
    return {"type": "paragraph", "content": list(nodes)}


def _list(items: list[list[Node]]) -> Node:
    return {
        "type": "bulletList",
        "content": [{"type": "listItem", "content": [_paragraph(*nodes)]} for nodes in items],
    }
