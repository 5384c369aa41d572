"""Reads on accounts."""

from __future__ import annotations

from accounts.models import Account, GlossaryTerm


def glossary(account: Account) -> list[GlossaryTerm]:
    """The account's terms in alphabetical order. One query."""
    return list(GlossaryTerm.objects.filter(account=account))
