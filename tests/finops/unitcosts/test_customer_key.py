"""Which dimension of cost names the customers, and other spellings of them."""

from __future__ import annotations

from datetime import date

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.services.customer_mappings import (
    add_customer_alias,
    remove_customer_alias,
    set_customer_key,
)
from ingestion.models import Customer
from tests.cast import Cast
from tests.factories.costs import add_source, cost


@pytest.fixture
def payer(acme: Account) -> Account:
    add_source(acme, [cost(date(2026, 3, 1), 5, tags={"customer": "a", "Team": "core"})])
    Customer.objects.create(account=acme, customer_id="globex-corporation")
    return acme


def last_entry() -> tuple[str, str]:
    entry = AuditEntry.objects.latest("pk")
    return entry.action, entry.target


@pytest.mark.parametrize(
    ("dimension", "expected_key"),
    [
        ("tag:customer", "tag:customer"),
        ("tag: Customer", "tag:customer"),
        ("account", "account"),
        ("Sub account", "account"),
    ],
)
def test_the_customer_key_is_a_dimension_that_the_data_has(
    cast: Cast, payer: Account, dimension: str, expected_key: str
) -> None:
    set_customer_key(account=payer, actor=cast.actor, dimension=dimension)

    assert CustomerKey.objects.get().dimension == expected_key
    assert last_entry() == ("customer_key.set", expected_key)


def test_choosing_again_replaces_the_key_and_says_what_it_was(cast: Cast, payer: Account) -> None:
    set_customer_key(account=payer, actor=cast.actor, dimension="tag:customer")
    set_customer_key(account=payer, actor=cast.actor, dimension="account")

    assert [key.dimension for key in CustomerKey.objects.all()] == ["account"]
    assert AuditEntry.objects.latest("pk").detail == {"from": "tag:customer", "to": "account"}


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        ("tag:custommer", "Nearest: 'tag:customer'"),
        ("customer", "Nearest: 'tag:customer'"),
        ("tag:zzz", "no cost has tag key 'zzz'"),
        ("accuont", "Nearest: account"),
        ("", "Choose the cost dimension with your customer IDs."),
        ("x" * 400, "has 400 characters; the maximum is 300."),
    ],
    ids=["misspelt tag", "tag without prefix", "strange tag", "misspelt dimension", "empty", "long"],
)
def test_an_unknown_customer_key_is_refused_with_the_nearest(
    cast: Cast, payer: Account, dimension: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        set_customer_key(account=payer, actor=cast.actor, dimension=dimension)

    assert message in error.value.message
    assert not CustomerKey.objects.exists()


def test_an_alias_maps_another_spelling_and_can_be_removed(cast: Cast, payer: Account) -> None:
    alias = add_customer_alias(
        account=payer, actor=cast.actor, value=" Globex Inc ", customer_id="globex-corporation"
    )

    assert str(CustomerAlias.objects.get()) == " Globex Inc  → globex-corporation"
    assert last_entry() == ("customer_alias.add", " Globex Inc ")

    remove_customer_alias(account=payer, actor=cast.actor, alias_id=alias.pk)

    assert not CustomerAlias.objects.exists()
    assert last_entry() == ("customer_alias.remove", " Globex Inc ")


@pytest.mark.parametrize(
    ("value", "customer_id", "message"),
    [
        ("Globex", "globex-corp", "Nearest: 'globex-corporation'"),
        ("Globex", "", "Choose a customer."),
        ("globex-corporation", "globex-corporation", "is already that customer's ID."),
    ],
)
def test_an_alias_of_an_unknown_customer_is_refused(
    cast: Cast, payer: Account, value: str, customer_id: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        add_customer_alias(account=payer, actor=cast.actor, value=value, customer_id=customer_id)

    assert not CustomerAlias.objects.exists()


@pytest.mark.parametrize("value", ["Globex", ""], ids=["taken", "empty"])
def test_a_value_that_is_empty_or_mapped_already_is_refused(cast: Cast, payer: Account, value: str) -> None:
    Customer.objects.create(account=payer, customer_id="initech")
    add_customer_alias(account=payer, actor=cast.actor, value="Globex", customer_id="initech")

    with pytest.raises(ValidationError):
        add_customer_alias(account=payer, actor=cast.actor, value=value, customer_id="globex-corporation")

    assert CustomerAlias.objects.get().customer_id == "initech"


def test_the_alias_of_another_account_cannot_be_removed(cast: Cast, payer: Account) -> None:
    alias = add_customer_alias(
        account=payer, actor=cast.actor, value="Globex", customer_id="globex-corporation"
    )

    with account_scope(cast.other_account), pytest.raises(UserError, match="was already deleted"):
        remove_customer_alias(account=cast.other_account, actor=cast.other_actor, alias_id=alias.pk)

    assert CustomerAlias.objects.get() == alias


def test_an_account_has_so_many_aliases_at_most(
    cast: Cast, payer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.unitcosts.services.customer_mappings.MAX_ALIASES", 1)
    add_customer_alias(account=payer, actor=cast.actor, value="a", customer_id="globex-corporation")

    with pytest.raises(UserError, match=r"The maximum is 1 aliases per account\."):
        add_customer_alias(account=payer, actor=cast.actor, value="b", customer_id="globex-corporation")
