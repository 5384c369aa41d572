"""Conversion of the values entered for a connection into its connector's config, and of a config into secret and
public parts. Pure."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
from django.utils.crypto import salted_hmac

from accounts.models import Account
from finops.connections.connector import (
    EXTERNAL_ID,
    ConfigError,
    Configurable,
    ConnectorConfig,
    fields_of,
    metas_of,
    public_fields,
    secret_fields,
    with_external_id,
)
from finops.lib.errors import UserError
from finops.lib.sentences import missing_text, quote

_SALT: Final = "finops.connections.external_id"
_EMPTY: Final = (None, "")
RECEIVER_FIELDS: Final = frozenset({"account", "endpoint", "host", "port", "url"})
"""Fields of configs that decide which server receives the secrets."""


def new_external_id(*, account: Account) -> str:
    """Return a new external ID for the trust policy of a role, valid for this account only (`is_external_id_of`).
    With an ID of its own choice an account could have roles assumed that trust another account's ID."""
    nonce = secrets.token_hex(8)
    return f"finops-{nonce}-{_signature(account, nonce)}"


def is_external_id_of(account: Account, external_id: str) -> bool:
    """Return whether the external ID was created for the account."""
    _, _, token = external_id.partition("finops-")
    nonce, _, signature = token.partition("-")
    return hmac.compare_digest(signature.encode(), _signature(account, nonce).encode())


def external_id_for(account: Account, external_id: str | None) -> str:
    """Return the external ID that was shown to the person, or a new one. Raises UserError for another account's."""
    if external_id is None:
        return new_external_id(account=account)
    if not is_external_id_of(account, external_id):
        raise UserError("This external ID belongs to another account. Start again.", field=EXTERNAL_ID)
    return external_id


def _signature(account: Account, nonce: str) -> str:
    return salted_hmac(_SALT, f"{account.pk}:{nonce}", algorithm="sha256").hexdigest()[:24]


def config_of_values(
    connector: Configurable,
    values: Mapping[str, object],
    *,
    external_id: str,
    stored_secrets: Mapping[str, Any] | None = None,
) -> ConnectorConfig:
    """Return the config of the values. An empty value becomes the field's default; an empty secret keeps the stored
    one, and None removes it. Raises UserError that names the first missing or invalid field, or a field that the
    connector does not have."""
    entered = dict(stored_secrets or {}) | {
        name: value for name, value in values.items() if value is None or not _is_blank(value)
    }
    fields_by_name = {each.name: each for each in fields_of(connector)}
    for name in values:
        if name not in fields_by_name and name != EXTERNAL_ID:
            raise UserError(f"{connector.title} has no setting {quote(name)}.", field=name)
    fields = {
        name: _convert(fields_by_name[name], value)
        for name, value in entered.items()
        if name in fields_by_name and value is not None
    }
    for name, field in fields_by_name.items():
        if field.required and name not in fields:
            raise UserError(f"Enter {title_of(field)!r}.", field=name)
    try:
        config = with_external_id(msgspec.convert(fields, connector.Config), external_id)
    except msgspec.ValidationError as error:  # a __post_init__ that compares several fields
        sentence = _sentence(str(error))
        field_name = error.__cause__.field if isinstance(error.__cause__, ConfigError) else ""
        raise UserError(f"{sentence[:1].upper()}{sentence[1:]}", field=field_name) from error
    return config


def entered_config(
    connector: Configurable,
    values: Mapping[str, object],
    *,
    external_id: str,
    stored_secrets: Mapping[str, Any] | None = None,
    stored_config: Mapping[str, Any] | None = None,
) -> ConnectorConfig:
    """Return the config that a person or a program entered, new or as a change of `stored_config`.

    Raises as `config_of_values`. Also for an empty field that the values of other fields require (`missing_fields`),
    unless it was missing before. And for a stored secret that would be sent to another server than that of
    `stored_config`: it must be entered again, or a person who does not know it could have it sent to a server of
    their own.
    """
    config = config_of_values(connector, values, external_id=external_id, stored_secrets=stored_secrets)
    kept_secrets = [name for name in stored_secrets or {} if _is_blank(values.get(name, ""))]
    missing = missing_fields(connector, msgspec.structs.asdict(config), kept_secrets=kept_secrets)
    fields_by_name = {each.name: each for each in fields_of(connector)}
    if stored_config is not None:
        stored = {**stored_config, **(stored_secrets or {})}
        missing_before = missing_fields(connector, stored, kept_secrets=list(stored_secrets or {}))
        missing = [name for name in missing if name not in missing_before]
        _check_receiver(fields_by_name, config, stored_config, kept_secrets)
    if missing:
        raise UserError(missing_text(title_of(fields_by_name[missing[0]])), field=missing[0])
    return config


def missing_fields(
    connector: Configurable, values: Mapping[str, Any], *, kept_secrets: Collection[str] = ()
) -> list[str]:
    """Return the empty fields that the values of other fields require (`connector.required_for`), in order. A field
    without a value has its default. The `kept_secrets`, which were not entered again, require no field."""
    fields = list(fields_of(connector))
    complete = {each.name: each.default for each in fields} | dict(values)
    entered = complete | dict.fromkeys(kept_secrets, "")
    return [
        each.name
        for each in fields
        if (condition := requirement_of(each))
        and complete[each.name] in _EMPTY
        and is_required(condition, entered)
    ]


def requirement_of(field: msgspec.structs.FieldInfo) -> Mapping[str, Any] | None:
    """Return the condition of `connector.required_for`; None for a field that is always or never required."""
    schemas = [meta.extra_json_schema or {} for meta in metas_of(field.type)]
    return next((each["required_for"] for each in schemas if "required_for" in each), None)


def is_required(condition: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Return whether the condition of `connector.required_for` holds for the values."""
    choice = values[condition["field"]]
    if choice in condition["choices"]:
        return not (condition["unless"] and values[condition["unless"]])
    return choice in condition["pair_choices"] and bool(values[condition["pair"]])


def _check_receiver(
    fields_by_name: Mapping[str, msgspec.structs.FieldInfo],
    config: ConnectorConfig,
    stored_config: Mapping[str, Any],
    kept_secrets: Sequence[str],
) -> None:
    """Raise UserError for the first of the `kept_secrets`, which were not entered again, if it would be sent to another server."""
    public, _ = stored_parts(config)
    changed = [
        name
        for name in sorted(RECEIVER_FIELDS & public.keys())
        if public[name] != stored_config.get(name, fields_by_name[name].default)
    ]
    for name in kept_secrets if changed else ():
        if name in fields_by_name:
            raise UserError(
                f"Enter {title_of(fields_by_name[name])!r} again: {title_of(fields_by_name[changed[0]])!r} has changed.",
                field=name,
            )


def stored_parts(config: ConnectorConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the public and the secret fields as JSON values. The external ID is in neither, because it has a column of its own."""
    values = msgspec.to_builtins(config)
    public = {name: values[name] for name in public_fields(type(config))}
    secret = {name: values[name] for name in secret_fields(type(config)) if values[name] not in _EMPTY}
    return public, secret


def title_of(field: msgspec.structs.FieldInfo) -> str:
    """Return the title of the field's `Meta`, or else the field's name in words."""
    titles = [meta.title for meta in metas_of(field.type) if meta.title]
    return titles[0] if titles else field.name.replace("_", " ").capitalize()


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _convert(field: msgspec.structs.FieldInfo, value: object) -> Any:
    if isinstance(value, str):
        value = value.strip()
    try:
        return msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        examples = [str(example) for meta in metas_of(field.type) for example in meta.examples or ()]
        hint = f" For example: {examples[0]}" if examples else ""
        raise UserError(
            f"{title_of(field)} is not valid: {_sentence(str(error))}{hint}", field=field.name
        ) from error


def _sentence(text: str) -> str:
    """Return msgspec's message as a sentence, without its path and quotation marks."""
    text = text.split(" - at `")[0].replace("`", "")
    return f"{text[:1].lower()}{text[1:].removesuffix('.')}."
