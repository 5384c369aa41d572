"""Uploads and pushes into the same source: an upload is refused unless the person is sure, a push says which upload it replaces."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from finops.connections.services import cost_keys
from finops.costs.models import CostImport
from finops.costs.services import run_import
from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import MAY, MONTHS, CostPushClient, csv_rows
from tests.pages import text_of

pytestmark = pytest.mark.django_db

UPLOAD = "/a/acme/connections/upload/"


def send(member: Client, cost_client: CostPushClient, **fields: str) -> HttpResponse:
    file = SimpleUploadedFile("focus.csv", csv_rows("9"))
    response: HttpResponse = member.post(UPLOAD, {"source": cost_client.source.pk, "uploads": file, **fields})  # type: ignore[assignment]
    return response


def upload(member: Client, cost_client: CostPushClient, **fields: str) -> None:
    assert send(member, cost_client, **fields).status_code == 302
    job = CostImport.objects.unscoped().latest("pk")
    if job.status != CostImport.Status.DONE:
        assert run_import(job.pk)


def test_an_upload_into_a_source_that_a_program_pushes_to_is_refused_with_instructions(
    cost_client: CostPushClient, member: Client
) -> None:
    cost_client.push(csv_rows("1"))

    page = text_of(send(member, cost_client), status=422)

    assert "A program pushes the cost of 'LiteLLM'. Its next push of a month replaces the upload." in page
    assert "revoke the key first, or check “Upload anyway”" in page
    assert cost_client.billed() == {MAY: Decimal(1)}


def test_a_confirmed_upload_replaces_a_push_and_the_next_push_says_what_it_replaces(
    cost_client: CostPushClient, member: Client
) -> None:
    cost_client.push(csv_rows("1"))
    upload(member, cost_client, is_sure="on")
    assert cost_client.billed() == {MAY: Decimal(9)}

    waiting = cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("2")).json()
    status = cost_client.push(csv_rows("3"))

    assert "2026-05 was last uploaded by" in waiting["note"]
    assert "(focus.csv): the push replaces that." in waiting["note"]
    assert (status["note"], cost_client.billed()) == (None, {MAY: Decimal(3)})


def test_a_push_that_replaced_an_upload_still_says_so(cost_client: CostPushClient, member: Client) -> None:
    upload(member, cost_client)
    first = cost_client.push(csv_rows("2"))
    assert "focus.csv" in first["note"]
    assert cost_client.push(csv_rows("3"))["note"] is None


def test_a_source_without_pushes_and_one_whose_key_was_revoked_take_uploads(
    cast: Cast, cost_client: CostPushClient, member: Client
) -> None:
    assert send(member, cost_client).status_code == 302
    cost_client.push(csv_rows("1"))
    cost_keys.revoke_cost_key(source=cost_client.source, actor=cast.actor)
    assert send(member, cost_client).status_code == 302
