"""The person behind an address that a provider speaks for, whether she signs in or is provisioned."""

from __future__ import annotations

from accounts.models import Session, User
from accounts.services.addresses import has_verified_address, people_of_address, reset_unverified_person
from finops.lib.errors import UserError


def person_with_address(email: str) -> User | None:
    """Who signs in with the address. Raises UserError where it is a second address of somebody."""
    people = people_of_address(email)
    if len(people) > 1 or (people and people[0].email.lower() != email.lower()):
        raise UserError(f"{email} is a second address of another person. Remove it there first.")
    return people[0] if people else None


def create_person(*, email: str, name: str) -> User:
    """Without a password: she comes by her provider. Raises ValidationError."""
    user = User(email=email, name=name)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    return user


def start_clean(*, user: User, email: str) -> None:
    """Who signed up with the address never showed that it is hers: password, sessions and credentials from before end.
    Nothing happens to who has verified an address, or has never been here; nor to operators, whom `createsuperuser` made."""
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
