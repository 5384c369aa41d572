"""Transfer of ownership: the owner names a member or admin, who accepts."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.services.mails import mail_ownership_offer
from finops.lib.errors import UserError


@transaction.atomic
def offer_ownership(*, account: Account, to: User, by: User) -> None:
    """Offer ownership to a person and mail them; a second offer replaces the first. Raises UserError for a person who is no
    member or admin of the account, and when `by` does not own it."""
    account = _lock_account(account)
    if _role(account, by) != Role.OWNER:
        raise UserError("Only the owner can transfer ownership.")
    if _role(account, to) not in (Role.MEMBER, Role.ADMIN):
        raise UserError("Choose a member or admin of the account.", field="membership_id")
    _set_offer(account, to)
    _record(account, Actor.of_user(by), "offer", to)
    mail_ownership_offer(account=account, to=to, by=by)


@transaction.atomic
def withdraw_ownership_offer(*, account: Account, actor: Actor) -> None:
    """Withdraw an offer, by the owner, or by the named person, who declines. Does nothing without an offer."""
    account = _lock_account(account)
    if account.transfer_to is not None:
        to = account.transfer_to
        _set_offer(account, None)
        _record(account, actor, "decline" if actor.user == to else "withdraw", to)


@transaction.atomic
def accept_ownership(*, account: Account, user: User) -> None:
    """Accept ownership; the previous owner, who offered it, becomes an admin. Raises UserError for a person who was not
    named, and for an account without an owner."""
    account = _lock_account(account)
    owner = account.owner
    if account.transfer_to != user or owner is None:
        raise UserError("This ownership transfer is no longer available.")
    if _role(account, user) not in (Role.MEMBER, Role.ADMIN):
        raise UserError("Only a member or admin can become the owner.")
    # First, since an account has one owner.
    Membership.objects.filter(account=account, user=owner).update(role=Role.ADMIN)
    Membership.objects.filter(account=account, user=user).update(role=Role.OWNER)
    _set_offer(account, None)
    _record(account, Actor.of_user(user), "accept", user)


def _lock_account(account: Account) -> Account:
    return Account.objects.select_for_update().get(pk=account.pk)


def _role(account: Account, user: User) -> str | None:
    return Membership.objects.filter(account=account, user=user).values_list("role", flat=True).first()


def _set_offer(account: Account, to: User | None) -> None:
    account.transfer_to = to
    account.save(update_fields=["transfer_to"])


def _record(account: Account, actor: Actor, verb: str, to: User) -> None:
    audit.record(account=account, actor=actor, action=f"ownership.{verb}", target=to.email)
