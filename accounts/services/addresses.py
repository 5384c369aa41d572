"""Ownership of an email address: it belongs to the person who received mail there, not to the one who signed up with it.

Anybody can sign up with another person's address and wait. So a person who proves receipt of the mail starts clean: earlier
passwords, second factors, other addresses, sessions and credentials are removed, unless the person knows the password.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from allauth.account.internal.stagekit import unstash_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Lower
from django.http import HttpRequest

from accounts import audit
from accounts.audit import Actor
from accounts.keys import revoke_mcp_key
from accounts.models import MCPKey, Membership, Role, User
from accounts.oauth.services import disconnect_member
from accounts.services.ownership import withdraw_ownership_offer
from finops.lib import clock

UNVERIFIED_STAY: Final = timedelta(days=7)
"""A sign-up without a verified address is deleted after this time."""


def has_verified_address(user: User) -> bool:
    """Whether any address of the person is verified. One query."""
    return bool(EmailAddress.objects.filter(user=user, verified=True).exists())


def people_of_address(email: str) -> list[User]:
    """Return the person who verified the address, else anybody who has it. One statement, whether or not there is one."""
    email = email.lower()
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"), email=email)
    rows = User.objects.alias(has_it=Exists(addresses), lower=Lower("email")).annotate(
        has_verified_it=Exists(addresses.filter(verified=True))
    )
    people: list[User] = []
    verified: list[User] = []
    for person in rows.filter(Q(lower=email) | Q(has_it=True)):
        (verified if person.has_verified_it else people).append(person)
    return verified or people


def has_password_session(request: HttpRequest, user: User) -> bool:
    """Whether this browser is signed in as the person, or would be except for the verification under way."""
    if request.user.is_authenticated:
        return request.user.pk == user.pk
    login = unstash_login(request, peek=True)
    return bool(login and login.user and login.user.pk == user.pk)


@transaction.atomic
def free_address(*, email: str, owner: User | None) -> None:
    """Remove an address from everybody who has it unverified, except from its owner (None: no owner yet).

    Without an owner a sign-up with it stays, since it may still be verified. With an owner the sign-up is deleted, unless
    it is a member of an account: then it keeps its memberships under another verified address, else under one that takes no
    mail.
    """
    email = email.lower()
    pending = EmailAddress.objects.filter(email=email, verified=False)
    if owner is None:
        pending.exclude(user__email__iexact=email).delete()
        return
    pending.exclude(user=owner).delete()
    for other in User.objects.select_for_update().filter(email__iexact=email).exclude(pk=owner.pk):
        verified = EmailAddress.objects.filter(user=other, verified=True).order_by("-primary", "pk").first()
        if verified is None and not Membership.objects.filter(user=other).exists():
            other.delete()
            continue
        other.email = verified.email if verified else f"unverified-{other.pk}@address.invalid"
        other.save(update_fields=["email"])


@transaction.atomic
def reset_unverified_person(*, user: User, email: str) -> None:
    """Remove every sign-in method that another person may have added to a person without a verified address.

    Memberships stay: an admin gave them to the address, or the account is the person's own. Sessions end with the password,
    which the caller changes.
    """
    from accounts.services.invitations import withdraw_invitations_of  # which imports this

    Authenticator.objects.filter(user=user).delete()
    EmailAddress.objects.filter(user=user).exclude(email=email.lower()).delete()
    user.name = ""
    user.save(update_fields=["name"])
    actor = Actor.of_user(user)
    for key in MCPKey.objects.unscoped().select_related("account").filter(created_by=user, revoked_at=None):
        revoke_mcp_key(key=key, actor=actor)  # of every account of the person
    for membership in Membership.objects.select_related("account").filter(user=user):
        disconnect_member(account=membership.account, user=user, actor=actor)
        withdraw_invitations_of(account=membership.account, users=[user], actor=actor)
        if membership.role == Role.OWNER:
            withdraw_ownership_offer(account=membership.account, actor=actor)
        audit.record(account=membership.account, actor=actor, action="member.start_clean", target=email)


@transaction.atomic
def verify_by_reset(*, user: User) -> None:
    """Verify the address of a person who chose a password by the link of a mail and had verified none before."""
    if has_verified_address(user):
        return
    email = user.email.lower()
    reset_unverified_person(user=user, email=email)
    address, _created = EmailAddress.objects.get_or_create(user=user, email=email, defaults={"primary": True})
    if address.set_verified():
        free_address(email=email, owner=user)


def sweep_unverified_users() -> int:
    """Delete sign-ups that verified nothing for a week, never signed in and have no account, and return their number."""
    if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        return 0
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"))
    rows = User.objects.filter(
        Exists(addresses.filter(verified=False)),
        ~Exists(addresses.filter(verified=True)),
        ~Exists(Membership.objects.filter(user=OuterRef("pk"))),
        last_login=None,
        is_staff=False,
        date_joined__lt=clock.now() - UNVERIFIED_STAY,
    )
    users = list(rows[:1_000])
    for user in users:
        user.delete()
    return len(users)
