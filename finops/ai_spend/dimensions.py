"""Dimensions of AI spend: vendor, model, token type, person and key, for bills of any source.

The rule of `VendorValue` decides which lines are AI spend; docs/ai-spend.md documents it. Other lines have no vendor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import ibis

from finops.ai_spend.naming import meter_model_column, plain_column, token_type_column
from finops.costs.dimensions import Dimension, DimensionKind
from finops.lake.schema import ExtensionKey, extension_column

VENDOR, MODEL, TOKEN_TYPE = "ai_vendor", "ai_model", "ai_token_type"
PERSON, KEY = "ai_person", "ai_key"

ANTHROPIC, OPENAI = "Anthropic", "OpenAI"
BEDROCK, VERTEX, AZURE = "Amazon Bedrock", "Vertex AI", "Azure OpenAI"

_PROVIDERS: Final = {ANTHROPIC: ("anthropic", "anthropic, pbc"), OPENAI: ("openai", "openai, l.l.c.")}
_GEMINI_SERVICES: Final = ("gemini api", "generative language api", "vertex ai gemini api")
_VERTEX_SERVICES: Final = ("vertex ai", "cloud vertex ai", "vertex ai api")
_VERTEX_METERS: Final = (
    r"(^|-)(gemini|gemma|claude|llama|mistral|codestral|deepseek|qwen|gpt|imagen|veo|lyria|jamba|grok|kimi|text-embedding|"
    r"multimodal-embedding|tokens?)(-|$)"
)
_AZURE_SERVICES: Final = (
    *("azure openai", "azure openai service", "azure ai foundry", "azure ai foundry models"),
    *("foundry models", "microsoft foundry", "microsoft foundry models"),
)
_AZURE_SHARED: Final = ("cognitive services", "azure ai services", "azure applied ai services")
_AZURE_METERS: Final = r"(^|-)(gpt|openai|tokens?|dall|embedding|embeddings|o[1-9])(-|$)|(^|-)gpt"


def _lower_text(column: Any) -> Any:
    return column.coalesce("").lower()


def _meter(table: Any) -> Any:
    return table.usage_type.coalesce(table.charge_description, "")


@dataclass(frozen=True)
class VendorValue:
    """The vendor of a line that is AI spend, null for every other line."""

    def __call__(self, table: Any) -> Any:
        provider, service = _lower_text(table.provider), _lower_text(table.service)
        meter = plain_column(_meter(table))
        of_vertex = service.isin(_GEMINI_SERVICES) | (
            service.isin(_VERTEX_SERVICES) & meter.re_search(_VERTEX_METERS)
        )
        of_azure = service.isin(_AZURE_SERVICES) | (
            service.isin(_AZURE_SHARED) & meter.re_search(_AZURE_METERS)
        )
        return ibis.cases(
            *((provider.isin(names), vendor) for vendor, names in _PROVIDERS.items()),
            (service.contains("bedrock"), BEDROCK),
            (of_vertex, VERTEX),
            (of_azure, AZURE),
            else_=ibis.null("string"),
        )


def _of_ai_spend(table: Any, value: Any) -> Any:
    return ibis.ifelse(VendorValue()(table).notnull(), value, ibis.null("string"))


@dataclass(frozen=True)
class ModelValue:
    """The model as the bill names it: in a column of its own, or else as part of the meter."""

    def __call__(self, table: Any) -> Any:
        own = table[extension_column("Model")].nullif("")
        return _of_ai_spend(
            table, own.coalesce(meter_model_column(_meter(table), table.service.coalesce("")))
        )


@dataclass(frozen=True)
class TokenTypeValue:
    """The token type of a line, from its own column or else its meter, with the processing tier."""

    def __call__(self, table: Any) -> Any:
        own = table[extension_column("TokenType")].nullif("")
        tier = table[extension_column("ServiceTier")].coalesce("")
        text = own.coalesce(_meter(table)).concat("-", tier)
        return _of_ai_spend(table, token_type_column(text))


@dataclass(frozen=True)
class PersonValue:
    """The person who caused the cost."""

    def __call__(self, table: Any) -> Any:
        names = [table[extension_column(name)].nullif("") for name in ("UserEmail", "UserName", "UserId")]
        actor = ibis.ifelse(table.actor.contains("@"), table.actor, ibis.null("string"))
        return _of_ai_spend(table, ibis.coalesce(*names, actor))


API_KEY: Final = "api-key:"
"""The prefix of an actor in tags that is an API key."""


@dataclass(frozen=True)
class ApiKeyValue:
    """The API key that authenticated."""

    def __call__(self, table: Any) -> Any:
        names = [table[extension_column(name)].nullif("") for name in ("ApiKeyName", "ApiKeyId")]
        named = table.actor.startswith(API_KEY)
        actor = ibis.ifelse(named, table.actor.substr(len(API_KEY)), ibis.null("string"))
        return _of_ai_spend(table, ibis.coalesce(*names, actor))


def _kind(
    name: str, title: str, description: str, value: Callable[[Any], Any], *columns: str
) -> DimensionKind:
    dimension = Dimension(name=name, title=title, value=value, tag_keys=tuple(map(ExtensionKey, columns)))
    return DimensionKind(name, title, description, lambda _context, _key: dimension)


KINDS: Final = (
    _kind(
        VENDOR,
        "AI vendor",
        "Anthropic, OpenAI, Amazon Bedrock, Vertex AI, Azure OpenAI; (none): no AI spend.",
        VendorValue(),
    ),
    _kind(MODEL, "AI model", "The language model, as the bill names it.", ModelValue(), "Model"),
    _kind(
        TOKEN_TYPE,
        "AI token type",
        "input, output, cache_read, cache_write …",
        TokenTypeValue(),
        "TokenType",
        "ServiceTier",
    ),
    _kind(
        PERSON,
        "AI person",
        "The person who caused AI spend.",
        PersonValue(),
        *("UserEmail", "UserName", "UserId"),
    ),
    _kind(KEY, "AI key", "The API key of AI spend.", ApiKeyValue(), "ApiKeyName", "ApiKeyId"),
)
