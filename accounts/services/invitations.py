"""Invitations: created, sent, resent and withdrawn by the account; accepted or declined by the person with the address.

No response reveals whether the address has signed up, and nobody becomes a member without accepting.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection
from datetime import timedelta
from smtplib import SMTPException
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from accounts import audit
from accounts.audit import Actor
from accounts.keys import digest_of
from accounts.models import Account, AuditEntry, Invitation, Membership, User
from accounts.models.invitation import OPEN
from accounts.reader_limits import accept_limit, assign_limit
from accounts.services.addresses import free_address
from accounts.services.mails import automatic_mail, quoted_name
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.formats import dates
from finops.lib.formats.locales import reader_formats
from finops.worker.broker import publish

LIFETIME: Final = timedelta(days=7)
PER_DAY: Final = 50
"""The most mails in 24 hours for an account, and for a person over all of their accounts."""
ATTEMPTS: Final = 12
"""Attempts while the mail server accepts none: after a minute, two, four, …, at most an hour. About seven hours in all."""
SESSION_KEY: Final = "invitation_token"
SEND_TASK: Final = "accounts.send_invitation"
_MAILS: Final = ("invitation.send", "invitation.resend")

log = logging.getLogger(__name__)


@transaction.atomic
def invite(*, account: Account, email: str, role: str, actor: Actor, limit: str = "") -> Invitation:
    """Invite an address to become a member. A second invitation to it replaces the first. `limit` is a choice of
    `reader_limits`; empty: none.

    Raises UserError for a member's address, beyond the daily limit of mails and for a limit that the role cannot have;
    ValidationError for an invalid address or role.
    """
    email = email.strip().lower()
    _lock(account)
    if Membership.objects.filter(account=account, user__email__iexact=email).exists():
        raise UserError(f"{email} is already a member.", field="email")
    _refuse_too_many(account, actor)
    invitation = Invitation.objects.unscoped().filter(OPEN, account=account, email=email).first()
    again = invitation is not None
    invitation = invitation or Invitation(account=account, email=email)
    invitation.role, invitation.invited_by, invitation.invited_by_label = role, actor.user, actor.label
    _renew(invitation)
    invitation.full_clean(exclude=["account", "digest", "invited_by"], validate_constraints=False)
    invitation.save()
    _record(invitation, actor, "resend" if again else "send")
    assign_limit(invitation, limit, actor)
    _send_on_commit(invitation)
    return invitation


@transaction.atomic
def resend_invitation(*, invitation: Invitation, actor: Actor) -> None:
    """Send it again, valid for another seven days. Raises UserError for a closed one, and beyond the daily limit of mails."""
    _lock(invitation.account)
    _refuse_too_many(invitation.account, actor)
    invitation = _lock_open_invitation(invitation)
    _renew(invitation)
    invitation.save()
    _record(invitation, actor, "resend")
    _send_on_commit(invitation)


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, actor: Actor) -> None:
    """Withdraw the invitation: its link stops working. Raises UserError when it is already closed."""
    invitation = _lock_open_invitation(invitation)
    invitation.withdrawn_at = clock.now()
    invitation.save(update_fields=["withdrawn_at"])
    _record(invitation, actor, "withdraw")


@transaction.atomic
def withdraw_invitations_of(*, account: Account, users: Collection[User], actor: Actor) -> None:
    """Withdraw the open invitations of people who may no longer invite."""
    for invitation in Invitation.objects.unscoped().filter(OPEN, account=account, invited_by__in=users):
        withdraw_invitation(invitation=invitation, actor=actor)


def invitation_of(token: str) -> Invitation | None:
    """Return the invitation of a link's token, whatever its state, with its account; None for an unknown token. One query."""
    rows = Invitation.objects.unscoped().select_related("account")  # the token is the credential
    return rows.filter(digest=digest_of(token)).first()


def may_accept(invitation: Invitation, user: User) -> bool:
    """Whether the address is the person's: verified, or where this installation verifies none, the sign-in address.

    There the token proves receipt of its mail, which is more than the proof of any other address.
    """
    if EmailAddress.objects.filter(user=user, email=invitation.email, verified=True).exists():
        return True
    return settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory" and user.email.lower() == invitation.email


def opened_invitation_link(session: SessionBase, email: str) -> bool:
    """Whether this browser opened the link of an open invitation to the address."""
    token = session.get(SESSION_KEY)
    invitation = invitation_of(token) if token else None
    return invitation is not None and invitation.state == "open" and invitation.email == email.lower()


@transaction.atomic
def accept_invitation(*, token: str, user: User) -> Membership:
    """Make the invited person a member with the invitation's role. Their address counts as verified from now on: the mail
    arrived. An existing member's role stays. Raises UserError when it is already closed, or is for another address."""
    invitation = _lock_by_token(token)
    if not may_accept(invitation, user):
        raise UserError(
            f"This invitation is for {invitation.email}. It is not one of your verified addresses."
        )
    _verify(user, invitation.email)
    membership, created = Membership.objects.get_or_create(
        account=invitation.account, user=user, defaults={"role": invitation.role}
    )
    invitation.accepted_at = clock.now()
    invitation.save(update_fields=["accepted_at"])
    if created:
        accept_limit(invitation, membership)
    _record(invitation, Actor.of_user(user), "accept" if created else "accept_again")
    return membership


@transaction.atomic
def decline_invitation(*, token: str, actor: Actor | None = None) -> Invitation:
    """Decline the invitation; no sign-in needed. Raises UserError when it is already closed."""
    invitation = _lock_by_token(token)
    invitation.declined_at = clock.now()
    invitation.save(update_fields=["declined_at"])
    _record(invitation, actor or Actor(label=invitation.email), "decline")
    return invitation


def due_invitations() -> list[tuple[int, int]]:
    """(account, invitation) of every invitation whose mail is due."""
    now = clock.now()
    rows = Invitation.objects.unscoped().filter(
        OPEN, sent_at=None, send_after__lte=now, expires_at__gt=now, attempts__lt=ATTEMPTS
    )
    return list(rows.values_list("account_id", "pk")[:1_000])


@transaction.atomic
def send_invitation(*, account: Account, invitation_id: int) -> bool:
    """Send the mail of an invitation that is due, unless another run is sending it. A second run sends no second mail."""
    rows = Invitation.objects.unscoped().select_for_update(skip_locked=True, of=("self",))
    invitation = rows.filter(OPEN, pk=invitation_id, account=account, sent_at=None).first()
    if invitation is None or invitation.state != "open" or invitation.attempts >= ATTEMPTS:
        return False
    token, now = secrets.token_urlsafe(32), clock.now()
    try:
        _mail(invitation, account, token).send()
    except (SMTPException, OSError) as error:
        log.warning("The mail of invitation %s was not taken: %s", invitation_id, error)
        invitation.attempts += 1
        invitation.send_after = now + timedelta(minutes=min(2 ** (invitation.attempts - 1), 60))
        invitation.save(update_fields=["attempts", "send_after"])
        return False
    invitation.digest, invitation.sent_at = digest_of(token), now
    invitation.save(update_fields=["digest", "sent_at"])
    return True


def _mail(invitation: Invitation, account: Account, token: str) -> EmailMessage:
    """Return the mail. Names that other people chose are in its text, in quotation marks, and never in its subject."""
    url = f"{settings.PUBLIC_URL}{reverse('invitation', args=[token])}"
    with reader_formats():
        expiry = dates.exact_moment(invitation.expires_at)
    text = (
        f"{quoted_name(invitation.invited_by_label)} invited you to the account {quoted_name(account.name)} in the "
        f"FinOps Console, as "
        f"{invitation.get_role_display()}.\n\n"
        f"Accept or decline:\n{url}\n\n"
        f"The link is valid until {expiry}. To accept, sign in or sign up with "
        f"{invitation.email}.\n\n"
        "If you do not recognize this invitation, ignore this email.\n"
    )
    return automatic_mail(
        to=invitation.email, subject="You are invited to an account in the FinOps Console", text=text
    )


def _renew(invitation: Invitation) -> None:
    now = clock.now()
    invitation.expires_at, invitation.send_after = now + LIFETIME, now
    invitation.sent_at, invitation.attempts = None, 0


def _send_on_commit(invitation: Invitation) -> None:
    account_id, pk = invitation.account_id, invitation.pk
    transaction.on_commit(lambda: publish(SEND_TASK, account_id, pk, expires=60))


def _lock(account: Account) -> None:
    """Lock the account's invitations, so that the daily count is exact."""
    Account.objects.select_for_update().get(pk=account.pk)


def _refuse_too_many(account: Account, actor: Actor) -> None:
    """Refuse more than the daily limit, counted in the audit log, whose entries cannot be deleted. Two queries, by index."""
    recent = Q(action__in=_MAILS, at__gt=clock.now() - timedelta(days=1))
    rows = AuditEntry.objects.unscoped().filter(recent)  # a person's over all accounts
    if rows.filter(account=account).count() >= PER_DAY or (
        actor.user is not None and rows.filter(actor_user=actor.user).count() >= PER_DAY
    ):
        raise UserError(f"Limit of {PER_DAY} invitations in 24 hours reached. Try again later.")


def _lock_open_invitation(invitation: Invitation) -> Invitation:
    rows = Invitation.objects.unscoped().select_for_update(of=("self",)).select_related("account")
    row = rows.filter(OPEN, pk=invitation.pk).first()
    if row is None:
        raise UserError("This invitation was already answered or withdrawn.")
    return row


def _lock_by_token(token: str) -> Invitation:
    rows = Invitation.objects.unscoped().select_for_update(of=("self",)).select_related("account")
    invitation = rows.filter(digest=digest_of(token)).first()
    if invitation is None or invitation.state != "open":
        raise UserError("This invitation is no longer valid. Ask for a new one.")
    return invitation


def _verify(user: User, email: str) -> None:
    address, _created = EmailAddress.objects.get_or_create(
        user=user, email=email, defaults={"primary": not EmailAddress.objects.filter(user=user).exists()}
    )
    if not address.set_verified():
        raise UserError(f"{email} is the verified address of another person.")
    free_address(email=email, owner=user)


def _record(invitation: Invitation, actor: Actor, verb: str) -> None:
    audit.record(
        account=invitation.account,
        actor=actor,
        action=f"invitation.{verb}",
        target=invitation.email,
        detail={"role": invitation.role},
    )
