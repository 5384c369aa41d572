"""What single sign-on stores: providers and the people they signed in, and what they provision by SCIM."""

from accounts.sso.models.providers import (
    EmailDomain,
    GroupMapping,
    Identity,
    IdentityProvider,
    SamlAssertion,
    SignInAttempt,
)
from accounts.sso.models.scim import ScimGroup, ScimGroupMember, ScimToken, ScimUser

__all__ = [
    "EmailDomain",
    "GroupMapping",
    "Identity",
    "IdentityProvider",
    "SamlAssertion",
    "ScimGroup",
    "ScimGroupMember",
    "ScimToken",
    "ScimUser",
    "SignInAttempt",
]
