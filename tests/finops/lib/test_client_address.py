from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from finops.lib.client_address import client_address, client_network
from tests.cast import Cast


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "address"),
    [
        (0, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (1, "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (1, "10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        (2, "10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "10.0.0.1", "198.51.100.7", "10.0.0.1"),
        (1, "10.0.0.1", "", "10.0.0.1"),
        (1, "10.0.0.1", "<script>", "10.0.0.1"),
        (0, "::ffff:192.0.2.1", "", "192.0.2.1"),
        (0, "2001:DB8::1", "", "2001:db8::1"),
        (0, "", "", "unknown"),
    ],
)
def test_the_address_is_what_the_outermost_proxy_saw(
    settings: Any, proxies: int, peer: str, forwarded: str, address: str
) -> None:
    settings.PROXY_COUNT = proxies
    assert client_address({"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}) == address


def test_an_ipv6_network_counts_as_one(settings: Any) -> None:
    assert client_network({"REMOTE_ADDR": "2001:db8:1:2:3::4"}) == "2001:db8:1:2::/64"
    assert client_network({"REMOTE_ADDR": "192.0.2.1"}) == "192.0.2.1"


def test_ten_failures_of_one_address_behind_a_proxy_lock_nobody_else_out(cast: Cast, settings: Any) -> None:
    settings.PROXY_COUNT = 1

    def is_locked_out(address: str, email: str) -> bool:
        client = Client(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=f"9.9.9.9, {address}")
        return (
            b"Too many failed" in client.post("/auth/login/", {"login": email, "password": "wrong"}).content
        )

    tries = [is_locked_out("198.51.100.7", f"nobody{number}@example.com") for number in range(12)]
    assert tries[-1]
    assert not is_locked_out("198.51.100.8", cast.owner.email)
