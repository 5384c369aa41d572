"""The parts of an email's plain text, from which its HTML is made: the text is written once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_URL_AT_END = re.compile(r"\s*(https?://\S+)$")
_FACT = re.compile(r"- ([^:\n]{1,40}): (.+)")
_CODE = re.compile(r"[0-9A-Z]{3,6}(-[0-9A-Z]{3,6})*")
_FOOT = "--"
OPEN = "Open"


@dataclass(frozen=True)
class TextPart:
    """A paragraph, with the button that its address became; `facts` are its lines `- Label: value`; `is_code`: a code to
    type in; `is_foot`: who sent the email."""

    text: str = ""
    url: str = ""
    label: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    is_code: bool = False
    is_foot: bool = False


def text_parts(text: str, site: str) -> Iterator[TextPart]:
    """Return the paragraphs, one for each block of lines. `Accept or decline:` above an address becomes the label of its
    button. Addresses outside of `site` (`https://finops.example`) stay text: an account's name may contain one, and invited
    people receive it."""
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.strip() == _FOOT or block.startswith((f"{_FOOT} ", f"{_FOOT}\n")):
            yield TextPart(text=block.removeprefix(_FOOT).strip(), is_foot=True)
            return
        yield _part(block.strip(), site)


def _part(block: str, site: str) -> TextPart:
    facts = [_FACT.fullmatch(line.strip()) for line in block.splitlines()]
    if all(facts):
        return TextPart(facts=tuple((each[1], each[2]) for each in facts if each))
    if _CODE.fullmatch(block):
        return TextPart(text=block, is_code=True)
    match = _URL_AT_END.search(block)
    if match is None or not match[1].startswith(f"{site}/"):
        return TextPart(text=" ".join(block.split()))
    before = " ".join(block[: match.start()].split())
    if before.endswith(":") and len(before) <= 40:
        return TextPart(url=match[1], label=before[:-1])
    return TextPart(text=before.removesuffix(", go to"), url=match[1], label=OPEN)
