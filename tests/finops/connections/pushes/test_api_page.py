"""The reference of pushes in the console says what the endpoints do."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from django.conf import settings
from jsonschema import Draft202012Validator

from finops.connections.openapi import document
from finops.connections.push_reference import PATHS, ApiOperation, push_reference
from finops.connections.views.cost_keys import push_url
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.finops.connections.pushes.push_steps import CostPushClient, csv_rows, run_pushes
from tests.pages import get_page

PAGE = "/a/acme/connections/api/"


def test_everybody_of_the_account_finds_it_from_the_page_of_a_source(
    cast: Cast, cost_client: CostPushClient
) -> None:
    client = signed_in(cast.viewer)

    assert f'href="{PAGE}"' in client.get(cost_client.page).content.decode()
    assert client.get(PAGE).status_code == 200
    assert signed_in(cast.stranger).get(PAGE).status_code == 404


def test_it_has_every_endpoint_field_column_and_status_of_the_document(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)
    paths, schemas = document()["paths"], document()["components"]["schemas"]

    operations = {(path, method) for path, each in paths.items() for method in each if method != "parameters"}
    assert set(PATHS) == operations
    names = [f"{method.upper()} {path}" for path, method in PATHS]
    names += [code for path, method in PATHS for code in paths[path][method]["responses"]]
    names += [
        *schemas["CostPush"]["properties"],
        *schemas["Rows"]["properties"]["rows"]["items"]["properties"],
    ]
    assert [name for name in names if name not in page] == []
    assert "at most 67.1 MB" in page
    assert "`" not in page


def test_its_base_url_breaks_only_between_the_parts_of_its_path(cast: Cast) -> None:
    answer = signed_in(cast.viewer).get(PAGE).content.decode()

    (shown,) = re.findall(r"<dt>Base URL</dt>\s*<dd>\s*<code[^>]*>(.*?)</code>", answer)
    assert shown.replace("<wbr>", "") == push_url()
    assert shown.split("<wbr>")[:2] == [settings.PUBLIC_URL, "/api"]


def test_its_example_of_a_push_is_one() -> None:
    schema = document()["components"]["schemas"]["CostPush"]

    Draft202012Validator(schema).validate(json.loads(push_reference("key").example))


def test_its_curl_commands_push_a_month_in_the_order_of_the_page(cost_client: CostPushClient) -> None:
    endpoints = push_reference(cost_client.key).operations
    push_id, statuses = "", []
    for endpoint in endpoints:
        answer = send(cost_client, endpoint, push_id)
        statuses.append((endpoint.id, str(answer.status_code) == endpoint.success))
        run_pushes()
        if endpoint.id == "openPush":
            push_id = answer.json()["id"]
            assert send(cost_client, operation_of(endpoints, "putPart"), push_id, part=2).status_code == 200

    assert statuses == [
        ("pushMonth", True),
        ("openPush", True),
        ("putPart", True),
        ("commitPush", True),
        ("getPush", True),
        ("listPushes", True),
        ("cancelPush", False),
    ]


def operation_of(endpoints: list[ApiOperation], name: str) -> ApiOperation:
    return next(each for each in endpoints if each.id == name)


def send(cost_client: CostPushClient, endpoint: ApiOperation, push_id: str, part: int = 1) -> Any:
    """What curl would send."""
    words = shlex.split(endpoint.curl.replace("\\\n", ""))
    options = {words[place]: words[place + 1] for place in range(1, len(words) - 1) if words[place][0] == "-"}
    address = next(word for word in words if word.startswith(settings.PUBLIC_URL))
    path = address.removeprefix(settings.PUBLIC_URL).replace("$PUSH_ID", push_id)
    body: Any = (
        csv_rows(str(part), BillingPeriodStart=f"{clock.today():%Y-%m}-01T00:00:00Z")
        if "--data-binary" in options
        else options.get("-d", b"")
    )
    assert options["-H"] == f"Authorization: Bearer {cost_client.key}"
    return cost_client.send(options["-X"], path.replace("/parts/1", f"/parts/{part}"), body)
