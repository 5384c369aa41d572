"""TXT records, which prove the ownership of a domain."""

from __future__ import annotations

from typing import Final

import dns.exception
import dns.resolver
from django.conf import settings

from finops.lib.errors import UserError

SECONDS: Final = 5.0


def txt_records(domain: str) -> list[str]:
    """Return the TXT records of a domain; empty if there are none. Raises UserError if DNS does not answer. Up to 5
    s."""
    servers: list[str] = settings.SSO_DNS_SERVERS
    resolver = dns.resolver.Resolver(configure=not servers)
    if servers:
        host, _, port = servers[0].partition(":")
        resolver.nameservers, resolver.port = [host], int(port or 53)
    try:
        answer = resolver.resolve(f"{domain}.", "TXT", lifetime=SECONDS, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except (dns.exception.DNSException, OSError) as error:
        raise UserError(f"DNS did not answer for {domain}. Try again in a minute.", field="domain") from error
    return [b"".join(record.strings).decode("utf-8", "replace") for record in answer]
