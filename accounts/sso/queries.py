"""Which provider an address, an account or the service has."""

from __future__ import annotations

import idna
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Account
from accounts.sso.models import EmailDomain, IdentityProvider


def domain_of(email: str) -> str:
    return email.rpartition("@")[2].strip().lower()


def _spellings(domain: str) -> set[str]:
    """A domain as it stands and as DNS has it: `bücher.example` is `xn--bcher-kva.example`."""
    try:
        return {domain, idna.encode(domain, uts46=True).decode()}
    except idna.IDNAError:
        return {domain}


def providers_of(account: Account | None) -> QuerySet[IdentityProvider]:
    """Of an account, or of the whole service."""
    return IdentityProvider.objects.filter(account=account)


def service_providers() -> QuerySet[IdentityProvider]:
    """Those of the whole service that people sign in through."""
    return providers_of(None).filter(disabled_at=None)


def provider_of_email(email: str) -> IdentityProvider | None:
    """The one that its domain is verified for, unless it is disabled. One query."""
    provider = _owner_of_domain(email)
    return provider if provider is not None and provider.disabled_at is None else None


def _owner_of_domain(email: str) -> IdentityProvider | None:
    """However the domain is spelt."""
    mine = EmailDomain.objects.filter(
        provider=OuterRef("pk"), domain__in=_spellings(domain_of(email)), verified_at__isnull=False
    )
    rows = IdentityProvider.objects.filter(Exists(mine), account__suspended_at=None)
    return rows.select_related("account").first()


def enforced_provider_of_email(email: str) -> IdentityProvider | None:
    """The same, where it is enforced. One query."""
    provider = provider_of_email(email)
    return provider if provider is not None and provider.is_enforced else None


def vouches(provider: IdentityProvider, email: str) -> bool:
    """Whether the provider speaks for the address: by a verified domain; one of the service without domains for all but
    those that are verified for another."""
    if provider.domains.filter(domain=domain_of(email), verified_at__isnull=False).exists():
        return True
    if provider.account_id is not None or provider.domains.filter(verified_at__isnull=False).exists():
        return False
    return _owner_of_domain(email) is None
