from accounts.models.audit import AuditEntry
from accounts.models.deletion import AccountDeletion
from accounts.models.glossary import GlossaryTerm
from accounts.models.invitation import Invitation
from accounts.models.keys import MCPKey
from accounts.models.mail import UnsentMail
from accounts.models.oauth import (
    ClientAssertion,
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthDeviceGrant,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
    ServiceAccount,
    UsedAssertion,
)
from accounts.models.people import Account, Membership, Role, Theme, User
from accounts.models.security import SecurityEvent, Session

__all__ = [
    "Account",
    "AccountDeletion",
    "AuditEntry",
    "ClientAssertion",
    "GlossaryTerm",
    "Invitation",
    "MCPKey",
    "Membership",
    "OAuthAccessToken",
    "OAuthApplication",
    "OAuthConnection",
    "OAuthDeviceGrant",
    "OAuthGrant",
    "OAuthIDToken",
    "OAuthRefreshToken",
    "Role",
    "SecurityEvent",
    "ServiceAccount",
    "Session",
    "Theme",
    "UnsentMail",
    "UsedAssertion",
    "User",
]
