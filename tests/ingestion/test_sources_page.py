"""Connections → Usage sources: the list, a new source, its key card."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from django.test import Client

from accounts.models import Session
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from ingestion import services
from ingestion.models import UsageSource
from ingestion.queries import metered_events
from ingestion.reference import snippets_for
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PushClient, create_push_client, event, inbox, key_of, reasons
from tests.pages import get_page, text_of

LIST = "/a/acme/connections/usage/"
NEW = f"{LIST}new/"
KEY = re.compile(r"fuse_[0-9A-Za-z]{48}")


def shown_key(answer: Any) -> str:
    keys = set(KEY.findall(answer.content.decode()))
    assert len(keys) == 1
    return str(keys.pop())


def make(client: Client, name: str = "API gateway") -> str:
    answer = client.post(NEW, {"name": name})
    assert answer.status_code == 302
    return str(answer.headers["Location"])


def regenerate(client: Client, page: str) -> Any:
    form = re.search(r'name="replaces"\s+value="(\d+)"', client.get(page).content.decode())
    assert form
    return client.post(f"{page}key/regenerate/", {"replaces": form[1]})


def test_an_empty_list_says_what_to_do_next(cast: Cast) -> None:
    member, viewer = (get_page(signed_in(user), LIST) for user in (cast.member, cast.viewer))

    assert "No usage sources yet" in member
    assert "New usage source" in member
    assert "New usage source" not in viewer
    assert "Ask a member, admin or owner to create one." in viewer


@pytest.mark.parametrize("path", ["/a/acme/connections/", LIST])
def test_connections_has_a_tab_for_each_kind(cast: Cast, path: str) -> None:
    page = signed_in(cast.viewer).get(path).content.decode()

    assert 'href="/a/acme/connections/"' in page
    assert f'href="{LIST}"' in page
    assert page.count('aria-current="page"') == 2  # the navigation's item and the tab


def test_a_member_makes_a_source_generates_its_key_and_pushes_with_it(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)
    before = get_page(client, page)

    answer = client.post(f"{page}key/generate/")

    key = shown_key(answer)
    assert "Generate API Key" in before
    assert "no-store" in answer.headers["Cache-Control"]
    source = UsageSource.objects.unscoped().get()
    assert reasons(PushClient(source, key).push(event()), submitted=1) == {}


def test_afterwards_the_page_shows_the_prefix_alone_and_the_last_use(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)
    key = shown_key(client.post(f"{page}key/generate/"))
    unused = get_page(client, page)
    PushClient(UsageSource.objects.unscoped().get(), key).push(event())

    after, everything = get_page(client, page), client.get(LIST).content.decode()

    assert f"{key[:15]}••••••••" in unused
    assert "Last used Never" in unused
    assert "Last used Never" not in after
    assert {"Regenerate API Key", "Revoke"} <= set(
        re.findall(r"Regenerate API Key|Revoke|Generate API Key", after)
    )
    assert "/api/usage/events" in after
    assert f"{key[:15]}••••••••" in everything
    assert not KEY.search(after + everything)


def test_a_source_without_a_key_offers_nothing_but_generating_one(cast: Cast) -> None:
    client = signed_in(cast.member)

    page = get_page(client, make(client))

    assert "Generate API Key" in page
    assert "Regenerate" not in page
    assert "Revoke" not in page


def test_regenerating_shows_the_new_key_and_ends_the_old_one(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)
    old = shown_key(client.post(f"{page}key/generate/"))

    new = shown_key(regenerate(client, page))

    source = UsageSource.objects.unscoped().get()
    assert PushClient(source, old).push(event()).status_code == 401
    assert PushClient(source, new).push(event()).status_code == 200


def test_reloading_the_page_that_shows_a_key_makes_no_second_one(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)

    client.post(f"{page}key/generate/")
    generated_again = client.post(f"{page}key/generate/", follow=True)
    form = {"replaces": str(key.pk) if (key := key_of(UsageSource.objects.unscoped().get())) else ""}
    new = shown_key(client.post(f"{page}key/regenerate/", form))
    regenerated_again = client.post(f"{page}key/regenerate/", form, follow=True)

    for answer in (generated_again, regenerated_again):
        assert answer.redirect_chain == [(page, 302)]
        assert not KEY.search(answer.content.decode())
    assert "has a key already" in text_of(generated_again)
    assert "shown only once" in text_of(regenerated_again)
    assert PushClient(UsageSource.objects.unscoped().get(), new).push(event()).status_code == 200


@pytest.mark.parametrize(
    "forged", ["9" * 5_000, "9" * 18, "the old one"], ids=["5,000 digits", "no key's", "no number"]
)
def test_a_forged_number_of_the_replaced_key_replaces_none(cast: Cast, forged: str) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    page = f"{LIST}{push_client.source.pk}/"

    answer = client.post(f"{page}key/regenerate/", {"replaces": forged})

    assert answer.status_code == 302
    assert push_client.push(event()).status_code == 200


def test_revoking_leaves_the_source_without_a_key(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)
    key = shown_key(client.post(f"{page}key/generate/"))

    answer = client.post(f"{page}key/revoke/", follow=True)

    assert "Key revoked." in text_of(answer)
    assert "Generate API Key" in text_of(answer)
    assert PushClient(UsageSource.objects.unscoped().get(), key).push(event()).status_code == 401


@pytest.mark.parametrize("action", ["generate", "regenerate", "revoke"])
def test_a_source_that_pulls_has_no_key_card_and_refuses_a_forged_post(cast: Cast, action: str) -> None:
    source = services.create_usage_source(account=cast.account, actor=cast.actor, name="Vendor", kind="pull")
    client = signed_in(cast.member)

    page = get_page(client, f"{LIST}{source.pk}/")
    forged = client.post(f"{LIST}{source.pk}/key/{action}/", follow=True)

    assert "Generate API Key" not in page
    assert "Pull from a vendor" in page
    assert (
        "pulls usage with a vendor's credential and has no API key. Create a Push/API source "
        "for your own backend."
    ) in text_of(forged)
    assert key_of(source) is None


def test_a_viewer_sees_the_source_without_buttons_and_may_change_nothing(cast: Cast) -> None:
    push_client = create_push_client(cast)
    client, page = signed_in(cast.viewer), f"{LIST}{push_client.source.pk}/"

    text = get_page(client, page)

    assert "••••••••" in text
    assert not re.search("Generate|Regenerate|Revoke|Rename|Delete", text.replace("Generated", ""))
    assert client.get(NEW).status_code == 403
    for path in (
        NEW,
        *[f"{page}{end}/" for end in ("rename", "delete", "key/generate", "key/regenerate", "key/revoke")],
    ):
        assert client.post(path, {"name": "x"}).status_code == 403
    assert push_client.push(event()).status_code == 200


def test_a_stranger_finds_no_source(cast: Cast) -> None:
    push_client = create_push_client(cast)
    client = signed_in(cast.stranger)

    for account in ("acme", "elsewhere"):
        for end in ("", "key/generate/", "key/regenerate/", "key/revoke/", "rename/", "delete/"):
            assert client.post(
                f"/a/{account}/connections/usage/{push_client.source.pk}/{end}"
            ).status_code in {
                404,
                405,
            }
    assert push_client.push(event()).status_code == 200


def test_a_name_that_is_taken_or_missing_is_said_next_to_the_form(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)
    make(client, "Other")

    duplicate, missing = client.post(NEW, {"name": "API gateway"}), client.post(NEW, {"name": " "})
    renamed = client.post(f"{page}rename/", {"name": "Other"})

    assert "A usage source with this name already exists." in text_of(duplicate, status=422)
    assert "Enter a name." in text_of(missing, status=422)
    assert "A usage source with this name already exists." in text_of(renamed, status=422)


def test_a_member_renames_a_source(cast: Cast) -> None:
    client = signed_in(cast.member)

    answer = client.post(f"{make(client)}rename/", {"name": "Gateway"}, follow=True)

    assert "Source renamed." in text_of(answer)
    assert "Gateway" in get_page(client, LIST)


def test_a_member_who_deletes_a_source_sees_first_what_is_deleted_with_it(cast: Cast) -> None:
    push_client, other = create_push_client(cast), create_push_client(cast, name="Other")
    push_client.push(event(), event())
    other.push(event())
    flush_usage(cast.account)
    push_client.push(event())
    client, page = signed_in(cast.member), f"{LIST}{push_client.source.pk}/"

    warned = client.get(page).content.decode()
    deleted = client.post(f"{page}delete/", follow=True)

    assert 'data-confirm="Delete Backend?"' in warned
    assert "3 events, its key and its uploads are deleted; pushes with the key get 401." in warned
    assert "Source Backend deleted with its key, uploads and events." in text_of(deleted)
    assert client.get(page).status_code == 404
    assert push_client.push(event()).status_code == 401
    assert other.push(event()).status_code == 200
    assert metered_events(cast.account, clock.today()) == 5, "what was received stays on the meter"


def test_the_plaintext_stays_in_no_session_header_or_cookie(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)

    answer = client.post(f"{page}key/generate/")

    key = shown_key(answer)
    sessions = " ".join(str(session.get_decoded()) for session in Session.objects.all())
    assert key not in sessions + str(answer.headers) + str(answer.cookies)


def test_the_list_sorts_searches_and_exports(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    for name in ("beta", "Alpha", "=cmd()"):
        services.create_usage_source(account=cast.account, actor=cast.actor, name=name)

    page = client.get(LIST, {"sort": "-name"}).content.decode()
    text = text_of(client.get(LIST, {"q": "alp"}))
    exported = b"".join(client.get(LIST, {"sort": "name", "format": "csv"})).decode().splitlines()

    assert page.index("beta") < page.index("Alpha")
    assert "Alpha" in text
    assert "beta" not in text
    assert exported[0] == "Source,Kind,Status,Last sync,API key,Last used,Created,Last error"
    assert [line.split(",")[0] for line in exported[1:]] == ["'=cmd()", "Alpha", "beta"]


def test_the_key_page_has_a_snippet_for_the_shell_one_for_python_and_one_for_node(cast: Cast) -> None:
    client = signed_in(cast.member)

    answer = client.post(f"{make(client)}key/generate/")

    page = answer.content.decode()
    assert page.count(shown_key(answer)) == 4  # itself and in three snippets
    assert "curl" in text_of(answer)
    assert "Python" in text_of(answer)


def test_the_shell_snippet_sends_a_valid_event(cast: Cast) -> None:
    push_client = create_push_client(cast)
    text = snippets_for("https://console.example/api/usage/events", push_client.key)[0].text

    command, url, *options = shlex.split(text.replace("\\\n", ""))

    assert (command, url) == ("curl", "https://console.example/api/usage/events")
    assert options[:2] == ["-H", f"Authorization: Bearer {push_client.key}"]
    assert options[2] == "-d"
    assert reasons(push_client.send(options[3]), submitted=1) == {}
    assert len(inbox()) == 1
    assert json.loads(options[3])["events"][0]["metric"] == "api_requests"
