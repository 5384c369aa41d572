"""Fields that a kind of access requires: they are checked when a connection or data export is created or changed, on
the page and in the service, and stored connections without them stay usable."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.connections.services.credentials import config_of
from finops.data_exports.models import DataExport
from finops.data_exports.services.exports import create_data_export
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in

CONNECTIONS = "/a/acme/connections/new/?connector="
EXPORTS = "/a/acme/connections/exports/new/?destination="
GUID = "11111111-2222-3333-4444-555555555555"
BUCKET = {"bucket": "acme-billing"}
PRINCIPAL = {"tenant_id": GUID, "client_id": GUID, "client_secret": "s"}
AZURE = {"account": "acmebilling", "container": "exports", "access": "service_principal", **PRINCIPAL}
ROLE = "arn:aws:iam::123456789012:role/finops-console"
ROLE_WITH_ID = {"access": "role", "role_arn": ROLE, "access_key_id": "AKIAIOSFODNN7EXAMPLE"}
ROLE_WITH_SECRET = {"access": "role", "role_arn": ROLE, "secret_access_key": "s"}
EVENT_HISTORY = {"read_from": "event_history", "regions": "eu-west-1"}

MISSING_OF_CONNECTIONS: list[tuple[str, dict[str, str], list[str]]] = [
    ("aws_data_exports", {**BUCKET, "access": "role"}, ["role_arn"]),
    ("aws_cur", {**BUCKET, "access": "access_key"}, ["access_key_id", "secret_access_key"]),
    (
        "azure_exports",
        {"access": "service_principal"},
        ["account", "container", "tenant_id", "client_id", "client_secret"],
    ),
    ("azure_exports", {"access": "sas_url"}, ["sas_url"]),
    (
        "azure_bucket",
        {"access": "service_principal", **PRINCIPAL, "endpoint": "https://storage.example.com"},
        ["container"],
    ),
    ("google_bucket", {**BUCKET, "access": "service_account_key"}, ["key"]),
    ("bucket_focus", {**BUCKET, "access": "role"}, ["role_arn"]),
    ("aws_data_exports", {**BUCKET, **ROLE_WITH_ID}, ["secret_access_key"]),
    ("bucket_focus", {**BUCKET, **ROLE_WITH_SECRET}, ["access_key_id"]),
    ("aws_cloudtrail", {**EVENT_HISTORY, **ROLE_WITH_ID}, ["secret_access_key"]),
    ("oci_focus", {"report": "focus"}, ["tenancy", "user", "fingerprint", "private_key", "region"]),
    ("github", {"repositories": "acme/checkout", "access": "token"}, ["token"]),
    (
        "github",
        {"repositories": "acme/checkout", "access": "app"},
        ["app_id", "installation_id", "private_key"],
    ),
    ("aws_cloudtrail", {"read_from": "event_history", "access": "role"}, ["regions", "role_arn"]),
    ("aws_cloudtrail", {"read_from": "trail_bucket", "access": "role"}, ["bucket", "role_arn"]),
]
MISSING_OF_EXPORTS: list[tuple[str, dict[str, str], list[str]]] = [
    ("s3", {**BUCKET, "access": "access_key"}, ["access_key_id", "secret_access_key"]),
    ("s3", {**BUCKET, "access": "role"}, ["role_arn"]),
    ("s3", {**BUCKET, **ROLE_WITH_ID}, ["secret_access_key"]),
    ("s3", {**BUCKET, **ROLE_WITH_SECRET}, ["access_key_id"]),
    ("azure_blob", {"access": "sas_url"}, ["sas_url"]),
    ("google_storage", {**BUCKET, "access": "service_account_key"}, ["key"]),
]


def errors_by_field(html: str) -> dict[str, str]:
    """Return the text of the errors that stand beside fields."""
    pairs = re.findall(r'id="id_(\w+)_error">(.*?)</div>\s*</div>', html, re.DOTALL)
    return {name: " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split()) for name, text in pairs}


def label_classes(html: str) -> dict[str, str]:
    labels = re.findall(r'<label class="([^"]*)"\s*for="id_(\w+)"', html)
    return {name: classes for classes, name in labels}


@pytest.mark.parametrize(("connector", "values", "missing"), MISSING_OF_CONNECTIONS)
def test_a_connection_is_not_created_without_what_its_access_requires(
    cast: Cast, connector: str, values: dict[str, str], missing: list[str]
) -> None:
    form = {"name": "Bills", "interval_minutes": "60", "addressing": "path", "region": "", **values}
    form |= {"pattern": "{year}-{month}.csv", "deployments": "on"}

    answer = signed_in(cast.member).post(f"{CONNECTIONS}{connector}", form)
    with pytest.raises(UserError) as error:
        services.create_connection(
            account=cast.account, actor=cast.actor, name="Bills", connector=connector, values=values
        )

    html = answer.content.decode()
    errors = errors_by_field(html)
    assert (answer.status_code, list(errors)) == (422, missing)
    assert all(text.startswith("Enter the ") for text in errors.values())
    assert all("required" in label_classes(html)[name].split() for name in missing)
    assert error.value.field in missing
    with account_scope(cast.account):
        assert not CostConnection.objects.exists()


@pytest.mark.parametrize(("destination", "values", "missing"), MISSING_OF_EXPORTS)
def test_a_data_export_is_not_created_without_what_its_access_requires(
    cast: Cast, destination: str, values: dict[str, str], missing: list[str]
) -> None:
    form = {"name": "focus", "schedule": "daily", "addressing": "path", "region": "eu-west-1", **values}

    answer = signed_in(cast.admin).post(f"{EXPORTS}{destination}", form)
    with pytest.raises(UserError) as error:
        create_data_export(
            account=cast.account, actor=cast.actor, name="focus", destination=destination, values=values
        )

    errors = errors_by_field(answer.content.decode())
    assert (answer.status_code, list(errors)) == (422, missing)
    assert (error.value.field, error.value.message) == (missing[0], errors[missing[0]])
    with account_scope(cast.account):
        assert not DataExport.objects.exists()


def test_labels_are_marked_for_the_access_that_is_selected(cast: Cast) -> None:
    html = signed_in(cast.member).get(f"{CONNECTIONS}azure_exports").content.decode()

    marked = {name for name, classes in label_classes(html).items() if "required" in classes.split()}
    assert {"account", "container", "tenant_id", "client_id", "client_secret"} <= marked
    assert {"sas_url", "endpoint", "path"}.isdisjoint(marked)
    assert 'data-required-unless="id_endpoint"' in html


def test_a_test_of_a_connection_names_the_missing_fields(cast: Cast) -> None:
    answer = signed_in(cast.member).post(
        "/a/acme/connections/new/test/?connector=aws_data_exports",
        {**BUCKET, "access": "role", "interval_minutes": "60"},
    )

    assert "Role ARN: Enter the role ARN." in answer.content.decode()


@pytest.fixture
def incomplete(cast: Cast) -> CostConnection:
    """A connection from a version that did not check its fields: without the storage account and the secret."""
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="Azure", connector="azure_exports", values=AZURE
    )
    connection.config, connection.credentials = {**connection.config, "account": ""}, ""
    with account_scope(cast.account):
        connection.save()
    return connection


def edit_url(connection: CostConnection) -> str:
    return f"/a/acme/connections/{connection.source_id}/edit/"


def edit_form(connection: CostConnection, **changes: Any) -> dict[str, Any]:
    return {**connection.config, "interval_minutes": "60", "first_month": "", **changes}


def test_a_stored_connection_with_empty_fields_opens_and_can_be_edited(
    cast: Cast, incomplete: CostConnection
) -> None:
    client = signed_in(cast.member)

    page = client.get(edit_url(incomplete)).content.decode()
    answer = client.post(edit_url(incomplete), edit_form(incomplete, interval_minutes="360", path="bills"))

    assert "required" not in label_classes(page)["account"].split()
    assert "required" in label_classes(page)["container"].split()
    assert answer.status_code == 302
    with account_scope(cast.account):
        changed = CostConnection.objects.get()
        assert (changed.interval_minutes, changed.config["path"]) == (360, "bills")
        assert config_of(changed).__class__ is connector_of("azure_exports").Config


def test_a_change_removes_no_field_that_the_access_requires(cast: Cast, incomplete: CostConnection) -> None:
    client = signed_in(cast.member)

    emptied = client.post(edit_url(incomplete), edit_form(incomplete, container=""))
    other_access = client.post(edit_url(incomplete), edit_form(incomplete, access="sas_url"))
    with pytest.raises(UserError, match=r"^Enter the SAS URL\.$"):
        services.change_connection(
            connection=incomplete,
            actor=cast.actor,
            values={"access": "sas_url"},
            interval_minutes=60,
            first_month=None,
        )

    assert errors_by_field(emptied.content.decode()) == {"container": "Enter the container."}
    assert errors_by_field(other_access.content.decode()) == {"sas_url": "Enter the SAS URL."}


def test_a_stored_secret_counts_as_entered_for_its_own_access_only(cast: Cast) -> None:
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="Azure", connector="azure_exports", values=AZURE
    )
    client = signed_in(cast.member)

    same_access = client.post(edit_url(connection), edit_form(connection))
    other_access = client.post(edit_url(connection), edit_form(connection, access="sas_url"))

    assert same_access.status_code == 302
    assert errors_by_field(other_access.content.decode()) == {"sas_url": "Enter the SAS URL."}
    assert other_access.content.decode().count("Stored. Leave empty to keep it.") == 1


def test_a_role_keeps_changes_and_loses_its_access_key(cast: Cast) -> None:
    values = {**BUCKET, **ROLE_WITH_ID, "secret_access_key": "first"}
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="AWS", connector="aws_data_exports", values=values
    )
    client = signed_in(cast.member)

    response = client.post(edit_url(connection), edit_form(connection, prefix="bills"))
    without_id = client.post(
        edit_url(connection), edit_form(connection, access_key_id="", secret_access_key="second")
    )
    with pytest.raises(UserError, match=r"^Enter the access key ID\.$"):
        services.change_connection(
            connection=connection,
            actor=cast.actor,
            values={**values, "access_key_id": ""},
            interval_minutes=60,
            first_month=None,
        )
    removed = client.post(edit_url(connection), edit_form(connection, access_key_id=""))

    assert (response.status_code, removed.status_code) == (302, 302)
    assert errors_by_field(without_id.content.decode()) == {"access_key_id": "Enter the access key ID."}
    with account_scope(cast.account):
        assert CostConnection.objects.get().config["access_key_id"] == ""


@pytest.mark.parametrize(
    ("connector", "values", "field", "text"),
    [
        (
            "aws_cloudtrail",
            {"read_from": "event_history", "regions": "europe", "access": "role", "role_arn": ROLE},
            "regions",
            "'europe' is no region. For example: us-east-1, eu-west-1.",
        ),
        (
            "aws_cloudtrail",
            {"read_from": "event_history", "regions": ",", "access": "role", "role_arn": ROLE},
            "regions",
            "Enter 1 to 30 regions.",
        ),
        (
            "aws_cloudtrail",
            {
                "read_from": "trail_bucket",
                "bucket": "logs",
                "accounts": "acme",
                "access": "role",
                "role_arn": ROLE,
            },
            "accounts",
            "'acme' is no account ID. For example: 111122223333.",
        ),
        (
            "azure_exports",
            {**AZURE, "amortized_export": "a"},
            "export",
            "Enter the export of actual cost too.",
        ),
        (
            "azure_exports",
            {**AZURE, "export": "a", "amortized_export": "a"},
            "amortized_export",
            "Actual and amortized cost are two exports: enter two names.",
        ),
        (
            "folder_events",
            {"folder": "/srv/events", "pattern": "*.jsonl"},
            "pattern",
            "Mark the month, for example {year}-{month}.jsonl.",
        ),
        (
            "github",
            {"repositories": "acme/checkout", "access": "token", "token": "t"},
            "deployments",
            "Choose a kind of events.",
        ),
        ("gitlab", {"projects": "a/b", "token": "glpat-12345"}, "deployments", "Choose a kind of events."),
        (
            "gitlab",
            {"projects": "checkout", "token": "glpat-12345", "releases": "on"},
            "projects",
            "'checkout' is no repository.",
        ),
    ],
)
def test_an_error_of_several_settings_is_next_to_its_field(
    cast: Cast, connector: str, values: dict[str, str], field: str, text: str
) -> None:
    answer = signed_in(cast.member).post(
        f"{CONNECTIONS}{connector}", {"name": "Events", "interval_minutes": "60", **values}
    )

    (error,) = errors_by_field(answer.content.decode()).items()
    assert answer.status_code == 422
    assert error[0] == field
    assert error[1].startswith(text)
