"""An operator deletes an account: a dry run with counts, 14 days to restore it, and proof that nothing is left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import Account, User
from accounts.services.deletion import count_rows, delete_account
from finops.lib import clock
from tests.cast import Cast, reauthenticated
from tests.isolation.marks import fill_with_marks


@pytest.fixture
def acting(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def page_of(account: Account, action: str) -> str:
    return f"/admin/accounts/account/{account.pk}/actions/{action}/"


def test_the_dry_run_counts_and_deletes_nothing(cast: Cast, acting: Client) -> None:
    fill_with_marks(cast.account)
    before = count_rows(cast.account.pk)

    page = acting.get(page_of(cast.account, "delete")).content.decode()

    assert "Lake segments" in page
    assert "Memberships" in page
    assert before["accounts_membership"] == 5
    assert count_rows(cast.account.pk) == before
    assert Account.objects.get(pk=cast.account.pk).delete_after is None


def test_it_is_deleted_after_14_days_and_no_row_is_left(cast: Cast, acting: Client) -> None:
    fill_with_marks(cast.account)
    other = count_rows(cast.other_account.pk)

    acting.post(page_of(cast.account, "delete"))
    with clock.frozen(clock.now() + timedelta(days=15)):
        assert delete_account(account_id=cast.account.pk)

    assert count_rows(cast.account.pk) == {}
    assert count_rows(cast.other_account.pk) == other


def test_until_then_it_is_restored(cast: Cast, acting: Client) -> None:
    acting.post(page_of(cast.account, "delete"))
    assert Account.objects.get(pk=cast.account.pk).delete_after is not None
    assert acting.get(page_of(cast.account, "delete")).status_code == 404

    acting.post(page_of(cast.account, "restore"))

    assert Account.objects.get(pk=cast.account.pk).delete_after is None
