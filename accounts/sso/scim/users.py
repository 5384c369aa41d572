"""Writes of a provider on its users: attributes, and membership in the account.

A provider may change only people of its verified domains in its own account. The owner stays, and nobody is deleted:
a person who is deprovisioned loses her membership, and her sessions if it was the last one.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, Role, Session, User
from accounts.reader_limits import limit_new_member
from accounts.security.known_devices import forget_devices
from accounts.services.addresses import free_address, has_verified_address
from accounts.services.members import add_member, remove_member
from accounts.sso.models import IdentityProvider, ScimUser
from accounts.sso.people import create_person, person_with_address, start_clean
from accounts.sso.queries import domain_of, vouches
from accounts.sso.scim.errors import ScimConflict, ScimForbidden, ScimRefusal, UnknownScimResource
from accounts.sso.scim.placement import place_members
from finops.lib import clock
from finops.lib.errors import UserError

MAX_USERS: Final = 10_000
_OF_ROW: Final = ("user_name", "external_id", "display_name", "formatted_name", "given_name", "family_name")


@dataclass(frozen=True, kw_only=True)
class UserAttributes:
    """Attributes of a user that a provider sends; texts are empty if it sends none. `active` None leaves the user's
    state."""

    user_name: str
    external_id: str = ""
    display_name: str = ""
    formatted_name: str = ""
    given_name: str = ""
    family_name: str = ""
    emails: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    active: bool | None = None

    @property
    def email(self) -> str:
        """The primary address, else the work address, else the first, else the userName; in lower case."""
        ranked = sorted(self.emails, key=lambda each: (not each.get("primary"), each.get("type") != "work"))
        values = [str(each["value"]) for each in ranked if each.get("value")]
        return (values[0] if values else self.user_name).strip().lower()

    @property
    def full_name(self) -> str:
        parts = f"{self.given_name} {self.family_name}".strip()
        return (self.display_name or self.formatted_name or parts)[:150]


def scim_actor(provider: IdentityProvider) -> Actor:
    return Actor(label=f"SCIM {provider.name}")


@transaction.atomic
def create_user(*, provider: IdentityProvider, attributes: UserAttributes) -> ScimUser:
    """Create a user and, if active, her membership with the provider's default role. Raises ScimRefusal for an
    address of another domain, ScimConflict for a taken address, ValidationError for a value that is too long."""
    provider, account = lock_provider(provider)
    rows = ScimUser.objects.filter(provider=provider)
    if rows.count() >= MAX_USERS:
        raise ScimForbidden(f"The maximum is {MAX_USERS:,} users.")
    email = _checked_email(provider, attributes)
    user = _person(email) or create_person(email=email, name=attributes.full_name)
    if rows.filter(user=user).exists():
        raise ScimConflict(f"{email} is another user of {provider.name}.")
    row = ScimUser(account=account, provider=provider, user=user, emails=attributes.emails)
    _write(row, attributes)
    _record(row, "create", {"external_id": row.external_id})
    _set_active(row, attributes.active is not False)
    return row


@transaction.atomic
def change_user(
    *, provider: IdentityProvider, public_id: uuid.UUID, change: Callable[[ScimUser], UserAttributes]
) -> ScimUser:
    """Apply `change` to the user as she is now. Raises the errors of `create_user`, UnknownScimResource, and
    ScimForbidden for the deactivation of the owner. Idempotent."""
    provider, _account = lock_provider(provider)
    row = locked_user(provider, public_id)
    attributes, before = change(row), _attributes(row)
    changed = {name for name in (*_OF_ROW, "emails") if getattr(attributes, name) != getattr(before, name)}
    if changed:
        if attributes.email != before.email:
            _move(row, _checked_email(provider, attributes))
        if row.user.name in ("", before.full_name) and _follows(row):
            row.user.name = attributes.full_name
            row.user.save(update_fields=["name"])
        row.updated_at = clock.now()
        _write(row, attributes)
        _record(row, "change", {"fields": sorted(changed)})
    if attributes.active is not None:
        _set_active(row, attributes.active)
    return row


@transaction.atomic
def delete_user(*, provider: IdentityProvider, public_id: uuid.UUID) -> None:
    """Delete the user and end the person's membership. Raises UnknownScimResource, and ScimForbidden for the owner."""
    provider, _account = lock_provider(provider)
    row = locked_user(provider, public_id)
    _set_active(row, False)
    _record(row, "delete", {})
    row.delete()


def lock_provider(provider: IdentityProvider) -> tuple[IdentityProvider, Account]:
    """Lock the provider until the commit, so that its writes run one after another. Raises ScimForbidden for a
    provider of the whole service."""
    row = (
        IdentityProvider.objects.select_for_update(of=("self",)).select_related("account").get(pk=provider.pk)
    )
    if row.account is None:
        raise ScimForbidden("A provider of the whole service has no SCIM.")
    return row, row.account


def locked_user(provider: IdentityProvider, public_id: uuid.UUID) -> ScimUser:
    """Raises UnknownScimResource."""
    rows = ScimUser.objects.select_related("account", "provider", "user")
    row = rows.filter(provider=provider, public_id=public_id).first()
    if row is None:
        raise UnknownScimResource(f"{provider.name} has no user {public_id} here.")
    return row


def _attributes(row: ScimUser) -> UserAttributes:
    return UserAttributes(**{name: getattr(row, name) for name in _OF_ROW}, emails=row.emails)


def _checked_email(provider: IdentityProvider, attributes: UserAttributes) -> str:
    email = attributes.email
    try:
        validate_email(email)
    except ValidationError as error:
        raise ScimRefusal("Send an email address: as primary of emails, or as userName.") from error
    if len(email) > 254:
        raise ScimRefusal("The email address is longer than 254 characters.")
    _check_domain(provider, email)
    return email


def _check_domain(provider: IdentityProvider, email: str) -> None:
    if not vouches(provider, email):
        raise ScimRefusal(
            f"{domain_of(email)} is not a verified domain of {provider.name}. An admin verifies it in "
            "Settings → Single sign-on."
        )


def _person(email: str) -> User | None:
    try:
        return person_with_address(email)
    except UserError as error:
        raise ScimConflict(error.message) from error


def _write(row: ScimUser, attributes: UserAttributes) -> None:
    for name in (*_OF_ROW, "emails"):
        setattr(row, name, getattr(attributes, name))
    same = ScimUser.objects.filter(provider=row.provider, user_name__iexact=row.user_name)
    if same.exclude(pk=row.pk).exists():
        raise ScimConflict(f"Another user has the userName {row.user_name}.")
    row.full_clean()
    row.save()


def _set_active(row: ScimUser, is_active: bool) -> None:
    membership = Membership.objects.select_related("account", "user").filter(
        account=row.account, user=row.user
    )
    current, actor = membership.first(), scim_actor(row.provider)
    if is_active and current is None:
        _check_domain(row.provider, row.user.email)
        start_clean(user=row.user, email=row.user.email)
        added = add_member(account=row.account, user=row.user, role=row.provider.default_role, actor=actor)
        limit_new_member(row.provider, added, actor)
        place_members(row.provider, [row])
    elif not is_active and current is not None:
        _remove(current, actor)


def _remove(membership: Membership, actor: Actor) -> None:
    account, user = membership.account, membership.user
    try:
        remove_member(membership=membership, actor=actor)
    except UserError as error:
        raise ScimForbidden(f"{user.email} owns {account.name}. {error.message}") from error
    if not user.is_staff and not Membership.objects.filter(user=user).exists():
        ended, _models = Session.objects.filter(user=user).delete()
        forget_devices(user)
        if ended:
            audit.record(
                account=account,
                actor=actor,
                action="member.end_sessions",
                target=user.email,
                detail={"sessions": ended},
            )


def _follows(row: ScimUser) -> bool:
    """Return whether the provider may change the person's name and address: she has no other account, owns nothing,
    is no operator, and has an address of its domains."""
    elsewhere = Membership.objects.filter(user=row.user).exclude(account=row.account, role__in=_BELOW_OWNER)
    return not row.user.is_staff and not elsewhere.exists() and vouches(row.provider, row.user.email)


def _move(row: ScimUser, email: str) -> None:
    """Change the person's address too, unless she also signs in elsewhere with it or owns the account. Raises
    ScimConflict."""
    user = row.user
    if user.email == email:
        return
    other = _person(email)
    if other is not None and other != user:
        raise ScimConflict(f"{email} is the address of another person.")
    if not _follows(row):
        return
    is_verified, before = has_verified_address(user), user.email
    EmailAddress.objects.filter(user=user).delete()
    EmailAddress.objects.create(user=user, email=email, primary=True, verified=is_verified)
    user.email = email
    user.full_clean(exclude=["password"])
    user.save(update_fields=["email"])
    if is_verified:
        free_address(email=email, owner=user)
    _record(row, "change_address", {"from": before, "to": email})


_BELOW_OWNER: Final = [role for role, _label in Role.below_owner()]


def _record(row: ScimUser, verb: str, detail: dict[str, Any]) -> None:
    audit.record(
        account=row.account,
        actor=scim_actor(row.provider),
        action=f"scim_user.{verb}",
        target=row.user.email,
        detail=detail,
    )
