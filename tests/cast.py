"""The one cast of every test: owner, member, viewer, a stranger with her own account, a person in two."""

from __future__ import annotations

import dataclasses

from django.test import Client

from accounts.audit import Actor
from accounts.models import Account, Role, User
from accounts.services import add_member, create_account

PASSWORD = "correct horse battery staple"


@dataclasses.dataclass(frozen=True)
class Cast:
    owner: User
    admin: User
    member: User
    viewer: User
    stranger: User
    both: User
    account: Account
    other_account: Account

    @property
    def actor(self) -> Actor:
        return Actor.of_user(self.member)

    @property
    def other_actor(self) -> Actor:
        return Actor.of_user(self.stranger)

    def person(self, name: str) -> User:
        user = getattr(self, name)
        assert isinstance(user, User)
        return user


def make_cast() -> Cast:
    people = {name: _person(name) for name in ("owner", "admin", "member", "viewer", "stranger", "both")}
    account = create_account(name="Acme", owner=people["owner"], slug="acme")
    other = create_account(name="Elsewhere", owner=people["stranger"], slug="elsewhere")
    by_owner, by_stranger = Actor.of_user(people["owner"]), Actor.of_user(people["stranger"])
    for name in ("admin", "member", "viewer"):
        add_member(account=account, user=people[name], role=Role(name), actor=by_owner)
    add_member(account=account, user=people["both"], role=Role.MEMBER, actor=by_owner)
    add_member(account=other, user=people["both"], role=Role.VIEWER, actor=by_stranger)
    return Cast(**people, account=account, other_account=other)


def _person(name: str) -> User:
    user = User(email=f"{name}@example.com", name=name.capitalize())
    # A cheap hash: the suite makes hundreds of people, and none of them is attacked.
    user.password = _HASHED
    user.save()
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _hash() -> str:
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    return PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)


_HASHED = _hash()
