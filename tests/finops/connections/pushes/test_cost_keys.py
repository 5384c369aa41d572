"""Cost keys: generated once, shown once, regenerated, revoked; the card on the source's page and the new source."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry
from finops.connections.models import CostConnection, CostKey
from finops.connections.push_snippets import push_snippets
from finops.connections.services import cost_keys
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.finops.connections.pushes.push_steps import (
    MONTHS,
    PUSHES,
    CostPushClient,
    create_cost_client,
    csv_rows,
    run_pushes,
)
from tests.pages import get_page, text_of

pytestmark = pytest.mark.django_db

NEW = "/a/acme/connections/new/push/"
KEY = re.compile(r"fcst_[0-9A-Za-z]{48}")


def shown_key(answer: Any) -> str:
    (key,) = set(KEY.findall(answer.content.decode()))
    return str(key)


def regenerate(client: Client, page: str) -> Any:
    form = re.search(r'name="replaces"\s+value="(\d+)"', client.get(page).content.decode())
    assert form
    return client.post(f"{page}key/regenerate/", {"replaces": form[1]})


def test_a_member_makes_a_source_to_push_to_and_pushes(cast: Cast) -> None:
    client = signed_in(cast.member)
    assert "Push from your own program" in get_page(client, "/a/acme/connections/new/")

    answer = client.post(NEW, {"name": "LiteLLM"})

    assert "no-store" in answer.headers["Cache-Control"]
    source = CostSource.objects.unscoped().get()
    cost_client = CostPushClient(source, shown_key(answer))
    assert cost_client.push_month(csv_rows("1"))["status"] == "done"
    page = text_of(client.get(cost_client.page))
    assert cost_client.key not in page
    assert f"{cost_client.key[:15]}••••••••" in page
    assert "part-1 Done 1 May" in page


def test_a_reload_makes_no_second_source(cast: Cast) -> None:
    client = signed_in(cast.member)
    client.post(NEW, {"name": "LiteLLM"})

    answer = client.post(NEW, {"name": "LiteLLM"})

    assert answer.status_code == 422
    assert "A cost source with this name already exists." in answer.content.decode()
    assert CostKey.objects.unscoped().count() == 1


def test_a_source_of_uploads_gets_a_key_on_its_page(cast: Cast) -> None:
    source = create_cost_source(account=cast.account, actor=cast.actor, name="Uploads")
    page, client = f"/a/acme/connections/{source.pk}/", signed_in(cast.member)

    key = shown_key(client.post(f"{page}key/generate/"))

    assert CostPushClient(source, key).send("GET", PUSHES).status_code == 200
    assert client.post(f"{page}key/generate/").headers["Location"] == page
    assert "has a key already" in get_page(client, page)


def test_a_regenerated_key_takes_the_place_of_the_old_one(cast: Cast, cost_client: CostPushClient) -> None:
    client = signed_in(cast.member)

    new = shown_key(regenerate(client, cost_client.page))

    assert cost_client.send("GET", PUSHES).status_code == 401
    assert CostPushClient(cost_client.source, new).send("GET", PUSHES).status_code == 200
    assert client.post(f"{cost_client.page}key/regenerate/", {"replaces": "1"}).status_code == 302
    assert CostPushClient(cost_client.source, new).send("GET", PUSHES).status_code == 200


def test_a_revoked_key_is_dead_at_once_and_pushes_that_were_committed_continue(
    cast: Cast, cost_client: CostPushClient
) -> None:
    cost_client.send("POST", f"{MONTHS}/2026-05", csv_rows("1"))

    signed_in(cast.member).post(f"{cost_client.page}key/revoke/")
    run_pushes()

    assert cost_client.send("GET", PUSHES).status_code == 401
    assert [str(month) for month in cost_client.billed()] == ["2026-05"]
    cost_keys.revoke_cost_key(source=cost_client.source, actor=cast.actor)
    with pytest.raises(UserError, match="has no key to replace"):
        cost_keys.regenerate_cost_key(source=cost_client.source, actor=cast.actor)


def test_a_source_that_is_fetched_has_no_key(cast: Cast) -> None:
    source = create_cost_source(account=cast.account, actor=cast.actor, name="AWS")
    CostConnection.objects.unscoped().create(
        account=cast.account, source=source, connector="folder", external_id="x"
    )

    with pytest.raises(UserError, match="AWS is synced, so it has no API key"):
        cost_keys.generate_cost_key(source=source, actor=cast.actor)
    page = f"/a/acme/connections/{source.pk}/"
    assert "Push by HTTP" not in signed_in(cast.member).get(page).content.decode()


@pytest.mark.parametrize("action", ["generate", "regenerate", "revoke"])
def test_a_viewer_and_a_stranger_change_no_key(cast: Cast, cost_client: CostPushClient, action: str) -> None:
    answers = [
        signed_in(who).post(f"{cost_client.page}key/{action}/") for who in (cast.viewer, cast.stranger)
    ]

    assert [answer.status_code for answer in answers] == [403, 404]
    assert cost_client.send("GET", PUSHES).status_code == 200
    page = get_page(signed_in(cast.viewer), cost_client.page)
    assert "Regenerate" not in page


def test_only_the_hash_of_a_key_is_stored_and_its_use_is_recorded(
    cast: Cast, cost_client: CostPushClient
) -> None:
    cost_client.send("GET", PUSHES)

    (key,) = CostKey.objects.unscoped().all()
    assert cost_client.key not in str(key.__dict__)
    assert key.last_used_at is not None
    assert key.last_used_at <= clock.now()
    actions = [entry.action for entry in AuditEntry.objects.unscoped().filter(account=cast.account)]
    assert "cost_key.generate" in actions


def test_two_keys_are_of_two_sources(cast: Cast) -> None:
    first, second = create_cost_client(cast, name="One"), create_cost_client(cast, name="Two")

    first.push_month(csv_rows("1"))
    second.push_month(csv_rows("2"))

    assert sum(filter(None, first.billed().values())) == 3


def test_the_snippets_match_what_the_endpoint_accepts(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    curl, python, litellm = push_snippets("http://127.0.0.1:8000/api/costs", cost_client.key)

    words = shlex.split(curl.text.replace("\\\n", ""))
    assert words[1].startswith("http://127.0.0.1:8000/api/costs/months/")
    assert f"Authorization: Bearer {cost_client.key}" in words
    shlex.split(litellm.text)
    month = words[1][-7:]

    class Answer:
        def __init__(self, request: Any) -> None:
            path = request.full_url.removeprefix("http://127.0.0.1:8000")
            self.answer = cost_client.send(request.get_method(), path, request.data)
            assert self.answer.status_code < 300, self.answer.content

        def read(self) -> bytes:
            return bytes(self.answer.content)

    monkeypatch.setattr("urllib.request.urlopen", lambda request, timeout: Answer(request))
    exec(compile(python.text, "snippet", "exec"), {})  # noqa: S102
    run_pushes()
    assert {name: str(amount) for name, amount in cost_client.billed().items()} == {
        month: "16.250000000000000000"
    }
