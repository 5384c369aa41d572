"""Single sign-on for operators: providers of the whole service, domains without DNS, and the way back in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import Actor
from accounts.sso import oidc, saml_settings
from accounts.sso.models import IdentityProvider
from accounts.sso.services import (
    add_domain,
    change_enforcement,
    confirm_domain,
    delete_provider,
    disable_provider,
    enable_provider,
    save_provider,
    test_connection,
)
from finops.lib.errors import UserError
from finops.lib.extras import require_extra

ACTOR = Actor.command("sign_on")
_CHANGES = {"delete": delete_provider, "disable": disable_provider, "enable": enable_provider}


class Command(BaseCommand):
    help = (
        "List identity providers, add one of the whole service, confirm a domain, enforce or stop enforcing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="every provider with its ID")
        add_oidc = actions.add_parser("add-oidc", help="OpenID Connect for the whole service")
        for name in ("--name", "--issuer", "--client-id"):
            add_oidc.add_argument(name, required=True)
        add_oidc.add_argument(
            "--secret-variable", default="", help="environment variable with the client secret"
        )
        add_saml = actions.add_parser("add-saml", help="SAML for the whole service")
        add_saml.add_argument("--name", required=True)
        add_saml.add_argument("--metadata", required=True, help="file with the provider's metadata XML")
        confirm = actions.add_parser("confirm-domain", help="verify a domain without DNS")
        confirm.add_argument("provider", type=UUID)
        confirm.add_argument("domain")
        for name, text in (
            ("enforce", "enforce single sign-on for its domains"),
            ("stop-enforcing", "stop enforcing single sign-on"),
            ("disable", "turn off a provider of the whole service"),
            ("enable", "let people sign in through it again"),
            ("test", "check the provider's settings"),
            ("delete", "delete a provider; people stay"),
        ):
            actions.add_parser(name, help=text).add_argument("provider", type=UUID)

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            self._run(options)
        except UserError as error:
            raise CommandError(error.message) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error

    def _run(self, options: dict[str, Any]) -> None:
        action = options["action"]
        if action == "list":
            self._list()
        elif action in ("add-oidc", "add-saml"):
            self._add(action, options)
        else:
            self._change(action, options)

    def _list(self) -> None:
        for row in IdentityProvider.objects.select_related("account").prefetch_related("domains"):
            where = row.account.slug if row.account else "whole service"
            domains = ", ".join(
                f"{each.domain}{'' if each.verified_at else ' (not verified)'}" for each in row.domains.all()
            )
            enforced = "disabled" if row.disabled_at else "enforced" if row.is_enforced else "optional"
            self.stdout.write(f"{row.public_id}  {row.name}  {where}  {row.protocol}  {enforced}  {domains}")

    def _add(self, action: str, options: dict[str, Any]) -> None:
        if action == "add-oidc":
            row = IdentityProvider(
                protocol="oidc",
                name=options["name"],
                issuer=options["issuer"],
                client_id=options["client_id"],
            )
            secret = os.environ.get(options["secret_variable"], "") if options["secret_variable"] else None
            urls = [oidc.redirect_uri(row)]
        else:
            require_extra("SAML")
            from accounts.sso import saml

            xml = Path(options["metadata"]).read_text(encoding="utf-8")
            row, secret = (
                IdentityProvider(protocol="saml", name=options["name"], **saml.read_metadata(xml)),
                None,
            )
            urls = [saml_settings.acs_url(row), saml_settings.metadata_url(row)]
        save_provider(provider=row, actor=ACTOR, client_secret=secret)
        self.stdout.write(f"Added {row.name}: {row.public_id}\nEnter at the provider: {' '.join(urls)}")

    def _change(self, action: str, options: dict[str, Any]) -> None:
        row = IdentityProvider.objects.select_related("account").filter(public_id=options["provider"]).first()
        if row is None:
            raise CommandError("There is no provider with this ID. `sign_on list` shows them.")
        if action == "confirm-domain":
            domain = row.domains.filter(domain=options["domain"].strip().lower()).first()
            confirm_domain(
                row=domain or add_domain(provider=row, actor=ACTOR, domain=options["domain"]), actor=ACTOR
            )
        elif action == "test":
            test_connection(row)
        elif action in _CHANGES:
            _CHANGES[action](provider=row, actor=ACTOR)
        else:
            change_enforcement(
                provider=row, actor=ACTOR, is_enforced=action == "enforce", signed_in_through_it=True
            )
        self.stdout.write("Done.")
