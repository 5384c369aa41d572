"""Models of single sign-on: providers and the people whom they signed in, and what providers provision by SCIM."""

from accounts.sso.models.providers import (
    AssertionClient,
    EmailDomain,
    GroupMapping,
    Identity,
    IdentityAssertion,
    IdentityProvider,
    SamlAssertion,
    SignInAttempt,
)
from accounts.sso.models.scim import ScimGroup, ScimGroupMember, ScimToken, ScimUser

__all__ = [
    "AssertionClient",
    "EmailDomain",
    "GroupMapping",
    "Identity",
    "IdentityAssertion",
    "IdentityProvider",
    "SamlAssertion",
    "ScimGroup",
    "ScimGroupMember",
    "ScimToken",
    "ScimUser",
    "SignInAttempt",
]
