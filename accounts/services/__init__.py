"""Writes on accounts and memberships. Who may call them is the door's matter."""

from accounts.services.accounts import change_account, create_account
from accounts.services.glossary import MAX_TERMS, replace_glossary
from accounts.services.invitations import (
    accept_invitation,
    decline_invitation,
    due_invitations,
    invitation_of,
    invite,
    may_accept,
    resend_invitation,
    send_invitation,
    withdraw_invitation,
)
from accounts.services.members import add_member, change_role, remove_member

__all__ = [
    "MAX_TERMS",
    "accept_invitation",
    "add_member",
    "change_account",
    "change_role",
    "create_account",
    "decline_invitation",
    "due_invitations",
    "invitation_of",
    "invite",
    "may_accept",
    "remove_member",
    "replace_glossary",
    "resend_invitation",
    "send_invitation",
    "withdraw_invitation",
]
