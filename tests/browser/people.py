"""Rows for the browser tests, made inside the server's world."""

from __future__ import annotations

from tests.cast import PASSWORD, make_cast


def cast() -> dict[str, str]:
    people = make_cast()
    return {"slug": people.account.slug, "password": PASSWORD}
