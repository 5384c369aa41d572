from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accounts.keys import mint_mcp_key
from tests.cast import Cast, signed_in

LISTS = [
    reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    for model in admin.site._registry
]


@pytest.mark.parametrize("url", LISTS)
def test_an_operator_may_look_at_every_list(cast: Cast, operator: Client, url: str) -> None:
    mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    assert operator.get(url).status_code == 200


@pytest.mark.parametrize("url", LISTS)
def test_an_owner_of_an_account_is_no_operator(cast: Cast, url: str) -> None:
    answer = signed_in(cast.owner).get(url)

    assert answer.status_code in {302, 403}


def test_an_operator_changes_no_key_and_sees_no_hash(cast: Cast, operator: Client) -> None:
    key, _plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    url = reverse("admin:accounts_mcpkey_change", args=[key.pk])

    assert key.digest.hex() not in operator.get(url).content.decode()
    assert operator.post(url, {"name": "other"}).status_code == 403
