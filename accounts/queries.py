"""Queries on accounts."""

from __future__ import annotations

from accounts.models import Account, GlossaryTerm, Invitation, Membership, Role
from accounts.models.invitation import OPEN


def glossary(account: Account) -> list[GlossaryTerm]:
    """The account's terms in alphabetical order. One query."""
    return list(GlossaryTerm.objects.filter(account=account))


def open_invitations(account: Account) -> list[Invitation]:
    """Invitations without an answer, including expired ones, by address. One query."""
    return list(Invitation.objects.filter(OPEN, account=account))


def heirs(membership: Membership) -> list[Membership]:
    """The other people of an account who may manage keys, to whom those of a removed member can be handed over. One query."""
    rows = Membership.objects.select_related("user").filter(account=membership.account)
    return list(rows.exclude(pk=membership.pk).exclude(role=Role.VIEWER).order_by("user__email"))


def successors(account: Account) -> list[Membership]:
    """Members and admins, who may become owner. One query."""
    rows = Membership.objects.select_related("user").filter(account=account)
    return list(rows.filter(role__in=[Role.MEMBER, Role.ADMIN]).order_by("user__email"))
