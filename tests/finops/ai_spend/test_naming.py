"""Models and token types from the texts of bills and usage: equal in Python and in the lake."""

from __future__ import annotations

from datetime import date
from typing import Any

import ibis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.ai_spend.naming import (
    meter_model_column,
    meter_model_of,
    model_key,
    model_keys,
    token_type_column,
    token_type_of,
)
from finops.lake.engine import engine
from finops.lake.schema import Kind
from tests.examples import examples
from tests.finops.lake.facts import EVER, line, store

METERS = [
    # Amazon Bedrock, Vertex AI, Azure OpenAI, the connectors, the demo: (meter, service, model, token type)
    ("USE1-NovaLite-input-tokens", "Amazon Bedrock", "novalite", "input"),
    ("USE1-NovaLite-cache-read-input-token-count", "Amazon Bedrock", "novalite", "cache_read"),
    ("USE1-NovaPro-cache-write-input-token-count", "Amazon Bedrock", "novapro", "cache_write"),
    ("USE1-Llama4-Maverick-17B-output-tokens-batch", "Amazon Bedrock", "llama4-maverick-17b", "output_batch"),
    (
        "USE1-qwen.qwen3-coder-next-mantle-input-tokens-standard",
        "AmazonBedrock",
        "qwen.qwen3-coder-next",
        "input",
    ),
    (
        "USE1-MP:USE1_InputTokenCount-Units",
        "Claude Sonnet 4.5 (Amazon Bedrock Edition)",
        "claude-sonnet-4.5",
        "input",
    ),
    (
        "USE1-MP:USE1_CacheReadInputTokenCount_Global-Units",
        "Claude Haiku 4.5 (Amazon Bedrock Edition)",
        "claude-haiku-4.5",
        "cache_read",
    ),
    ("Gemini 2.5 Flash GA Text Input - Predictions", "Vertex AI", "gemini-2.5-flash", "input"),
    ("Gemini 2.5 Flash GA Thinking Text Output - Predictions", "Vertex AI", "gemini-2.5-flash", "output"),
    ("Gemini 3 Flash Text Input Caching", "Vertex AI", "gemini-3-flash", "cache_read"),
    ("Gemini 3.8 Flash Global Text Input - Predictions", "Vertex AI", "gemini-3.8-flash", "input"),
    ("Gemini 3.6 Flash Image Input Caching Storage", "Vertex AI", "gemini-3.6-flash", ""),
    ("gpt-4o-0806-Inp-glbl Tokens", "Azure OpenAI", "gpt-4o-0806", "input"),
    ("gpt 4o 1120 cached Inp glbl Tokens", "Azure OpenAI", "gpt-4o-1120", "cache_read"),
    ("gpt-4o-mini-0718-Outp-glbl Tokens", "Cognitive Services", "gpt-4o-mini-0718", "output"),
    ("gpt 4o 0513 Output global Tokens", "Azure OpenAI", "gpt-4o-0513", "output"),
    ("gpt-4-8K-Batch-Inp-glbl Tokens", "Foundry Models", "gpt-4-8k", "input_batch"),
    ("Claude Haiku 4.5 input tokens", "Claude API", "claude-haiku-4.5", "input"),
    ("Claude Sonnet 4.5 cache read tokens", "Claude API", "claude-sonnet-4.5", "cache_read"),
    ("Web search", "Claude API", "", ""),
    ("Provisioned Throughput ModelUnit-Hours", "Amazon Bedrock", "", ""),
]


@pytest.mark.parametrize(("meter", "service", "model", "token_type"), METERS)
def test_a_meter_names_its_model_and_token_type(
    meter: str, service: str, model: str, token_type: str
) -> None:
    assert (meter_model_of(meter, service), token_type_of(meter)) == (model, token_type)


@pytest.mark.parametrize(
    ("text", "token_type"),
    [
        ("uncached_input_tokens", "input"),
        ("cache_creation.ephemeral_5m_input_tokens", "cache_write"),
        ("cache_creation.ephemeral_1h_input_tokens", "cache_write_1h"),
        ("cache_read_input_tokens", "cache_read"),
        ("cached_input_tokens", "cache_read"),
        ("cacheRead", "cache_read"),
        ("cacheCreation", "cache_write"),
        ("litellm_tokens.prompt_tokens", "input"),
        ("litellm_tokens.completion_tokens", "output"),
        ("litellm_tokens.total_tokens", ""),
        ("output_tokens-batch", "output_batch"),
    ],
)
def test_connectors_and_usage_name_token_types_in_their_own_words(text: str, token_type: str) -> None:
    assert token_type_of(text) == token_type


@pytest.mark.parametrize(
    "names",
    [
        (
            "claude-sonnet-4-5",
            "Claude Sonnet 4.5",
            "claude-sonnet-4-5-20250929",
            "anthropic/claude-sonnet-4-5",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5@20250929",
            "claude-sonnet-4.5",
        ),
        ("claude-haiku-3-5", "claude-3-5-haiku-20241022", "claude-3-5-haiku-latest", "Claude3.5Haiku"),
        ("gpt-4o", "gpt-4o-2024-08-06", "azure/gpt-4o", "gpt-4o-0806"),
        ("gemini-2-5-flash", "models/gemini-2.5-flash", "Gemini 2.5 Flash"),
    ],
    ids=lambda names: names[0],
)
def test_names_of_one_model_are_one(names: tuple[str, ...]) -> None:
    assert {model_key(name) for name in names} == {names[0]}


def test_a_snapshot_with_a_price_of_its_own_is_found_first() -> None:
    assert model_keys("gpt-4o-2024-05-13") == ("gpt-4o-2024-05-13", "gpt-4o")


class _Names:
    """Model and token type of each line."""

    def __call__(self, table: Any) -> Any:
        return table.select(
            number=table.resource_id.cast("int64"),
            model=meter_model_column(table.usage_type, table.service),
            token_type=token_type_column(table.usage_type),
        ).order_by(ibis._.number)


def _in_the_lake(account: Account, texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    rows = [
        line(date(2026, 1, 5), 1, usage_type=meter, service=service, resource_id=str(number))
        for number, (meter, service) in enumerate(texts)
    ]
    store(account, rows)
    table = engine.run(account, Kind.COST, *EVER, _Names())
    return [(row["model"] or "", row["token_type"] or "") for row in table.to_pylist()]


_WORDS = st.sampled_from(
    [
        "USE1",
        "gpt-4o",
        "Inp",
        "outp",
        "cached",
        "Text",
        "Input",
        "Output",
        "tokens",
        "batch",
        "GA",
        "4.5",
        "Claude",
        ".",
        "-",
        "_",
        ":",
        "(",
        "1h",
        "cache",
        "write",
        "read",
        "Long",
    ]
)
_TEXTS = st.lists(
    st.one_of(_WORDS, st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=4)), max_size=6
).map(" ".join)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
@given(texts=st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=20))
def test_the_lake_names_any_text_as_python_does(acme: Account, texts: list[tuple[str, str]]) -> None:
    lake_names = _in_the_lake(acme, texts)

    assert lake_names == [(meter_model_of(meter, service), token_type_of(meter)) for meter, service in texts]


def test_the_lake_names_the_meters_of_the_vendors(acme: Account) -> None:
    lake_names = _in_the_lake(acme, [(meter, service) for meter, service, *_ in METERS])

    assert lake_names == [(model, token_type) for *_, model, token_type in METERS]
