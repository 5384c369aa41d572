"""Operators look at clients, connections and tokens: no hash, no secret, and nothing to change by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import (
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthGrant,
    OAuthRefreshToken,
)
from tests.accounts.oauth.flow import OAuthClient, status_at_door
from tests.cast import Cast

MODELS = [OAuthAccessToken, OAuthApplication, OAuthConnection, OAuthGrant, OAuthRefreshToken]


def rows(model: Any) -> Any:
    return model.objects.unscoped() if model is OAuthConnection else model.objects.all()


def url_of(model: Any, action: str) -> str:
    return reverse(f"admin:accounts_{model._meta.model_name}_{action}", args=[rows(model).first().pk])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_an_operator_sees_no_hash_and_changes_nothing(cast: Cast, operator: Client, model: Any) -> None:
    OAuthClient().connect(cast.member)
    url = url_of(model, "change")

    page = operator.get(url)

    assert page.status_code == 200
    hashes = [
        OAuthAccessToken.objects.get().token_checksum,
        OAuthRefreshToken.objects.get().token_checksum,
        OAuthGrant.objects.get().code,
        OAuthApplication.objects.get().client_secret,
    ]
    assert not [text for text in hashes if text in page.content.decode()]
    assert operator.post(url, {"skip_authorization": "on"}).status_code == 403


def test_an_operator_may_end_a_client_that_deceives(cast: Cast, operator: Client) -> None:
    tokens = OAuthClient().connect(cast.member)

    answer = operator.post(url_of(OAuthApplication, "delete"), {"post": "yes"})

    assert answer.status_code == 302
    assert status_at_door(tokens.access) == 401
    assert not OAuthApplication.objects.exists()
