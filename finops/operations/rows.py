"""The fields of a row that operators may read: rows of every account, never a secret or its hash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db import models

from accounts.scoping import ScopedManager

if TYPE_CHECKING:
    Field: TypeAlias = models.Field[Any, Any]
else:
    Field = models.Field
Row = models.Model

SECRET = re.compile(
    r"(password|secret|token|digest|hash|sealed|credentials?$|checksum|fingerprint|salt|session_|nonce"
    r"|^code|_code$|^claims$|^data$|^lookup$|^target$|external_id)"
)
"""Parts of names of fields that hold a secret, a hash, or sealed data. A new field is hidden by its name."""

PLAIN = frozenset(
    {
        "accounts.OAuthApplication.hash_client_secret",  # whether the secret is hashed
        "accounts.AuditEntry.target",  # what was acted on
        "accounts.OAuthRefreshToken.access_token",  # a row, by its number
        "accounts.OAuthAccessToken.source_refresh_token",
        "accounts.OAuthAccessToken.id_token",
        "accounts.OAuthRefreshToken.token_family",  # a random number that opens nothing
        "accounts.OAuthConnection.session_had_factor",
        "accounts.Account.session_max_hours",
        "accounts.Account.session_idle_minutes",
        "sso.ScimUser.external_id",  # the provider's name for her
        "sso.ScimGroup.external_id",
        "ingestion.UsageDay.digest",  # of lines that a day had, to recognize them
        "ai_spend.AiPrice.token_type",  # input, output
        "backup.BackupRun.target",  # a folder or URL, whose password is hidden
        "alerts.AlertSubscription.target",  # the unit cost that it compares with
    }
)
"""Fields whose names match SECRET although they hold no secret."""

ALSO_SECRET = frozenset(
    {
        "account.EmailConfirmation.key",  # of the link in the mail
        "alerts.AlertDelivery.message",  # links of mails let people in
        "alerts.AlertFiring.message",
        "ingestion.UsageUpload.path",  # of this server's disk
        "ingestion.PushAnswer.key",  # a client's own
    }
)
"""Fields that are hidden although their names do not match SECRET."""


def all_rows(model: type[Row]) -> models.QuerySet[Any]:
    """Rows of every account: the one place where the console leaves the scope, because operators run the whole service."""
    manager = model._default_manager
    return manager.unscoped() if isinstance(manager, ScopedManager) else manager.all()


def is_secret(field: Field) -> bool:
    """Whether the field is hidden from operators: binary, or named as in SECRET, unless in PLAIN."""
    name = f"{field.model._meta.label}.{field.name}"
    if name in ALSO_SECRET or isinstance(field, models.BinaryField):
        return True
    return bool(SECRET.search(field.name)) and name not in PLAIN


def plain_fields(model: type[Row]) -> list[Field]:
    """The model's own fields that operators may see, in their order."""
    return [field for field in model._meta.concrete_fields if not is_secret(field)]


def has_secret_key(model: type[Row]) -> bool:
    """Whether the primary key is a secret's hash: such rows have no page of their own."""
    return is_secret(model._meta.pk)


def has_plain_name(model: type[Row]) -> bool:
    """Whether the model is the project's, so that `str()` of a row holds no secret. That of libraries' models may be a
    token."""
    return model.__str__.__module__.startswith(("accounts", "finops", "ingestion", "mcpserver"))


def row_name(row: Row) -> str:
    """The row's name in the console: its own name, or its model with the name of its loaded source, or its model and
    number. No query."""
    for name in ("name", "email", "title", "term", "file_name", "label"):
        field = next((each for each in plain_fields(type(row)) if each.name == name), None)
        if field is not None and (value := field.value_from_object(row)):
            return str(value)
    noun = str(row._meta.verbose_name)
    if has_secret_key(type(row)):
        return noun
    noun = f"{noun[:1].upper()}{noun[1:]}"
    sources = [row._state.fields_cache.get(name) for name in ("source", "usage_source", "event_source")]
    source = next(filter(None, sources), None)
    return f"{noun} of {row_name(source)}" if source else f"{noun} {row.pk}"
