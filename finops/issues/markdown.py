"""An issue's text as Markdown, for GitHub and Linear, in which text from a bill is never markup.

Values are code spans, in which Markdown, HTML, mentions (`@all`), references (`#1`, `GH-1`) and bare addresses have no
effect. In sentences, so is every word that is not plain letters or digits.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from finops.issues.content import IssueContent, IssueFact, one_line

_PLAIN: Final = re.compile(r"\(?(?:[^\W\d_]+(?:-[^\W\d_]+)*|\d{1,15}(?:[.,]\d{1,9})*)%?[.,:;!?)]{0,3}")


def markdown(content: IssueContent, marker: str) -> str:
    """Return the body. Its last line holds the marker, by which the issue is found again."""
    lines = [f"- **{fact.label}:** {code_span(fact.value)}" for fact in content.facts]
    for fact in content.texts:
        lines += ["", f"**{fact.label}:** {plain_prose(fact.value)}"]
    if content.evidence:
        lines += ["", "**Evidence:**", ""]
        lines += ["- " + ", ".join(map(_value, facts)) for facts in content.evidence]
    if content.more_evidence:
        lines.append(f"- and {content.more_evidence:,} more on the page")
    lines += ["", f"[Open in FinOps Console](<{content.url}>)"]
    lines += ["", f"Reference {marker} links this issue to the recommendation. Keep this line."]
    return "\n".join(lines)


def code_span(text: str) -> str:
    """Return the text as a code span, whatever backticks it contains."""
    line = one_line(text) or "-"
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{space}{line}{space}{fence}"


def plain_prose(text: str) -> str:
    """Return a sentence with plain words unchanged and all others in code spans."""
    words = groupby(one_line(text).split(" "), key=lambda word: bool(_PLAIN.fullmatch(word)))
    return " ".join(" ".join(run) if plain else code_span(" ".join(run)) for plain, run in words)


def _value(fact: IssueFact) -> str:
    return f"{fact.label} {code_span(fact.value)}" if fact.label else code_span(fact.value)
