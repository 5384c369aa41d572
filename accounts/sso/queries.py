"""Queries for the provider of an address, an account or the service."""

from __future__ import annotations

import idna
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Account
from accounts.sso.models import EmailDomain, IdentityProvider


def domain_of(email: str) -> str:
    return email.rpartition("@")[2].strip().lower()


def _spellings(domain: str) -> set[str]:
    """Return the spellings of a domain: `bücher.example` is `xn--bcher-kva.example` in DNS."""
    try:
        return {domain, idna.encode(domain, uts46=True).decode()}
    except idna.IDNAError:
        return {domain}


def providers_of(account: Account | None) -> QuerySet[IdentityProvider]:
    """Return the providers of an account, or of the whole service."""
    return IdentityProvider.objects.filter(account=account)


def service_providers() -> QuerySet[IdentityProvider]:
    """Return the active providers of the whole service."""
    return providers_of(None).filter(disabled_at=None)


def provider_of_email(email: str) -> IdentityProvider | None:
    """Return the provider for which the address's domain is verified, unless it is disabled. One query."""
    provider = _owner_of_domain(email)
    return provider if provider is not None and provider.disabled_at is None else None


def _owner_of_domain(email: str) -> IdentityProvider | None:
    """Return the verified provider of a domain, for any spelling of the domain."""
    domains = EmailDomain.objects.filter(
        provider=OuterRef("pk"), domain__in=_spellings(domain_of(email)), verified_at__isnull=False
    )
    rows = IdentityProvider.objects.filter(Exists(domains), account__suspended_at=None)
    return rows.select_related("account").first()


def enforced_provider_of_email(email: str) -> IdentityProvider | None:
    """Return the provider of the address's domain if it is enforced. One query."""
    provider = provider_of_email(email)
    return provider if provider is not None and provider.is_enforced else None


def vouches(provider: IdentityProvider, email: str) -> bool:
    """Return whether the provider vouches for the address by a verified domain. A provider of the service without
    domains vouches for all addresses except those of other providers' verified domains."""
    if provider.domains.filter(domain=domain_of(email), verified_at__isnull=False).exists():
        return True
    if provider.account_id is not None or provider.domains.filter(verified_at__isnull=False).exists():
        return False
    return _owner_of_domain(email) is None
