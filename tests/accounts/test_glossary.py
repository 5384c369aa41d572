from __future__ import annotations

import json

import pytest
from django.core.exceptions import ValidationError

from accounts.keys import mint_mcp_key
from accounts.models import AuditEntry
from accounts.queries import glossary
from accounts.scoping import account_scope
from accounts.services import MAX_TERMS, replace_glossary
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, signed_in

URL = "/a/acme/settings/glossary/"


def terms_of(cast: Cast) -> dict[str, str]:
    with account_scope(cast.account):
        return {row.term: row.meaning for row in glossary(cast.account)}


def test_an_admin_writes_the_glossary_and_assistants_receive_it(cast: Cast) -> None:
    answer = signed_in(cast.admin).post(
        URL, {"terms": "seat: a paid user: see metric seats\n\n GMV : sales \n"}
    )
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="reads")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "getAccountContext"}}
    response = signed_in(cast.viewer).post(
        "/api/mcp",
        json.dumps(message),
        content_type="application/json",
        headers={"authorization": f"Bearer {plaintext}", "mcp-protocol-version": "2025-11-25"},
    )

    assert answer.status_code == 302
    assert response.json()["result"]["structuredContent"]["glossary"] == [
        {"term": "GMV", "meaning": "sales"},
        {"term": "seat", "meaning": "a paid user: see metric seats"},
    ]


def test_a_member_sees_the_glossary_and_cannot_change_it(cast: Cast) -> None:
    replace_glossary(account=cast.account, actor=cast.actor, terms=[("seat", "a paid user")])
    client = signed_in(cast.member)

    assert "seat: a paid user" in client.get(URL).content.decode()
    assert client.post(URL, {"terms": ""}).status_code == 403
    assert terms_of(cast) == {"seat": "a paid user"}


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("no colon here", "use the format term: meaning."),
        ("a: b\nA: c", "is given twice"),
        ("x" * 61 + ": long", "at most 60"),
        ("\n".join(f"t{place}: m" for place in range(MAX_TERMS + 1)), "51 terms; the maximum is 50"),
    ],
)
def test_a_bad_line_is_said_and_nothing_changes(cast: Cast, text: str, expected_message: str) -> None:
    replace_glossary(account=cast.account, actor=cast.actor, terms=[("seat", "a paid user")])

    answer = signed_in(cast.owner).post(URL, {"terms": text})

    assert answer.status_code == 422
    assert expected_message in answer.content.decode()
    assert terms_of(cast) == {"seat": "a paid user"}


def test_replacing_leaves_the_other_accounts_words_alone_and_is_audited(cast: Cast) -> None:
    replace_glossary(account=cast.other_account, actor=cast.other_actor, terms=[("seat", "a chair")])

    replace_glossary(account=cast.account, actor=cast.actor, terms=[("seat", "a paid user")])

    with account_scope(cast.other_account):
        assert [row.meaning for row in glossary(cast.other_account)] == ["a chair"]
    with account_scope(cast.account):
        entry = AuditEntry.objects.filter(action="glossary.change").get()
    assert entry.detail == {"from": {}, "to": {"seat": "a paid user"}}


def test_the_service_itself_refuses_what_the_form_would(cast: Cast) -> None:
    with pytest.raises(ValidationError):
        replace_glossary(account=cast.account, actor=ACTOR, terms=[("seat", "")])
    with pytest.raises(UserError):
        replace_glossary(account=cast.account, actor=ACTOR, terms=[("a", "1"), ("A", "2")])
