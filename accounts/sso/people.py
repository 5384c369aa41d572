"""The person behind an address of a provider's domain, for sign-in and provisioning."""

from __future__ import annotations

from accounts.models import Session, User
from accounts.services.addresses import has_verified_address, people_of_address, reset_unverified_person
from finops.lib.errors import UserError


def person_with_address(email: str) -> User | None:
    """Return the person who signs in with the address. Raises UserError if it is a secondary address of a person."""
    people = people_of_address(email)
    if len(people) > 1 or (people and people[0].email.lower() != email.lower()):
        raise UserError(f"{email} is a second address of another person. Remove it there first.")
    return people[0] if people else None


def create_person(*, email: str, name: str) -> User:
    """Create a person without a password, who signs in through the provider. Raises ValidationError."""
    user = User(email=email, name=name)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    return user


def start_clean(*, user: User, email: str) -> None:
    """End password, sessions and credentials of a person who signed up with the address and never verified it: it may
    have been somebody else. Does nothing for a verified address, for a person who never signed in, and for operators
    (`createsuperuser`)."""
    if (
        user.is_staff
        or has_verified_address(user)
        or (not user.has_usable_password() and not user.last_login)
    ):
        return
    user.set_unusable_password()
    user.save(update_fields=["password"])
    reset_unverified_person(user=user, email=email)
    Session.objects.filter(user=user).delete()
