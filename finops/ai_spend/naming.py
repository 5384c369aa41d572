"""Names of models and token types in bills and usage. One table of rules, for the lake and for Python.

Bills have them in columns of their own (`x_Model`, `x_TokenType` of the connectors for Anthropic and OpenAI) or as
part of a meter: `USE1-NovaLite-input-tokens` of Amazon Bedrock, `Gemini 2.5 Flash GA Text Input - Predictions` of
Vertex AI, `gpt-4o-0806-Inp-glbl Tokens` of Azure OpenAI.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import ibis

INPUT, OUTPUT = "input", "output"
CACHE_READ, CACHE_WRITE, CACHE_WRITE_1H = "cache_read", "cache_write", "cache_write_1h"
TOKEN_TYPES: Final = (INPUT, OUTPUT, CACHE_READ, CACHE_WRITE, CACHE_WRITE_1H)

_PLAIN: Final = "[^a-z0-9.]+"

_KIND_RULES: Final = (
    # Other prices than those of text: no token type here.
    ("", r"storage|(^|-)(image|audio|video|img|aud)(-|$)"),
    (CACHE_WRITE_1H, r"cache-?(write|creation).*1h|1h.*cache-?(write|creation)"),
    (CACHE_WRITE, r"cache-?(write|creation)"),
    (CACHE_READ, r"cache-?read|(^|-)cach(ed|ing)(-|$)"),
    (OUTPUT, r"(^|[-.])(out|outp|outputs?|completion)([-.]|$)|outputtoken"),
    (INPUT, r"(^|[-.])(in|inp|inputs?|prompt)([-.]|$)|inputtoken"),
)
"""Token types and the patterns that identify them in a text of small letters, digits, points and dashes; the first
match applies."""

_TIER_RULES: Final = (
    ("_batch", r"(^|-)batch(-|$)"),
    ("_flex", r"(^|-)flex(-|$)"),
    ("_priority", r"(^|-)priority(-|$)"),
    ("_long", r"(^|-)long(-|$)"),
)
"""Processing tiers with a price of their own, as suffix of a token type."""
ALL_TOKEN_TYPES: Final = tuple(
    f"{name}{tier}" for tier in ("", *(tier for tier, _rule in _TIER_RULES)) for name in TOKEN_TYPES
)

_METER_MODEL: Final = (
    r"^(?:[a-z]{2,4}[0-9]-)?(.+?)"
    r"(?:-(?:global|ga|glbl|mantle|batch|flex|priority|cached|cache|thinking|text|txt|image|audio|video|long|context|data|zone|"
    r"dzone|regional|read|write))*"
    r"-(?:inp?|inputs?|outp?|outputs?|cache|caching|prompt|completion)(?:-.*)?$"
)
_MARKETPLACE: Final = r"^(.+?)-amazon-bedrock-edition"


def plain_text(text: str) -> str:
    """The text in small letters, digits and points, separated by dashes."""
    return re.sub(_PLAIN, "-", text.lower())


def plain_column(text: Any) -> Any:
    """`plain_text` of a column."""
    return text.lower().re_replace(_PLAIN, "-")


@lru_cache(10_000)
def token_type_of(text: str) -> str:
    """`input`, `cache_read`, `output_batch` …; empty if the text names no type, such as the total of all types."""
    plain = plain_text(text)
    kind = next((name for name, rule in _KIND_RULES if re.search(rule, plain)), "")
    tier = next((name for name, rule in _TIER_RULES if re.search(rule, plain)), "")
    return kind and kind + tier


def token_type_column(text: Any) -> Any:
    """`token_type_of` as a column expression; null for no type."""
    plain = plain_column(text)
    kind = ibis.cases(*((plain.re_search(rule), name) for name, rule in _KIND_RULES), else_="")
    tier = ibis.cases(*((plain.re_search(rule), name) for name, rule in _TIER_RULES), else_="")
    return ibis.ifelse(kind == "", ibis.null("string"), kind.concat(tier))


def meter_model_of(meter: str, service: str) -> str:
    """The model that is part of a meter, or of an AWS Marketplace service; empty for none."""
    sold = re.search(_MARKETPLACE, plain_text(service))
    match = sold or re.search(_METER_MODEL, plain_text(meter))
    return match[1] if match else ""


def meter_model_column(meter: Any, service: Any) -> Any:
    """`meter_model_of` as a column expression; null for none."""
    sold = plain_column(service).re_extract(_MARKETPLACE, 1)
    model = plain_column(meter).re_extract(_METER_MODEL, 1)
    return sold.nullif("").coalesce(model.nullif(""))


_MAKERS: Final = re.compile(
    r"^(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|cohere|openai|google|deepseek|qwen)\."
)
_ENDS: Final = re.compile(r"(?:@.*|-v\d+(?:[:.-]\d+)?|-latest)$")
_SNAPSHOT: Final = re.compile(r"[-@]?(?:20\d{6}|20\d\d-\d\d-\d\d)$")
_MONTH_AND_DAY: Final = re.compile(r"^((?:gpt|o\d).*)-(?:0[1-9]|1[0-2])[0-3]\d$")
_CLAUDE: Final = re.compile(r"^claude-?(\d(?:-\d)?)-?(opus|sonnet|haiku)$")


@lru_cache(10_000)
def model_keys(name: str) -> tuple[str, ...]:
    """The keys under which a model may have a price, the most exact first: with the date of its snapshot, and
    without.

    `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `Claude Sonnet 4.5` and `anthropic/claude-sonnet-4-5` are one
    model, and so are `claude-3-5-haiku` and `Claude Haiku 3.5`.
    """
    text = re.sub(r"[\s_]+", "-", name.strip().lower()).rpartition("/")[2]
    text = _ENDS.sub("", _MAKERS.sub("", text))
    dated = _with_dashes(text)
    whole = _with_dashes(_SNAPSHOT.sub("", text))
    whole = _MONTH_AND_DAY.sub(r"\1", whole)
    return tuple(dict.fromkeys([dated, whole]))


def model_key(name: str) -> str:
    """The key of a model without the date of its snapshot: equal for the same model."""
    return model_keys(name)[-1]


def _with_dashes(text: str) -> str:
    dashed = re.sub(r"(?<=\d)\.(?=\d)", "-", text).strip("-")
    return _CLAUDE.sub(r"claude-\2-\1", dashed)
