"""Pages of a usage source that is pulled: the wizard, its page, syncs and settings."""

from __future__ import annotations

from django.test import Client

from accounts.scoping import account_scope
from finops.connections.models import CostConnection, CostSync
from tests.cast import Cast
from tests.finops.connections.databases.test_postgresql import ShopDatabase, shop_database
from tests.finops.connections.syncs.sync_steps import sync_now
from tests.finops.connections.usage.test_usage_postgresql import connect, fill

__all__ = ["shop_database"]


def member_of(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.member)
    return client


def test_the_wizard_makes_a_pull_source_and_its_first_sync(cast: Cast, shop_database: ShopDatabase) -> None:
    fill(shop_database)
    client, url = member_of(cast), f"/a/{cast.account.slug}/connections/new/?connector=usage_postgresql"
    catalog = client.get(f"/a/{cast.account.slug}/connections/new/?q=usage").content.decode()
    values = shop_database.values(
        query="SELECT * FROM orders", name="Shop", first_month="", interval_minutes="60"
    )
    response = client.post(url, values)

    assert "Usage of your product" in catalog
    assert response.status_code == 302, response.content.decode()
    with account_scope(cast.account):
        sync = CostSync.objects.get()
    page = client.get(response.url).content.decode()  # type: ignore[attr-defined]
    assert f"Sync {sync.pk}" in page
    assert "Shop" in page


def test_its_page_says_how_it_is_pulled_and_that_it_has_no_key(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    connection = connect(cast, shop_database)
    with account_scope(cast.account):
        sync = sync_now(connection)
    base, client = f"/a/{cast.account.slug}/connections/usage/{connection.target_id}/", member_of(cast)
    page = client.get(base).content.decode()
    sync_page = client.get(f"/a/{cast.account.slug}/connections/syncs/{sync.pk}/").content.decode()

    assert "It has no API key" in page
    assert "PostgreSQL usage" in page
    assert f"{base}edit/" in page
    assert "View usage" in sync_page
    for part in ("edit/", "syncs/"):
        assert client.get(base + part).status_code == 200
    assert client.post(f"{base}pause/").status_code == 302
    with account_scope(cast.account):
        assert CostConnection.objects.get().paused_at is not None
    assert client.post(f"{base}resume/").status_code == 302
    assert client.post(f"{base}sync/").status_code == 302
    assert client.get(f"/a/{cast.account.slug}/connections/").status_code == 200
