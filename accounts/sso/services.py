"""Writes on identity providers, their domains and group mappings. Callers check permissions."""

from __future__ import annotations

import re
from typing import Any, Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.reader_limits import assign_limit
from accounts.scoping import account_scope, lock_account
from accounts.services.mails import mail_sign_on_change
from accounts.sso import oidc, saml_settings
from accounts.sso.assertion_clients import (
    end_assertion_connections,
    end_assertion_tokens,
    remove_assertion_clients,
)
from accounts.sso.dns import txt_records
from accounts.sso.groups import team_directories
from accounts.sso.models import EmailDomain, GroupMapping, IdentityProvider
from accounts.sso.queries import domain_of
from accounts.sso.secrets import seal_client_secret
from accounts.sso.trust import changed_trust, check_trust, follow_trust_change, new_record
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.text_validation import single_line

MAX_PROVIDERS: Final = 5
MAX_DOMAINS: Final = 50
MAX_MAPPINGS: Final = 200
_DOMAIN: Final = re.compile(
    r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]"
)
PUBLIC_MAIL_DOMAINS: Final = frozenset(
    [
        "gmail.com",
        "googlemail.com",
        "outlook.com",
        "hotmail.com",
        "live.com",
        "msn.com",
        "yahoo.com",
        "ymail.com",
        "icloud.com",
        "me.com",
        "mac.com",
        "aol.com",
        "proton.me",
        "protonmail.com",
        "pm.me",
        "gmx.com",
        "gmx.de",
        "gmx.net",
        "web.de",
        "t-online.de",
        "mail.com",
        "mail.ru",
        "yandex.com",
        "yandex.ru",
        "qq.com",
        "163.com",
        "126.com",
        "zoho.com",
        "fastmail.com",
        "tutanota.com",
        "hey.com",
        "orange.fr",
        "free.fr",
        "laposte.net",
        "libero.it",
        "comcast.net",
        "verizon.net",
        "att.net",
        "btinternet.com",
        "onmicrosoft.com",
    ]
)


@transaction.atomic
def save_provider(
    *,
    provider: IdentityProvider,
    actor: Actor,
    client_secret: str | None = None,
    limit: str | None = None,
) -> IdentityProvider:
    """Create or change a provider. `client_secret` None keeps the stored secret, which is never shown. `limit` is a
    choice of `reader_limits` for members that the provider adds; None keeps it.

    Only the owner may change issuer, client ID, sign-on URL and certificates of a provider with a verified domain;
    the owner and admins get an email.

    Another issuer makes it another provider: linked identities are removed, so that nobody can sign
    in by a subject of a different server, and the client secret must be entered again. Raises ValidationError, and
    UserError beyond 5 providers, without that secret and for unreadable SAML settings.
    """
    stored = IdentityProvider.objects.select_for_update(of=("self",))
    before = stored.filter(pk=provider.pk).first() if provider.pk else None
    account = provider.account
    if account is not None:
        lock_account(account)
    if before is None and IdentityProvider.objects.filter(account=account).count() >= MAX_PROVIDERS:
        raise UserError(f"The maximum is {MAX_PROVIDERS} identity providers. Delete one first.")
    provider.name = single_line(provider.name, field="name", longest=100)
    provider.issuer = single_line(provider.issuer, field="issuer", longest=500)
    changed = changed_trust(before, provider)
    check_trust(provider, actor, changed)
    _set_client_secret(provider, before, client_secret)
    provider.full_clean()
    if provider.protocol == IdentityProvider.Protocol.SAML:
        saml_settings.check_settings(provider)
    provider.save()
    if before is not None and before.issuer != provider.issuer:
        _unlink_people(provider, actor)
    if changed:
        follow_trust_change(provider, actor, changed)
    detail = {
        "changed": changed,
        "protocol": provider.protocol,
        "issuer": provider.issuer,
        "default_role": provider.default_role,
        "creates_people": provider.creates_people,
        "requires_factor_claim": provider.requires_factor_claim,
        "secret_changed": client_secret is not None,
    }
    _record(provider, actor, "create" if before is None else "change", provider.name, detail)
    if limit is not None:
        assign_limit(provider, limit, actor)
    return provider


def _unlink_people(provider: IdentityProvider, actor: Actor) -> None:
    provider.identities.all().delete()
    end_assertion_connections(provider, actor)


def _set_client_secret(
    provider: IdentityProvider, before: IdentityProvider | None, client_secret: str | None
) -> None:
    if client_secret is not None:
        seal_client_secret(provider, client_secret)
    elif before is not None and before.issuer != provider.issuer and before.sealed_client_secret:
        # Otherwise an admin who does not know the secret could have it sent to another server.
        raise UserError("Enter the client secret again: the issuer has changed.", field="client_secret")


@transaction.atomic
def delete_provider(*, provider: IdentityProvider, actor: Actor) -> None:
    """Delete a provider with its domains, clients and linked identities. The people stay members and sign in
    otherwise."""
    _record(provider, actor, "delete", provider.name, {"identities": provider.identities.count()})
    remove_assertion_clients(provider, actor)
    provider.delete()


def disable_provider(*, provider: IdentityProvider, actor: Actor) -> None:
    """Refuse sign-in through the provider and stop enforcing its domains, which stay bound to it; open sessions
    continue. Ends the tokens of its clients at once and refuses their assertions. Idempotent. Raises ValidationError
    for a provider of an account."""
    _disable(provider, actor, is_disabled=True)


def enable_provider(*, provider: IdentityProvider, actor: Actor) -> None:
    """Allow sign-in through the provider again. Idempotent."""
    _disable(provider, actor, is_disabled=False)


@transaction.atomic
def _disable(provider: IdentityProvider, actor: Actor, *, is_disabled: bool) -> None:
    row = IdentityProvider.objects.select_for_update(of=("self",)).get(pk=provider.pk)
    if (row.disabled_at is not None) == is_disabled:
        return
    row.disabled_at = provider.disabled_at = clock.now() if is_disabled else None
    row.full_clean()
    row.save(update_fields=["disabled_at"])
    if is_disabled:
        end_assertion_tokens(row)
    _record(row, actor, "disable" if is_disabled else "enable", row.name, {})


@transaction.atomic
def change_enforcement(
    *, provider: IdentityProvider, actor: Actor, is_enforced: bool, signed_in_through_it: bool
) -> None:
    """Turn the requirement to sign in through the provider on or off. Raises UserError without a verified domain, for
    a person who has not signed in through it, and while the account enforces another provider."""
    if provider.account is not None:
        lock_account(provider.account)
    row = IdentityProvider.objects.select_for_update().get(pk=provider.pk)
    if row.is_enforced == is_enforced:
        return
    if is_enforced:
        if row.disabled_at is not None:
            raise UserError("Enable the provider first.")
        if not row.domains.filter(verified_at__isnull=False).exists():
            raise UserError("Verify a domain first.")
        if not signed_in_through_it:
            raise UserError(
                f"Sign in through {row.name} first, so that you do not lock yourself out, then enforce it."
            )
        enforced_providers = IdentityProvider.objects.filter(account=row.account, is_enforced=True)
        if row.account_id is not None and (other := enforced_providers.first()) is not None:
            raise UserError(f"{other.name} is enforced already. Turn that off first.")
    row.is_enforced = provider.is_enforced = is_enforced
    row.save(update_fields=["is_enforced"])
    _record(row, actor, "enforce" if is_enforced else "stop_enforcing", row.name, {})


@transaction.atomic
def add_domain(*, provider: IdentityProvider, actor: Actor, domain: str) -> EmailDomain:
    """Add an unverified domain. Raises UserError for an invalid domain and for a public mail provider,
    ValidationError for a domain in the list."""
    name = domain_of(domain.strip().lower().removeprefix("https://").rstrip("/.")) or domain.strip().lower()
    try:
        name = name.encode("idna").decode()
    except UnicodeError as error:
        raise UserError("Enter a domain, such as example.com.", field="domain") from error
    if not _DOMAIN.fullmatch(name):
        raise UserError("Enter a domain, such as example.com.", field="domain")
    if any(name == public or name.endswith(f".{public}") for public in PUBLIC_MAIL_DOMAINS):
        raise UserError(
            f"{name} is a public mail provider's. Enter a domain of your company.", field="domain"
        )
    if provider.domains.count() >= MAX_DOMAINS:
        raise UserError(f"The maximum is {MAX_DOMAINS} domains.", field="domain")
    row = EmailDomain(provider=provider, domain=name, record=new_record())
    row.full_clean()
    row.save()
    _record(provider, actor, "add_domain", name, {"provider": provider.name})
    return row


def verify_domain(*, row: EmailDomain, actor: Actor) -> None:
    """Verify a domain by its TXT record. Raises UserError with the records that DNS has instead, and ValidationError
    for a domain of another provider. Up to 5 s."""
    records = txt_records(row.domain)
    if row.record not in records:
        other_records = f" It has {len(records)} other TXT records." if records else " It has no TXT record."
        raise UserError(
            f"{row.domain} does not have the TXT record yet.{other_records} DNS changes may take an hour.",
            field="domain",
        )
    _verify(row, actor, by="")


def confirm_domain(*, row: EmailDomain, actor: Actor) -> None:
    """Verify a domain by decision of the operator, without DNS. Raises ValidationError for a domain of another
    provider."""
    _verify(row, actor, by=actor.label)


@transaction.atomic
def _verify(row: EmailDomain, actor: Actor, by: str) -> None:
    provider = IdentityProvider.objects.select_for_update(of=("self",)).get(pk=row.provider_id)
    stored = EmailDomain.objects.filter(pk=row.pk).first()
    if stored is None or stored.record != row.record:
        raise UserError("The provider has changed, and the TXT record with it. Publish the new one.")
    row.verified_at, row.confirmed_by = clock.now(), by
    row.full_clean()
    row.save(update_fields=["verified_at", "confirmed_by"])
    _record(row.provider, actor, "verify_domain", row.domain, {"by": by or "DNS"})
    if provider.account is not None:
        mail_sign_on_change(
            account=provider.account,
            actor=actor,
            change=f"verified the domain {row.domain} for",
            provider=provider.name,
            domains=[row.domain],
        )


@transaction.atomic
def remove_domain(*, row: EmailDomain, actor: Actor) -> None:
    """Remove a domain from the provider. Raises UserError for the last one while the provider is enforced."""
    other_domains = row.provider.domains.filter(verified_at__isnull=False).exclude(pk=row.pk)
    if row.provider.is_enforced and row.verified_at and not other_domains.exists():
        raise UserError("This is the last domain of an enforced provider. Stop enforcing it first.")
    _record(row.provider, actor, "remove_domain", row.domain, {})
    row.delete()


@transaction.atomic
def add_group_mapping(
    *, account: Account, actor: Actor, group: str, role: str = "", team_id: int | None = None
) -> GroupMapping:
    """Raises ValidationError for a group with a mapping, and without role and team; UserError for an unknown team."""
    lock_account(account)
    with account_scope(account):
        if GroupMapping.objects.count() >= MAX_MAPPINGS:
            raise UserError(f"The maximum is {MAX_MAPPINGS} group mappings.")
        if team_id is not None and team_id not in team_names(account):
            raise UserError("Choose a team of the account.", field="team_id")
        name = single_line(group, field="group", longest=255)
        row = GroupMapping(account=account, group=name, role=role, team_id=team_id)
        row.full_clean()
        row.save(force_insert=True)
    detail = {"role": role, "team": team_names(account).get(team_id or 0, "")}
    audit.record(account=account, actor=actor, action="group_mapping.add", target=name, detail=detail)
    return row


@transaction.atomic
def remove_group_mapping(*, row: GroupMapping, actor: Actor) -> None:
    """Remove a mapping. Members keep their role and teams until their next sign-in."""
    audit.record(account=row.account, actor=actor, action="group_mapping.remove", target=row.group)
    with account_scope(row.account):
        row.delete()


def team_names(account: Account) -> dict[int, str]:
    """Names of the account's teams, by id."""
    return {pk: name for each in team_directories.values() for pk, name in each.names(account).items()}


def test_connection(provider: IdentityProvider) -> None:
    """Test the provider's settings. Raises UserError with the reason. OpenID Connect sends requests to the provider:
    up to 30 s."""
    if provider.protocol == IdentityProvider.Protocol.OIDC:
        oidc.test_client(provider)
    else:
        saml_settings.check_settings(provider)


def provider_urls(provider: IdentityProvider) -> list[tuple[str, str]]:
    """Return label and value of each URL to enter at the provider."""
    if provider.protocol == IdentityProvider.Protocol.OIDC:
        return [("Redirect URI", oidc.redirect_uri(provider))]
    return [
        ("ACS URL", saml_settings.acs_url(provider)),
        ("Entity ID and metadata URL", saml_settings.metadata_url(provider)),
    ]


def _record(provider: IdentityProvider, actor: Actor, verb: str, target: str, detail: dict[str, Any]) -> None:
    """Record the action in the account's audit log. A provider of the whole service has no account: commands print
    their actions and the admin console records them in the operator log."""
    if provider.account is not None:
        audit.record(
            account=provider.account,
            actor=actor,
            action=f"identity_provider.{verb}",
            target=target,
            detail=detail,
        )
