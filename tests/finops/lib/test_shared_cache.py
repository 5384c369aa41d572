from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from finops.lib import shared_cache
from tests.cast import PASSWORD, Cast
from tests.servers import free_port


@pytest.fixture
def no_cache_server(settings: Settings) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "finops.lib.shared_cache.SharedCache",
            "LOCATION": f"redis://127.0.0.1:{free_port()}/0",
        }
    }
    shared_cache._breaker._until = 0.0


def test_while_redis_is_away_a_process_caches_for_itself(no_cache_server: None) -> None:
    assert cache.add("spent", True, timeout=60)
    assert not cache.add("spent", True, timeout=60)
    assert cache.get("spent") is True
    cache.delete("spent")
    assert cache.get("spent") is None


def test_sign_in_works_while_redis_is_away(no_cache_server: None, cast: Cast, client: Client) -> None:
    form = {"login": cast.member.email, "password": PASSWORD}
    answer = client.post(reverse("account_login"), form)
    assert (answer.status_code, "_auth_user_id" in client.session) == (302, True)
