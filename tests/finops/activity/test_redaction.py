"""Secrets that people paste into questions are in no record."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.keys import PREFIX as MCP_PREFIX
from accounts.keys import new_secret
from accounts.models import Account
from accounts.oauth.tokens import new_access_token, new_refresh_token
from finops.activity.calls import MAX_ARGUMENT_BYTES, _row, store
from finops.connections.services.cost_keys import PREFIX as COST_PREFIX
from finops.lib.redaction import HIDDEN, without_secrets
from ingestion.services.keys import PREFIX as USAGE_PREFIX
from tests.cast import Cast
from tests.finops.activity.call_helpers import call_of, credential_of, stored_calls

OURS = {
    "MCP key": new_secret(MCP_PREFIX)[0],
    "usage key": new_secret(USAGE_PREFIX)[0],
    "cost key": new_secret(COST_PREFIX)[0],
    "access token": new_access_token(),
    "refresh token": new_refresh_token(),
}
OTHERS = {
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "OpenAI": "sk-proj-" + "a1B2" * 10,
    "Anthropic": "sk-ant-api03-" + "a1B2" * 10,
    "Stripe": "sk_live_" + "a1B2" * 6,
    "GitHub": "ghp_" + "a1B2" * 9,
    "GitLab": "glpat-" + "a1B2" * 5,
    "Slack": "xoxb-" + "123456789012-" * 2 + "abcdef",
    "Google": "AIza" + "a1B2" * 9,
    "a JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0.abc",
    "a private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",  # pragma: allowlist secret
    "half a private key": "-----BEGIN PRIVATE KEY-----\nMIIE",  # pragma: allowlist secret
    "a webhook's secret": "whsec_" + "a1B2" * 8,
}
SECRETS = OURS | OTHERS


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_is_hidden_everywhere(cast: Cast, name: str) -> None:
    secret = SECRETS[name]
    credential = credential_of(cast.account)
    store(
        [
            call_of(credential, arguments={"note": f"use {secret} please"}),
            call_of(credential, arguments={"deep": [{"a": json.dumps({"b": secret})}]}),
            call_of(credential, arguments={secret: 1}),
            call_of(credential, problem=f"note: {secret!r} does not exist."),
            call_of(credential, secret, console_page=f"x/?q={secret}"),
        ]
    )

    body = secret.splitlines()[-1] if "\n" in secret else secret[12:]
    rows = stored_calls(cast.account)
    stored_texts = [f"{row.name} {row.arguments} {row.problem} {row.console_page}" for row in rows]
    assert [text for text in stored_texts if body in text] == []


@pytest.mark.parametrize("cut", range(0, 80, 5))
def test_a_secret_across_the_edge_of_what_is_kept_is_hidden_too(cast: Cast, cut: int) -> None:
    secret = OURS["MCP key"]
    before = "x" * (MAX_ARGUMENT_BYTES - len('{"note":"') - cut)
    store([call_of(credential_of(cast.account), arguments={"note": f"{before} {secret} {'y' * 9_000}"})])

    (row,) = stored_calls(cast.account)
    assert secret[5:15] not in row.arguments
    assert len(row.arguments.encode()) <= MAX_ARGUMENT_BYTES


@pytest.mark.parametrize(
    ("arguments", "redacted_text"),
    [
        ('{"password":"hunter2","a":1}', f'{{"password":"{HIDDEN}","a":1}}'),
        ('{"API-Key": "abc", "a": "b"}', f'{{"API-Key": "{HIDDEN}", "a": "b"}}'),
        (r'{"secret":"a\"b","c":"d"}', f'{{"secret":"{HIDDEN}","c":"d"}}'),
        ('{"token":12345}', f'{{"token":"{HIDDEN}"}}'),
        ('{"password":"cut in the mid', f'{{"password":"{HIDDEN}"'),
        ('{"password":"cut at \\', f'{{"password":"{HIDDEN}"'),
        (
            r'{"json":"{\"password\":\"hunter2\",\"a\":1}"}',
            rf'{{"json":"{{\"password\":\"{HIDDEN}\",\"a\":1}}"}}',
        ),
        ('{"h":"Authorization: Bearer abcdefgh12345"}', f'{{"h":"Authorization: Bearer {HIDDEN}"}}'),
        ('{"url":"postgres://me:hunter2@db/x"}', f'{{"url":"postgres://{HIDDEN}@db/x"}}'),
    ],
)
def test_a_field_that_is_named_as_a_secret_is_hidden(arguments: str, redacted_text: str) -> None:
    assert without_secrets(arguments) == redacted_text


@pytest.mark.parametrize(
    "text",
    [
        '{"group_by":["tag:env","cost_tag:Key account"],"filters":[{"dimension":"tag:token","values":["secret"]}]}',
        '{"usage_metric":"tokens","tokens":5,"secrets":2}',
        '{"search":"risk-adjusted-cost-of-the-whole-platform"}',
        "This key, Demo (fmcp_0123456789••••••••), is read-only.",
        "cost-explorer/?period=last_7_days&group_by=region&f0v=asia-northeast1",
        '{"url":"https://example.com/a:b"}',
    ],
)
def test_text_that_only_resembles_a_secret_is_kept(text: str) -> None:
    assert without_secrets(text) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_redacted_json_is_json_still(value: object) -> None:
    text = json.dumps({"password": value, "text": value})

    json.loads(without_secrets(text))


def test_no_text_takes_long() -> None:
    """Six thousand bytes of what the patterns begin with: a pattern that goes back and forth would take minutes."""
    hostile = [
        "sk-" * 2_000,
        "eyJ" * 2_000,
        "://a:" * 1_200,
        '"token":"' * 600,
        '\\"key\\"' * 800,
        "-----BEGIN " * 500,
    ]
    start = time.process_time()

    for text in hostile:
        without_secrets(text)

    assert time.process_time() - start < 5


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(name=st.text(), arguments=_JSON, problem=st.text())
def test_whatever_is_sent_is_recorded_as_text_of_bounded_size(
    name: str, arguments: Any, problem: str
) -> None:
    call = call_of(credential_of(Account(pk=1)), name, arguments, problem=problem)

    texts = [text for text in _row(call) if isinstance(text, str)]

    assert sum(len(text.encode()) for text in texts) < 12_000
    assert not [text for text in texts if "\0" in text]
