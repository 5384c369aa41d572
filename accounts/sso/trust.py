"""What of a provider says whom it signs in: with a verified domain, its owner alone changes it.

Who changes a certificate or an issuer can sign in as anybody of the verified domains, the owner too (ADR 0084).
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
"""Fields of a provider, and what sentences call them."""


def may_change_trust(provider: IdentityProvider, user: User) -> bool:
    """Whether a member may change these fields: the owner; others as long as the provider speaks for no domain. Two queries."""
    if provider.account_id is None or not _verified_domains(provider):
        return True
    return Membership.objects.filter(account=provider.account_id, user=user, role=Role.OWNER).exists()


def changed_trust(before: IdentityProvider | None, after: IdentityProvider) -> list[str]:
    """Names of the fields that differ; blanks and line breaks do not count. Empty for a new provider."""
    if before is None:
        return []
    return [name for name in TRUST_FIELDS if getattr(before, name).split() != getattr(after, name).split()]


def check_trust(provider: IdentityProvider, actor: Actor, changed: Sequence[str]) -> None:
    """Raises UserError for a person who may not change these fields. Commands may."""
    if changed and actor.user is not None and not may_change_trust(provider, actor.user):
        raise UserError(
            f"Only the owner can change the {join_with_and([TRUST_FIELDS[name] for name in changed])}: the provider has a verified "
            "domain.",
            field=changed[0],
        )


def follow_trust_change(provider: IdentityProvider, actor: Actor, changed: Sequence[str]) -> None:
    """Records that wait for their proof are other ones, since whoever publishes one trusts what the provider was. The owner and
    admins get an e-mail where it speaks for a domain."""
    for row in provider.domains.filter(verified_at=None):
        row.record = new_record()
        row.save(update_fields=["record"])
    domains = _verified_domains(provider)
    if provider.account is not None and domains:
        what = join_with_and([TRUST_FIELDS[name] for name in changed])
        mail_sign_on_change(
            account=provider.account,
            actor=actor,
            change=f"changed the {what} of",
            provider=provider.name,
            domains=domains,
        )


def new_record() -> str:
    """The text of a TXT record that proves a domain."""
    return f"finops-console-verification={secrets.token_hex(16)}"


def _verified_domains(provider: IdentityProvider) -> list[str]:
    rows = EmailDomain.objects.filter(provider=provider.pk, verified_at__isnull=False)
    return list(rows.values_list("domain", flat=True))
