"""Requests to entered addresses reach nothing private, whatever DNS says, and end in time, whatever the receiver does."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, strategies
from hypothesis import settings as profile
from pytest_django import Settings

from finops.lib import outbound
from finops.lib.outbound import DeliveryTimeout, UrlRefusal, check_url, client, is_public, post, use_resolver
from tests.examples import examples
from tests.receivers import (
    Behaviour,
    NameServer,
    Receiver,
    certificate_of,
    drip_body,
    drip_headers,
    flood,
    hang,
    http_receiver,
    name_server,
    reset_connection,
    send_no_http,
)

SECONDS = 20.0
"""More than any of these takes on a loaded machine."""


@pytest.fixture
def names() -> Iterator[NameServer]:
    with name_server() as served, use_resolver(served.resolve):
        yield served


def send(url: str, seconds: float = SECONDS) -> outbound.Response:
    return post(url, body=b'{"a": 1}', headers={"Content-Type": "application/json"}, seconds=seconds)


REFUSED = [
    "https://127.0.0.1/x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://0x7f000001/x",
    "https://0x7f.0.0.1/x",
    "https://0177.0.0.1/x",
    "https://localhost/x",
    "https://10.1.2.3/x",
    "https://172.16.0.1/x",
    "https://192.168.0.1/x",
    "https://100.64.0.1/x",
    "https://100.100.100.200/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "https://168.63.129.16/machine",
    "https://192.0.0.192/opc",
    "https://0.0.0.0/x",
    "https://255.255.255.255/x",
    "https://224.0.0.1/x",
    "https://[::1]/x",
    "https://[::]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://[::ffff:8.8.8.8]/x",
    "https://[::127.0.0.1]/x",
    "https://[64:ff9b::a9fe:a9fe]/x",
    "https://[64:ff9b:1::1]/x",
    "https://[2002:7f00:1::]/x",
    "https://[2001:0:1::1]/x",
    "https://[fd00:ec2::254]/x",
    "https://[fe80::1]/x",
    "https://[fe80::1%25lo]/x",
    "https://[ff0e::1]/x",
    "https://user@example.com/x",
    "https://user:pass@example.com/x",
    "https://example.com@127.0.0.1/x",
    "https://example.com\\@127.0.0.1/x",
    "https://example.com/x#y",
    "https://example.com:22/x",
    "https://example.com:99999/x",
    "https://example.com:x/x",
    "https://exam\tple.com/x",
    "https://example.com/x\r\nHost: y",
    "https://exämple.com/x",
    "https://①②⑦.0.0.1/x",
    "https://example%2ecom/x",
    "https://example..com/x",
    "https:///x",
    "https://",
    "http://93.184.216.34/x",
    "ftp://example.com/x",
    "file:///etc/passwd",
    "//example.com/x",
    "example.com",
    "",
    "https://example.com/" + "x" * 2_000,
]


@pytest.mark.parametrize("url", REFUSED, ids=range(len(REFUSED)))
def test_a_place_that_is_not_for_alerts_is_refused_when_saved_and_when_sent(url: str) -> None:
    with pytest.raises(UrlRefusal) as saved:
        check_url(url, field="target")
    with pytest.raises(UrlRefusal):
        send(url)
    assert saved.value.field == "target"
    assert saved.value.message.startswith("target: ")


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1", "fe80::1%1", "not one"],
)
def test_one_inside_address_among_public_ones_refuses_the_name(address: str) -> None:
    with (
        use_resolver(lambda host, port: ["93.184.216.34", address]),
        pytest.raises(UrlRefusal, match="private"),
    ):
        check_url("https://split.example.com/x")


def test_a_public_name_is_taken_and_an_unknown_one_is_not() -> None:
    with use_resolver(lambda host, port: ["93.184.216.34", "2606:2800:220:1::1"]):
        check_url("https://hooks.example.com:8443/x")

    def refuse_name(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with (
        use_resolver(refuse_name),
        pytest.raises(UrlRefusal, match=r"No DNS address for hooks\.example\.com"),
    ):
        check_url("https://hooks.example.com/x")
    with use_resolver(refuse_name), pytest.raises(DeliveryTimeout):
        send("https://hooks.example.com/x")


_SPECIAL = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
]
_SPECIAL_6 = [
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "2001::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
]
ADDRESSES = strategies.one_of(
    strategies.ip_addresses(v=4),
    strategies.ip_addresses(v=6),
    *(strategies.ip_addresses(network=network) for network in [*_SPECIAL, *_SPECIAL_6]),
).map(str)


def is_inside(text: str) -> bool:
    """What must never be reached, said another way than the product says it: also where it stands within IPv6."""
    address = ipaddress.ip_address(text)
    bad = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or address in ipaddress.ip_network("100.64.0.0/10")
    )
    if isinstance(address, ipaddress.IPv4Address):
        return bad
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return is_inside(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return bad or any(each is not None and is_inside(str(each)) for each in inner)


@example(["64:ff9b::7f00:1"])
@example(["8.8.8.8", "::ffff:169.254.169.254"])
@given(strategies.lists(ADDRESSES, min_size=1, max_size=3))
@profile(
    max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_whatever_dns_answers_nothing_inside_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    connected: list[str] = []

    def create_connection(address: tuple[str, int], timeout: float) -> None:
        connected.append(address[0])
        raise OSError("the test ends here")

    monkeypatch.setattr(socket, "create_connection", create_connection)
    with use_resolver(lambda host, port: addresses), pytest.raises((UrlRefusal, DeliveryTimeout)):
        send("https://hooks.example.com/x")

    assert not [address for address in connected if is_inside(address)]
    assert connected in ([], addresses)
    assert bool(connected) == all(map(is_public, addresses))


def test_the_connection_goes_to_the_address_that_was_checked_and_dns_is_asked_once(
    receiver: Receiver, names: NameServer
) -> None:
    """Rebinding: whoever asks a second time is led to 127.0.0.2, where somebody listens on the same port."""
    names.answers = ["127.0.0.1", "127.0.0.2"]
    with http_receiver("127.0.0.2", port=receiver.port) as intruder:
        url = f"http://rebind.example.com:{receiver.port}/x"
        assert send(url).status == 200
        assert names.asked == ["rebind.example.com"]

        with pytest.raises(UrlRefusal):
            send(url)
        assert [len(each.requests) for each in (receiver, intruder)] == [1, 0]
    assert receiver.requests[0].headers["host"] == f"rebind.example.com:{receiver.port}"


def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver) -> None:
    receiver.answer(307, "", Location=f"http://127.0.0.1:{receiver.port}/elsewhere")

    assert send(receiver.url).status == 307
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("behave", [hang, drip_headers], ids=["hanging", "dripping headers"])
def test_a_receiver_that_is_slow_on_purpose_is_left_at_the_deadline(
    receiver: Receiver, behave: Behaviour
) -> None:
    receiver.behave = behave
    start = time.monotonic()

    with pytest.raises(DeliveryTimeout, match="did not answer in time"):
        send(receiver.url, seconds=0.3)
    assert time.monotonic() - start < SECONDS


def test_a_receiver_that_takes_no_byte_is_left_at_the_deadline(settings: Settings) -> None:
    """It listens and never accepts, and the message is larger than what the system holds for it."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/x"
        with pytest.raises(DeliveryTimeout, match="did not answer in time"):
            post(url, body=b"x" * 50_000_000, headers={}, seconds=0.3)


@pytest.mark.parametrize("behave", [reset_connection, send_no_http], ids=["dropped", "no HTTP"])
def test_a_connection_that_breaks_is_no_answer(receiver: Receiver, behave: Behaviour) -> None:
    receiver.behave = behave

    with pytest.raises(DeliveryTimeout, match="closed the connection or did not return HTTP"):
        send(receiver.url)


def test_a_body_that_drips_does_not_undo_that_the_message_arrived(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "BODY_SECONDS", 0.2)
    receiver.behave = drip_body

    answer = send(receiver.url)

    assert (answer.status, answer.body[:2]) == (200, b"ok")


def test_a_body_without_end_is_read_no_further_than_its_beginning(receiver: Receiver) -> None:
    receiver.behave = flood

    assert send(receiver.url).body == b"x" * client.MAX_BODY


def test_a_port_without_a_listener_is_no_answer(receiver: Receiver) -> None:
    with http_receiver() as stopped_receiver:
        pass

    with pytest.raises(DeliveryTimeout, match=r"127\.0\.0\.1 could not be reached"):
        send(stopped_receiver.url)


def test_dns_that_hangs_is_left_at_the_deadline() -> None:
    over = threading.Event()

    def hang(host: str, port: int) -> list[str]:
        over.wait(60)
        return []

    with (
        use_resolver(hang),
        pytest.raises(DeliveryTimeout, match=r"DNS lookup of hooks\.example\.com timed out"),
    ):
        send("https://hooks.example.com/x", seconds=0.1)
    over.set()


def test_the_second_address_is_tried_when_the_first_takes_no_connection(
    receiver: Receiver, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with use_resolver(lambda host, port: ["127.0.0.9", "127.0.0.1"]):
        assert send(f"http://two.example.com:{receiver.port}/x").status == 200


def test_plain_http_is_for_allowed_networks_alone(settings: Settings) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["10.0.0.0/8"]

    with use_resolver(lambda host, port: ["10.1.1.1"]):
        check_url("http://mattermost.example.com:8065/hooks/x")
    with use_resolver(lambda host, port: ["93.184.216.34"]), pytest.raises(UrlRefusal, match="https"):
        check_url("http://mattermost.example.com:8065/hooks/x")
    both = ["93.184.216.34", "10.1.1.1"]
    with use_resolver(lambda host, port: both), pytest.raises(UrlRefusal, match="https"):
        check_url("http://mattermost.example.com:8065/hooks/x")


def test_a_proxy_of_the_environment_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with http_receiver() as proxy:
        for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert send(receiver.url).status == 200
        assert proxy.requests == []


def test_https_checks_the_certificate_against_the_name(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
    files = certificate_of("hooks.example.com", tmp_path)
    with http_receiver(certificate=files) as served, use_resolver(lambda host, port: ["127.0.0.1"]):
        with pytest.raises(DeliveryTimeout, match="has an invalid certificate:"):
            send(f"https://hooks.example.com:{served.port}/x")
        monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
        assert send(f"https://hooks.example.com:{served.port}/x").status == 200
        with pytest.raises(DeliveryTimeout, match="has an invalid certificate:"):
            send(f"https://other.example.com:{served.port}/x")
        assert len(served.requests) == 1


@pytest.mark.parametrize(
    "behave", [hang, reset_connection, send_no_http], ids=["hanging", "dropped", "no HTTP"]
)
def test_no_error_repeats_the_path(receiver: Receiver, behave: Behaviour) -> None:
    receiver.behave = behave

    with pytest.raises(DeliveryTimeout) as error:
        send(receiver.url, seconds=0.3)
    assert "secretpath" not in str(error.value)
