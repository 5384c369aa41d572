"""Signing in at AWS: a role with the external id of the connection, keys, or the server's own identity."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import cfnlint.api
import cfnlint.config
import hcl2
import pytest
import yaml
from msgspec.structs import replace
from pytest_django import Settings

from finops.connections.aws import AwsBucketConfig, aws_credentials, open_export
from finops.connections.aws_setup import EXAMPLE_PRINCIPAL, FOCUS_COLUMNS
from finops.connections.connector import AccessError, SourceUnavailable, with_external_id
from finops.connections.connectors import connector_of
from tests.finops.connections.conftest import S3TestBucket, client_of
from tests.receivers import Receiver, http_receiver
from tests.s3 import KEY, REGION

EXTERNAL_ID = "finops-0123-abcd"
ROLE = "arn:aws:iam::123456789012:role/finops-console"
CONFIG = AwsBucketConfig(bucket="bills", region=REGION, role_arn=ROLE, external_id=EXTERNAL_ID)


@pytest.fixture
def sts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """What stands where AWS's STS does. The server has an identity of its own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SERVERKEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    with http_receiver() as receiver:
        settings.AWS_STS_URL = receiver.url.partition("/hooks")[0]
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
        yield receiver


def refuse(sts: Receiver, status: int, code: str) -> None:
    sts.answer(
        status, f"<ErrorResponse><Error><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
    )


def test_a_role_is_assumed_with_the_external_id_of_the_connection(sts: Receiver) -> None:
    refuse(sts, 403, "AccessDenied")

    with pytest.raises(AccessError) as error:
        aws_credentials(CONFIG)

    sent = {name: values[0] for name, values in parse_qs(sts.requests[0].body.decode()).items()}
    assert sent["Action"] == "AssumeRole"
    assert sent["RoleArn"] == ROLE
    assert sent["ExternalId"] == EXTERNAL_ID
    assert sent["RoleSessionName"] == "finops-console"
    assert sent["DurationSeconds"] == "3600"
    assert "SERVERKEY" in sts.requests[0].headers["authorization"]
    assert f"This console is not allowed sts:AssumeRole on {ROLE}." in error.value.message
    assert "external ID of this connection" in error.value.message


def assume(sts: Receiver, key: str, minutes: int) -> None:
    """What the role's next session is."""
    expiry = datetime.now(UTC) + timedelta(minutes=minutes)
    sts.answer(
        200,
        f"<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        f"<SessionToken>t</SessionToken><Expiration>{expiry:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials></AssumeRoleResult>"
        "</AssumeRoleResponse>",
    )


def test_a_session_is_renewed_before_it_ends_while_a_bucket_is_read(sts: Receiver) -> None:
    with http_receiver() as store:
        store.answer(200, "<ListBucketResult></ListBucketResult>")
        config = replace(CONFIG, endpoint=store.url.partition("/hooks")[0])
        assume(sts, "SESSIONONE", 60)
        with open_export(config) as bucket:
            bucket.objects()
            assert (len(sts.requests), len(store.requests)) == (1, 1)

        assume(sts, "SESSIONTWO", 5)
        with open_export(config) as bucket:
            assume(sts, "SESSIONTHREE", 60)
            for _ in range(2):
                bucket.objects()

        assert len(sts.requests) == 3
        keys = [
            each.headers["authorization"].partition("Credential=")[2].split("/")[0] for each in store.requests
        ]
        assert keys == ["SESSIONONE", "SESSIONTHREE", "SESSIONTHREE"]


def test_a_session_that_cannot_be_renewed_names_the_trust_policy(sts: Receiver) -> None:
    with http_receiver() as store:
        assume(sts, "SESSIONONE", 5)
        with open_export(replace(CONFIG, endpoint=store.url.partition("/hooks")[0])) as bucket:
            refuse(sts, 403, "AccessDenied")
            with pytest.raises(AccessError, match="external ID of this connection"):
                bucket.objects()

        assert store.requests == []


def test_members_cannot_choose_an_external_id() -> None:
    config = with_external_id(replace(CONFIG, external_id="of another account"), EXTERNAL_ID)

    assert config.external_id == EXTERNAL_ID


def test_a_role_without_an_external_id_is_not_assumed(sts: Receiver) -> None:
    with pytest.raises(AccessError):
        aws_credentials(replace(CONFIG, external_id=""))

    assert sts.requests == []


def test_a_role_can_be_assumed_by_keys(sts: Receiver) -> None:
    refuse(sts, 403, "AccessDenied")

    with pytest.raises(AccessError, match=r"The access key …WXYZ is not allowed"):
        aws_credentials(replace(CONFIG, access_key_id="AKIAWXYZ", secret_access_key=KEY))

    assert "AKIAWXYZ" in sts.requests[0].headers["authorization"]


@pytest.mark.parametrize("code", ["InternalFailure", "ServiceUnavailable"])
def test_sts_that_is_down_is_unavailable(sts: Receiver, code: str) -> None:
    refuse(sts, 503, code)

    with pytest.raises(SourceUnavailable, match="AWS STS is overloaded or down"):
        aws_credentials(CONFIG)


def test_a_server_without_an_identity_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))

    with pytest.raises(AccessError, match="This server has no AWS identity"):
        aws_credentials(CONFIG)


def test_a_role_reads_the_bucket(
    s3: S3TestBucket, moto_server: str, settings: Settings, monkeypatch: Any
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    settings.AWS_STS_URL = moto_server
    client_of(moto_server, "sts").get_caller_identity()
    s3.put("exports/a.csv")
    config = replace(CONFIG, bucket=s3.name, prefix="exports", endpoint=s3.endpoint)

    credentials = aws_credentials(config)

    assert credentials.token
    assert credentials.principal == f"the role {ROLE}"
    with open_export(config) as bucket:
        assert [each.key for each in bucket.objects()] == ["a.csv"]
    assert [(each.title, each.is_ok) for each in connector_of("aws_data_exports").check(config)][:3] == [
        (f"Assume the role {ROLE}", True),
        ("Reach the bucket's address", True),
        (f"List s3://{s3.name}/exports", True),
    ]


def test_the_servers_own_identity_is_lent_only_where_its_operator_says_so(
    s3: S3TestBucket, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    config = replace(CONFIG, access="server_identity", bucket=s3.name, endpoint=s3.endpoint)
    with pytest.raises(AccessError, match="CONNECTION_AMBIENT_IDENTITY"):
        open_export(config)

    settings.CONNECTION_AMBIENT_IDENTITY = True

    with open_export(config) as bucket:
        assert bucket.objects() == []


@pytest.mark.parametrize("missing", [{"access_key_id": ""}, {"secret_access_key": ""}])
def test_keys_are_whole(missing: dict[str, str]) -> None:
    keys = replace(CONFIG, access="access_key", access_key_id="AKIA", secret_access_key="s")

    with pytest.raises(AccessError, match="access key ID and its secret"):
        aws_credentials(replace(keys, **missing))


# What is pasted


PARSERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "yaml": yaml.safe_load,
    "hcl": hcl2.loads,
}


def documents(name: str, language: str) -> list[Any]:
    parse = PARSERS[language]
    return [
        parse(each.snippet) for each in connector_of(name).steps(EXTERNAL_ID) if each.language == language
    ]


@pytest.mark.parametrize("name", ["aws_data_exports", "aws_cur"])
def test_policies_allow_reading_the_prefix_and_nothing_else(name: str, settings: Settings) -> None:
    settings.AWS_PRINCIPAL_ARN = "arn:aws:iam::999988887777:role/console"
    trust, read, _, _ = documents(name, "json")

    assert trust["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::999988887777:role/console"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"sts:ExternalId": EXTERNAL_ID}},
        }
    ]
    assert {action for each in read["Statement"] for action in each["Action"]} == {
        "s3:ListBucket",
        "s3:GetObject",
    }
    assert read["Statement"][0]["Resource"] == "arn:aws:s3:::BUCKET"
    assert read["Statement"][1]["Resource"] == "arn:aws:s3:::BUCKET/PREFIX/*"


@pytest.mark.parametrize("name", ["aws_data_exports", "aws_cur"])
def test_recommendations_have_a_statement_of_their_own_that_is_optional(name: str) -> None:
    [step] = [
        each for each in connector_of(name).steps(EXTERNAL_ID) if "cost-optimization-hub" in each.snippet
    ]

    assert "optional" in step.title
    assert json.loads(step.snippet)["Statement"] == [
        {"Effect": "Allow", "Action": ["cost-optimization-hub:ListRecommendations"], "Resource": "*"}
    ]


def test_cloudformation_creates_the_role_and_the_export() -> None:
    (template,) = documents("aws_data_exports", "yaml")
    (of_cur,) = documents("aws_cur", "yaml")

    kinds = {name: each["Type"] for name, each in template["Resources"].items()}
    assert kinds == {
        "Role": "AWS::IAM::Role",
        "Delivery": "AWS::S3::BucketPolicy",
        "Export": "AWS::BCMDataExports::Export",
    }
    role = template["Resources"]["Role"]["Properties"]
    assert role["AssumeRolePolicyDocument"] == documents("aws_data_exports", "json")[0]
    export = template["Resources"]["Export"]["Properties"]["Export"]
    assert export["DataQuery"]["QueryStatement"].startswith("SELECT AvailabilityZone, BilledCost,")
    assert set(of_cur["Resources"]) == {"Role"}


@pytest.mark.parametrize("name", ["aws_data_exports", "aws_cur"])
def test_cloudformation_passes_its_linter(name: str) -> None:
    [template] = [each.snippet for each in connector_of(name).steps(EXTERNAL_ID) if each.language == "yaml"]

    matches = cfnlint.api.lint(template, config=cfnlint.config.ManualArgs(regions=["us-east-1"]))

    assert [str(match) for match in matches] == []


def test_terraform_creates_the_same() -> None:
    (document,) = documents("aws_data_exports", "hcl")

    names = {key.strip('"') for each in document["resource"] for key in each}
    assert names == {
        "aws_iam_role",
        "aws_iam_role_policy",
        "aws_s3_bucket_policy",
        "aws_bcmdataexports_export",
    }
    assert EXTERNAL_ID in json.dumps(document)


def test_the_export_has_every_column_of_focus_1_2() -> None:
    own = [name for name in FOCUS_COLUMNS if name.startswith("x_")]

    assert own == ["x_Discounts", "x_Operation", "x_ServiceCode"]
    assert len(set(FOCUS_COLUMNS)) == len(FOCUS_COLUMNS) == 60
    assert EXAMPLE_PRINCIPAL in str(documents("aws_cur", "json")[0])
