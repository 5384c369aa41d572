"""The fields of a provider that decide who can sign in: once a domain is verified, only the owner may change them.

A person who changes a certificate or an issuer can sign in as anybody of the verified domains, including the owner, or as
one of its people who owns another account. An email to the owner alone would come after the sign-in.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

from accounts.audit import Actor
from accounts.models import Membership, Role, User
from accounts.services.mails import mail_sign_on_change
from accounts.sso.models import EmailDomain, IdentityProvider
from finops.lib.errors import UserError
from finops.lib.sentences import join_with_and

TRUST_FIELDS: Final = {
    "issuer": "issuer",
    "client_id": "client ID",
    "sign_on_url": "sign-on URL",
    "certificates": "signing certificates",
}
"""These fields and their names in messages."""


def may_change_trust(provider: IdentityProvider, user: User) -> bool:
    """Return whether a member may change these fields: the owner always, others while the provider has no verified
    domain. Two queries."""
    if provider.account_id is None or not _verified_domains(provider):
        return True
    return Membership.objects.filter(account=provider.account_id, user=user, role=Role.OWNER).exists()


def changed_trust(before: IdentityProvider | None, after: IdentityProvider) -> list[str]:
    """Return the names of changed fields, ignoring blanks and line breaks. Empty for a new provider."""
    if before is None:
        return []
    return [name for name in TRUST_FIELDS if getattr(before, name).split() != getattr(after, name).split()]


def check_trust(provider: IdentityProvider, actor: Actor, changed: Sequence[str]) -> None:
    """Raises UserError for a person who may not change these fields. Commands may change them."""
    if changed and actor.user is not None and not may_change_trust(provider, actor.user):
        raise UserError(
            f"Only the owner can change the {join_with_and([TRUST_FIELDS[name] for name in changed])}: the provider has a verified "
            "domain.",
            field=changed[0],
        )


def follow_trust_change(provider: IdentityProvider, actor: Actor, changed: Sequence[str]) -> None:
    """Replace the records of unverified domains, because a domain's owner who publishes one trusts the former
    settings. The owner and admins get an email if the provider has a verified domain."""
    for row in provider.domains.filter(verified_at=None):
        row.record = new_record()
        row.save(update_fields=["record"])
    domains = _verified_domains(provider)
    if provider.account is not None and domains:
        fields = join_with_and([TRUST_FIELDS[name] for name in changed])
        mail_sign_on_change(
            account=provider.account,
            actor=actor,
            change=f"changed the {fields} of",
            provider=provider.name,
            domains=domains,
        )


def new_record() -> str:
    """Return the text of a TXT record that verifies a domain."""
    return f"finops-console-verification={secrets.token_hex(16)}"


def _verified_domains(provider: IdentityProvider) -> list[str]:
    rows = EmailDomain.objects.filter(provider=provider.pk, verified_at__isnull=False)
    return list(rows.values_list("domain", flat=True))
