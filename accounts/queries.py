"""Reads on accounts."""

from __future__ import annotations

from accounts.models import Account, GlossaryTerm, Invitation
from accounts.models.invitation import OPEN


def glossary(account: Account) -> list[GlossaryTerm]:
    """The account's terms in alphabetical order. One query."""
    return list(GlossaryTerm.objects.filter(account=account))


def open_invitations(account: Account) -> list[Invitation]:
    """What waits for an answer, and what expired without one, by address. One query."""
    return list(Invitation.objects.filter(OPEN, account=account))
