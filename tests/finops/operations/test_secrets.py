"""No page of the admin console shows a secret, its hash, or what was sealed; nor can one be searched for."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import models
from django.http import HttpRequest
from django.test import Client

from accounts.keys import mint_mcp_key
from finops.operations.catalog import entries
from finops.operations.entry import Entry
from finops.operations.links import row_href
from finops.operations.model_list import default_columns, list_page
from finops.operations.model_pages import ModelPages
from finops.operations.rows import PLAIN, SECRET, is_secret, plain_fields
from finops.templatetags.components import cell_html
from tests.cast import Cast

ENTRIES = list(entries())
MARK = "Quaxolotl"
# What is hidden, so that a change shows in the diff.
HIDDEN = {
    "account.EmailConfirmation.key",
    "accounts.Invitation.digest",
    "accounts.MCPKey.digest",
    "accounts.MCPKey.lookup",
    "accounts.OAuthAccessToken.token",
    "accounts.OAuthAccessToken.token_checksum",
    "accounts.OAuthApplication.client_secret",
    "accounts.OAuthApplication.fingerprint",
    "accounts.OAuthDeviceGrant.device_code",
    "accounts.OAuthDeviceGrant.user_code",
    "accounts.OAuthGrant.claims",
    "accounts.OAuthGrant.code",
    "accounts.OAuthGrant.code_challenge",
    "accounts.OAuthGrant.code_challenge_method",
    "accounts.OAuthGrant.nonce",
    "accounts.OAuthRefreshToken.replay_salt",
    "accounts.OAuthRefreshToken.token",
    "accounts.OAuthRefreshToken.token_checksum",
    "accounts.Session.session_data",
    "accounts.Session.session_key",
    "accounts.UnsentMail.sealed",
    "accounts.User.password",
    "alerts.AlertChannel.target",
    "alerts.AlertDelivery.message",
    "alerts.AlertFiring.message",
    "alerts.AlertSubscription.fingerprint",
    "alerts.EventSubscription.target",
    "audit_webhooks.AuditWebhook.target",
    "change_events.ChangeEvent.external_id",
    "change_events.EventKey.digest",
    "change_events.EventKey.lookup",
    "connections.ConnectionPageCache.content",
    "connections.CostConnection.credentials",
    "connections.CostConnection.external_id",
    "connections.CostKey.digest",
    "connections.CostKey.lookup",
    "connections.CostPushPart.content_hash",
    "connections.SyncPeriod.fingerprint",
    "costs.CostImport.content_hashes",
    "data_exports.DataExport.credentials",
    "data_exports.DataExport.external_id",
    "data_exports.DataExportMonth.fingerprint",
    "ingestion.PushAnswer.answer",
    "ingestion.PushAnswer.body_digest",
    "ingestion.PushAnswer.key",
    "ingestion.UsageKey.digest",
    "ingestion.UsageKey.lookup",
    "ingestion.UsageUpload.digest",
    "ingestion.UsageUpload.path",
    "issues.IssueTracker.credentials",
    "lake.LakeRollup.checksum",
    "lake.LakeSegment.checksum",
    "mfa.Authenticator.data",
    "receipts.AnswerReceipt.answer",
    "receipts.AnswerReceipt.code",
    "receipts.AnswerState.digest",
    "accounts.ClientAssertion.assertion_digest",
    "sso.IdentityAssertion.assertion_digest",
    "sso.IdentityProvider.sealed_client_secret",
    "sso.SamlAssertion.assertion_digest",
    "sso.ScimToken.digest",
    "sso.ScimToken.lookup",
    "sso.SignInAttempt.sealed_identity",
    "sso.SignInAttempt.sealed_state",
    "sso.SignInAttempt.token_digest",
}


def label_of(field: Any) -> str:
    return f"{field.model._meta.label}.{field.name}"


def row_with_marks(model: type[models.Model], depth: int = 0) -> models.Model:
    """A row that no database has, whose secret fields are MARK, and so those of the rows that it names."""
    values: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if isinstance(field, models.ForeignKey):
            if depth < 2:
                values[field.name] = row_with_marks(field.related_model, depth + 1)
            continue
        if is_secret(field):
            values[field.name] = MARK.encode() if isinstance(field, models.BinaryField) else MARK
        elif field.primary_key:
            values[field.name] = 1
    return model(**values)


def test_the_redacted_fields_are_those_listed_here() -> None:
    fields = [field for entry in ENTRIES for field in entry.model._meta.concrete_fields]

    assert {label_of(field) for field in fields if is_secret(field)} == HIDDEN


def test_an_exception_of_the_rule_is_of_a_field_that_it_would_hide() -> None:
    names = {label_of(field) for entry in ENTRIES for field in entry.model._meta.concrete_fields}

    assert {label for label in PLAIN if label in names and SECRET.search(label.rpartition(".")[2])} == PLAIN


@pytest.mark.django_db
def test_the_page_of_a_row_of_each_model_has_no_secret(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in ENTRIES:
        row = row_with_marks(entry.model)
        if not row_href(row):
            continue
        monkeypatch.setattr(ModelPages, "_existing", lambda pages, object_id, row=row: row)
        answer = operator.get(row_href(row))

        assert answer.status_code == 200
        assert MARK not in answer.content.decode(), entry.model


@pytest.mark.parametrize("is_linked", [True, False], ids=["page", "CSV"])
def test_a_list_of_each_model_has_no_secret(is_linked: bool) -> None:
    for entry in ENTRIES:
        row = row_with_marks(entry.model)
        columns = entry.columns or default_columns(entry.model)
        page = list_page(entry.model, columns, entry.filters, entry.label, linked=is_linked)
        cells = [cell_html(column.value(row)) for column in page.columns]

        assert not [cell for cell in cells if MARK in cell], entry.model


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.model_label)
def test_a_search_reads_fields_that_are_shown(entry: Entry) -> None:
    for path in pages_of(entry).get_search_fields(HttpRequest()):
        model: Any = entry.model
        for name in path.split("__"):
            field = model._meta.get_field(name)
            assert field in plain_fields(model), path
            model = field.related_model if field.is_relation else None


def pages_of(entry: Entry) -> ModelPages:
    from finops.operations.site import site

    pages = site._registry[entry.model]
    assert isinstance(pages, ModelPages)
    return pages


def test_a_secret_is_no_sort_and_no_filter(cast: Cast, operator: Client) -> None:
    key, _plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    for query in (f"lookup={'0' * 12}", "sort=digest", "digest=00"):
        assert "Claude" in operator.get(f"/admin/accounts/mcpkey/?{query}").content.decode()
    assert "Claude" not in operator.get(f"/admin/accounts/mcpkey/?q={key.lookup}").content.decode()
