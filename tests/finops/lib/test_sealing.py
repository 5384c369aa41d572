from __future__ import annotations

import pytest
from pytest_django import Settings

from finops.lib.sealing import Unsealable, is_current, seal, unseal

SECRET = {"url": "https://hooks.example.com/services/T024/B017", "until": None}


def test_a_sealed_text_opens_again_and_is_not_readable_before() -> None:
    sealed = seal(SECRET, purpose="a")

    assert unseal(sealed, purpose="a") == SECRET
    assert "hooks" not in sealed
    assert seal(SECRET, purpose="a") != sealed


def test_a_sealed_text_opens_for_its_own_purpose_only() -> None:
    with pytest.raises(Unsealable):
        unseal(seal(SECRET, purpose="account 1"), purpose="account 2")


def test_a_replaced_key_opens_what_it_sealed_while_it_is_a_fallback(settings: Settings) -> None:
    settings.SECRET_KEY = "first" * 20
    sealed = seal(SECRET, purpose="a")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "second" * 20, ["first" * 20]

    assert unseal(sealed, purpose="a") == SECRET
    assert not is_current(sealed, purpose="a")
    assert is_current(seal(SECRET, purpose="a"), purpose="a")


def test_a_key_that_is_gone_asks_to_enter_the_target_again(settings: Settings) -> None:
    sealed = seal(SECRET, purpose="a")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 20, []

    with pytest.raises(
        Unsealable,
        match=r"The stored secret is unreadable because the server's secret key was replaced\. Enter it again",
    ):
        unseal(sealed, purpose="a")


@pytest.mark.parametrize("text", ["", "nonsense", "gAAAAA"], ids=["empty", "nonsense", "torn"])
def test_damaged_text_is_no_other_error(text: str) -> None:
    with pytest.raises(Unsealable):
        unseal(text, purpose="a")
