"""Writes on accounts and memberships. Their callers check permissions."""

from accounts.services.accounts import MAX_TERMS, change_account, create_account, replace_glossary
from accounts.services.deletion import ask_for_deletion, restore_account
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
from accounts.services.members import add_member, change_role, dismiss_first_steps, remove_member
from accounts.services.ownership import accept_ownership, offer_ownership, withdraw_ownership_offer
from accounts.services.profile import change_profile

__all__ = [
    "MAX_TERMS",
    "accept_invitation",
    "accept_ownership",
    "add_member",
    "ask_for_deletion",
    "change_account",
    "change_profile",
    "change_role",
    "create_account",
    "decline_invitation",
    "dismiss_first_steps",
    "due_invitations",
    "invitation_of",
    "invite",
    "may_accept",
    "offer_ownership",
    "remove_member",
    "replace_glossary",
    "resend_invitation",
    "restore_account",
    "send_invitation",
    "withdraw_invitation",
    "withdraw_ownership_offer",
]
