"""Descriptions of OAuth errors."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return the text in the characters of an `error_description` (RFC 6749, 5.2): ASCII without quotation mark and
    backslash."""
    return "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "?" for letter in text)
