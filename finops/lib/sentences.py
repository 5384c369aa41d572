"""Formatting of amounts, shares and external values within sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

_WIDE = Context(prec=80, rounding=ROUND_HALF_EVEN)


def money(amount: Decimal, currency: str) -> str:
    """`1,234.50 USD`; an amount that would be shown as 0.00 keeps six decimals."""
    places = Decimal("0.01") if amount.copy_abs() >= Decimal("0.005") or not amount else Decimal("0.000001")
    return f"{amount.quantize(places, context=_WIDE):,} {currency}"


def percent_text(share: Decimal) -> str:
    """`12.3 %`; rounding claims neither nothing nor everything: `<0.1 %` for a small share, `>99.9 %` for almost all.

    A negative share has the mirrored text, such as `>-0.1 %`. `formats.numbers.percent` has the same rule for pages.
    """
    size = share.copy_abs().scaleb(2, _WIDE)
    tenths = size.quantize(Decimal("0.1"), context=_WIDE)
    sign = "-" if share < 0 and size else ""
    if size and not tenths:
        return f"{'>' if sign else '<'}{sign}0.1 %"
    if size < 100 == tenths:
        return f"{'<' if sign else '>'}{sign}99.9 %"
    return f"{sign}{tenths:,} %"


def change_percent_text(ratio: Decimal) -> str:
    """`+12.3 %`, `-4.0 %`; `0.0 %` for a change that rounds to zero. `formats.numbers.change` has the same rule."""
    text = percent_text(ratio)
    if text.endswith("0.1 %") and text[0] in "<>":
        return "0.0 %"
    return f"+{text.replace('>99.9', '100.0')}" if ratio > 0 else text


LARGE_RATIO = Decimal(10)
"""The ratio of a change from which a sentence has the earlier amount instead: the base of 1,000 % is close to zero."""


def exact_number(value: Decimal) -> str:
    """`1,234.5`: every digit, no trailing zeros."""
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def join_with_and(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def join_first(parts: Sequence[str], count: int) -> str:
    """`a, b and 3 more`: the first `count` parts, and the number of the others."""
    more = [f"{len(parts) - count:,} more"] if len(parts) > count else []
    return join_with_and([*parts[:count], *more])


Part = tuple[str, Decimal, Decimal | None]
"""A part of a total: its name, its amount, its share."""


def largest_parts(
    parts: Sequence[Part], count: int, write: Callable[[Decimal], str], *, most: str = "most of it on "
) -> str:
    """`most of it on 'A' (60.0 %) and 'B' (40.0 %)`: the largest parts of a total with their shares.

    If a part is negative, amounts cancel out and shares of the net mislead: the largest parts by size are then given with
    their signs, `the largest parts are 'Credits' (-900.00 USD) and 'A' (20.00 USD)`. Empty without parts.
    """
    largest = sorted(parts, key=lambda part: part[1].copy_abs(), reverse=True)[:count]
    if any(amount < 0 for _name, amount, _share in largest):
        signed = join_with_and([f"{quote(name)} ({write(amount)})" for name, amount, _share in largest])
        return f"the largest part{' is' if len(largest) == 1 else 's are'} {signed}"
    shares = [
        quote(name) if share is None else f"{quote(name)} ({percent_text(share)})"
        for name, _amount, share in largest
    ]
    return f"{most}{join_with_and(shares)}" if shares else ""


def by_currency(values: Sequence[tuple[str, str]]) -> str:
    """Values with their currency: `'EC2'`; for several currencies, which cannot be compared, `'EC2' in USD and 'VMs' in
    EUR`."""
    if len(values) == 1:
        return repr(values[0][0])
    return join_with_and([f"{value!r} in {currency}" for value, currency in values])


SHOWN_LENGTH = 300
"""Characters of a value that a sentence shows: tag and customer names may have any length."""

HIDDEN_CHARACTERS = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters including line breaks, and all that Unicode says to leave invisible (Default_Ignorable_Code_Point):
characters that change the direction of text, joiners, variation selectors, fillers, tags. Python knows no such property;
a test compares the list with one that does. Besides, two signs that are blank: braille pattern blank and the null notehead."""


def escape_hidden(text: str) -> str:
    """Return the text with its HIDDEN_CHARACTERS escaped as in JSON, such as backslash, u202e."""
    return HIDDEN_CHARACTERS.sub(lambda match: json.dumps(match[0])[1:-1], text)


def quote(value: str, length: int = SHOWN_LENGTH) -> str:
    """Quote an external value within a sentence: `'EC2'`. The value cannot end the quotation, and is cut after `length`.

    Bills, events and clients may put any text into a value; quoted, an assistant reads it as data and not as our words.
    """
    return repr(truncate(value, length))


def dimension_text(name: str) -> str:
    """A dimension within a sentence: `service`, and quoted where a part of it is an external value, as in `'tag:env'`."""
    return name if name.isidentifier() else quote(name)


def truncate(text: str, length: int) -> str:
    """The text, or its beginning and `…`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def missing_text(title: str, verb: str = "Enter") -> str:
    """The error of an empty field with this title: `Enter the role ARN.`"""
    first_word = title.split(" ")[0]
    text = title if first_word != first_word.capitalize() else f"{title[:1].lower()}{title[1:]}"
    return f"{verb} the {text}."


_TITLE_WORD = re.compile(r"(?<=[a-z’'][ \-])[A-Z](?=[a-z]+\b)|(?<=[a-z’'] )A(?= )")
_KEPT = re.compile(r"(<[^>]*>|FinOps Console)")


def sentence_case(text: str) -> str:
    """`Forgot Your Password?` → `Forgot your password?`: for texts of libraries, which are in title case. Markup and the
    product's name are not changed."""
    parts = _KEPT.split(text)
    return "".join(
        part if index % 2 else _TITLE_WORD.sub(lambda match: match[0].lower(), part)
        for index, part in enumerate(parts)
    )
