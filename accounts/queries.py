"""Reads on accounts."""

from __future__ import annotations

from accounts.models import Account, GlossaryTerm, Invitation, Membership, Role
from accounts.models.invitation import OPEN


def glossary(account: Account) -> list[GlossaryTerm]:
    """The account's terms in alphabetical order. One query."""
    return list(GlossaryTerm.objects.filter(account=account))


def open_invitations(account: Account) -> list[Invitation]:
    """What waits for an answer, and what expired without one, by address. One query."""
    return list(Invitation.objects.filter(OPEN, account=account))


def successors(account: Account) -> list[Membership]:
    """Who may become owner: members and admins. One query."""
    rows = Membership.objects.select_related("user").filter(account=account)
    return list(rows.filter(role__in=[Role.MEMBER, Role.ADMIN]).order_by("user__email"))
