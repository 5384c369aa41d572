"""The claims of a signed-in person, in one form for every protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from finops.lib.errors import UserError

MAX_GROUPS = 2_000


class SignInRefusal(UserError):
    """A refused sign-in; the message gives the reason to the person and in the log."""


@dataclass(frozen=True)
class Claims:
    """Claims about a person. `groups` is None if the provider left them out (too many for a token), and empty if the
    person has none. `email_verified` is None without such a claim. `has_second_factor`: the provider states that it
    required one."""

    subject: str
    email: str
    email_verified: bool | None
    name: str
    groups: list[str] | None
    has_second_factor: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(**values)


def check_claims(claims: Claims) -> Claims:
    """Return the claims with the email in lower case. Raises SignInRefusal without a subject or an email."""
    if not claims.subject or len(claims.subject) > 255 or "\0" in claims.subject:
        raise SignInRefusal("The identity provider sent no usable subject.")
    email = claims.email.strip().lower()
    local, at, domain = email.rpartition("@")
    if not (local and at and domain) or len(email) > 254 or not email.isprintable() or " " in email:
        raise SignInRefusal(
            "The identity provider sent no email address. Add the email claim or attribute to the application there."
        )
    groups = None if claims.groups is None else claims.groups[:MAX_GROUPS]
    return replace(claims, email=email, name=claims.name.strip()[:150], groups=groups)


def as_texts(value: Any) -> list[str]:
    """Return a claim with one or several texts as a list."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and each and "\0" not in each]
