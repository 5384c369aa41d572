"""The person, membership and role for the claims of a provider."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, User
from accounts.reader_limits import limit_new_member
from accounts.scoping import account_scope
from accounts.services.addresses import free_address
from accounts.sso.claims import Claims, SignInRefusal, check_claims
from accounts.sso.groups import apply_groups
from accounts.sso.models import Identity, IdentityProvider, ScimUser
from accounts.sso.people import create_person, person_with_address, start_clean
from accounts.sso.queries import domain_of, vouches
from accounts.sso.scim.placement import pushes_groups
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def person_of(*, provider: IdentityProvider, claims: Claims, signed_in_as: User | None = None) -> User:
    """Return the person of the claims: by provider and subject, else by an address of a domain that the provider
    vouches for, else a new person. Adds her to the provider's account if the provider adds members, and applies her
    groups. `signed_in_as` is the browser's signed-in person, who keeps her password. Raises SignInRefusal."""
    claims = check_claims(claims)
    provider = IdentityProvider.objects.select_for_update().get(pk=provider.pk)
    check_active(provider)
    _check_address(provider, claims)
    identity = (
        Identity.objects.select_related("user").filter(provider=provider, subject=claims.subject).first()
    )
    user = identity.user if identity else _link(provider, claims, signed_in_as)
    check_person(provider, user)
    account = provider.account
    if account is not None:
        _join(provider, account, user, claims)
    Identity.objects.filter(provider=provider, user=user).update(used_at=clock.now())
    IdentityProvider.objects.filter(pk=provider.pk).update(used_at=clock.now())
    return user


def check_active(provider: IdentityProvider) -> None:
    """Raises SignInRefusal for a provider that the operator disabled."""
    if provider.disabled_at is not None:
        raise SignInRefusal(f"{provider.name} is disabled. Sign in another way.")


def _check_address(provider: IdentityProvider, claims: Claims) -> None:
    if not vouches(provider, claims.email):
        raise SignInRefusal(
            f"{domain_of(claims.email)} is not a verified domain of {provider.name}. An admin verifies it in "
            "Settings → Single sign-on."
        )
    needs_word = not provider.domains.filter(verified_at__isnull=False).exists()
    if claims.email_verified is False or (needs_word and claims.email_verified is None):
        raise SignInRefusal(f"{provider.name} has not verified {claims.email}. Verify it there first.")


def check_person(provider: IdentityProvider, user: User) -> None:
    """Raises SignInRefusal for a person whom the provider does not vouch for, who is deactivated, or who is an
    operator of this server."""
    if not user.is_active:
        raise SignInRefusal("This person is deactivated.")
    if not vouches(provider, user.email):
        raise SignInRefusal(
            f"Your address here is {user.email}, whose domain is not one of {provider.name}. Sign in by password."
        )
    if user.is_staff and provider.account_id is not None:
        raise SignInRefusal(
            "Operators of this server sign in by password, or by a provider of the whole service."
        )


def _link(provider: IdentityProvider, claims: Claims, signed_in_as: User | None) -> User:
    try:
        user = person_with_address(claims.email) or _create(provider, claims)
    except UserError as error:
        raise SignInRefusal(error.message) from error
    check_person(provider, user)
    if Identity.objects.filter(provider=provider, user=user).exists():
        raise SignInRefusal(
            f"{claims.email} is linked to another person of {provider.name}. Ask an admin to unlink it."
        )
    if user != signed_in_as:
        start_clean(user=user, email=claims.email)
    _verify(user, claims.email)
    Identity.objects.create(provider=provider, subject=claims.subject, user=user)
    for account in Account.objects.filter(memberships__user=user):
        audit.record(
            account=account,
            actor=Actor.of_user(user),
            action="identity.link",
            target=user.email,
            detail={"provider": provider.name},
        )
    return user


def _create(provider: IdentityProvider, claims: Claims) -> User:
    if provider.account_id is not None and not provider.creates_people:
        raise SignInRefusal("You are not a member of this account. Ask an admin for an invitation.")
    return create_person(email=claims.email, name=claims.name)


def _verify(user: User, email: str) -> None:
    is_first = not EmailAddress.objects.filter(user=user, primary=True).exists()
    address, _created = EmailAddress.objects.get_or_create(
        user=user, email=email, defaults={"primary": is_first}
    )
    if not address.verified:
        address.set_verified()
    free_address(email=email, owner=user)


def _join(provider: IdentityProvider, account: Account, user: User, claims: Claims) -> None:
    actor = Actor(label=f"Single sign-on {provider.name}")
    if not Membership.objects.filter(account=account, user=user).exists():
        _check_scim_state(provider, account, user)
        if not provider.creates_people:
            raise SignInRefusal("You are not a member of this account. Ask an admin for an invitation.")
        membership = Membership(account=account, user=user, role=provider.default_role)
        membership.full_clean()
        membership.save(force_insert=True)
        audit.record(
            account=account,
            actor=actor,
            action="member.add",
            target=user.email,
            detail={"role": membership.role, "provider": provider.name},
        )
        limit_new_member(provider, membership, actor)
    with account_scope(account):
        by_scim = pushes_groups(provider)
    if claims.groups is not None and not by_scim:
        apply_groups(
            account=account, user=user, groups=claims.groups, default_role=provider.default_role, actor=actor
        )


def _check_scim_state(provider: IdentityProvider, account: Account, user: User) -> None:
    """Refuse a sign-in that would add a person again whom SCIM has as inactive."""
    with account_scope(account):
        if ScimUser.objects.filter(provider=provider, user=user).exists():
            raise SignInRefusal(
                f"{provider.name} deactivated you here. Ask an admin there to assign you again."
            )
