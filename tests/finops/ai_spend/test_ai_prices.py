"""An account's own AI prices: entered, uploaded, audited, and what estimates make of them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.ai_spend import services
from finops.ai_spend.models import AiPrice
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.costs import add_source
from tests.factories.usage import add_usage
from tests.finops.ai_spend.test_review import DAYS, ask, claude, tokens

pytestmark = pytest.mark.django_db
PRICE = {
    "model": "Claude Sonnet 4.5",
    "token_type": "input",
    "price_per_million": "2.40",
    "currency": "USD",
    "valid_from": DAYS[5],
}


def enter(account: Account, **more: Any) -> AiPrice:
    return services.enter_price(account=account, actor=ACTOR, **{**PRICE, **more})


def test_an_own_price_counts_from_its_day_on_and_the_answer_says_so(acme: Account) -> None:
    """The list has 3 USD a million of input; 10 days of a million tokens each."""
    add_usage(acme, [tokens(day, 1_000_000, "claude-sonnet-4-5-20250929", "input") for day in DAYS])
    before = ask(acme)
    enter(acme)
    enter(acme, price_per_million="2.00", valid_from=DAYS[8])
    enter(acme, model="gpt-5", price_per_million="9")
    after = ask(acme)

    assert [each.estimated for each in before.estimates] == [Decimal(30)]
    assert (before.own_price_models, "own prices" in before.summary) == ([], False)
    # Five days at the list, three at 2.40, two at 2.00.
    assert [each.estimated for each in after.estimates] == [Decimal("26.2")]
    assert after.own_price_models == ["claude-sonnet-4-5"]
    assert after.summary.endswith(", at own prices for 'claude-sonnet-4-5'.")


def test_the_difference_is_computed_against_own_prices(acme: Account) -> None:
    add_source(acme, [claude(DAYS[6], "2.40", "claude-sonnet-4-5", "uncached_input_tokens", "1000000")])
    add_usage(acme, [tokens(DAYS[6], 1_000_000, "claude-sonnet-4-5", "input")])
    at_list = ask(acme).estimates[0]
    enter(acme)
    own = ask(acme).estimates[0]

    assert at_list.difference == Decimal("-0.6")
    assert [part.text for part in at_list.parts] == ["Billed prices against the price list"]
    assert (own.difference, own.parts) == (Decimal(0), [])


def test_a_model_that_no_list_has_gets_an_estimate(acme: Account) -> None:
    add_usage(acme, [tokens(DAYS[6], 2_000_000, "our-own-llama", "output")])
    enter(acme, model="our-own-llama", token_type="output", price_per_million="0.5", currency="EUR")

    answer = ask(acme)

    assert [(each.estimated, each.currency) for each in answer.estimates] == [(Decimal(1), "EUR")]
    assert answer.unpriced == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", " "),
        ("token_type", "images"),
        ("price_per_million", "-1"),
        ("price_per_million", "1e3"),
        ("price_per_million", "1.0000000001"),
        ("currency", "XXQ"),
        ("valid_from", date(1999, 1, 1)),
    ],
)
def test_an_invalid_price_is_refused_with_its_field(acme: Account, field: str, value: Any) -> None:
    with pytest.raises(UserError) as error:
        enter(acme, **{field: value})

    assert error.value.field == field


def test_a_file_is_taken_whole_or_not_at_all(cast: Cast) -> None:
    client = signed_in(cast.member)
    head = "model;token_type;price_per_million;currency;valid_from\n"
    good = f"{head}gpt-5;input;1.1;USD;2026-03-01\ngpt-5;output;9;EUR;2026-03-01\n\n"
    bad = (
        f"{head}gpt-5;input;1.1;USD;2026-03-01\ngpt-5;vision;x;USD;2026-03-01\nGPT-5;input;2;USD;2026-03-01\n"
    )

    refusal = _upload(client, cast, bad)
    with account_scope(cast.account):
        assert not AiPrice.objects.exists()
    response = _upload(client, cast, good)

    assert refusal.status_code == 422
    assert "Line 3: &#x27;vision&#x27; is no token type." in refusal.content.decode()
    assert "Line 4: the same model, token type and date as line 2." in refusal.content.decode()
    assert response.status_code == 302
    with account_scope(cast.account):
        assert AiPrice.objects.count() == 2
        entry = AuditEntry.objects.get(action="ai_price.upload")
    assert (entry.target, entry.detail) == ("prices.csv", {"prices": 2})


def _upload(client: Client, cast: Cast, text: str) -> Any:
    file = SimpleUploadedFile("prices.csv", text.encode(), "text/csv")
    return client.post(f"/a/{cast.account.slug}/ai-prices/upload/", {"file": file})


def test_a_member_enters_lists_exports_and_deletes_and_a_viewer_looks(cast: Cast) -> None:
    base, member, viewer = (
        f"/a/{cast.account.slug}/ai-prices/",
        signed_in(cast.member),
        signed_in(cast.viewer),
    )
    form = {**PRICE, "valid_from": PRICE["valid_from"].isoformat()}  # type: ignore[attr-defined]

    assert "No AI prices yet" in viewer.get(base).content.decode()
    assert member.post(f"{base}new/", form).status_code == 302
    assert member.post(f"{base}new/", {**form, "price_per_million": "2.10"}).status_code == 302
    assert member.post(f"{base}new/", {**form, "price_per_million": "two"}).status_code == 422
    page = viewer.get(base).content.decode()
    exported = b"".join(viewer.get(base, {"format": "csv"})).decode().splitlines()
    assert "Claude Sonnet 4.5" in page
    assert "Delete" not in page
    assert exported == [
        "Model,Token type,Price per million,Currency,From",
        "Claude Sonnet 4.5,input,2.1,USD,2026-03-06",
    ]
    assert viewer.post(f"{base}new/", form).status_code == 403
    with account_scope(cast.account):
        price = AiPrice.objects.get()
    assert member.post(f"{base}{price.pk}/delete/").status_code == 302
    with account_scope(cast.account):
        assert not AiPrice.objects.exists()
        actions = AuditEntry.objects.filter(action__startswith="ai_price").order_by("pk")
        assert list(actions.values_list("action", flat=True)) == [
            "ai_price.enter",
            "ai_price.enter",
            "ai_price.delete",
        ]
