"""AWS CloudTrail: who created or changed which resource, as change events, from the event history or the bucket of a trail.

The history (LookupEvents) has the management events of the last 90 days, of one account and the chosen regions, newest first. AWS
allows two requests a second per region, so a check reads only the newest event of each open month. The bucket has the events of all
accounts and regions of the trail, for as long as it keeps them (`finops.connections.vendor_apis.cloudtrail_bucket`). Source:
docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_LookupEvents.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final, Literal

import msgspec
from django.conf import settings

from finops.connections.aws import (
    BUCKET_NAME,
    DEFAULT_REGION,
    AccessKeyId,
    RoleArn,
    SecretAccessKey,
    aws_credentials,
)
from finops.connections.aws_setup import trail_steps
from finops.connections.checks import CheckList, check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    ConfigError,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SetupStep,
    SourceError,
    required_for,
    shown_for,
)
from finops.connections.transports.aws_errors import explain_aws
from finops.connections.transports.event_lines import PulledEvent, write_month
from finops.connections.transports.page_cache import current_cache
from finops.connections.transports.pages import digest_of
from finops.connections.transports.recent_months import SETTLED, first_open_month, recent_months
from finops.connections.transports.s3 import (
    ATTEMPTS,
    CONNECT_SECONDS,
    READ_SECONDS,
    S3Bucket,
    S3Credentials,
    open_s3,
)
from finops.connections.vendor_apis.cloudtrail import TrailResource, change_event
from finops.connections.vendor_apis.cloudtrail_bucket import ADVICE, TrailBucket, check_file
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import add_months, month_end, month_start
from finops.lib.sentences import quote

NAME: Final = "aws_cloudtrail"
DAYS: Final = 90
"""Days of CloudTrail's event history."""
PERMISSION: Final = "cloudtrail:LookupEvents"
_PAGE: Final = 50
MAX_EVENTS: Final = 200_000
"""Most raw events of a region and month that are read."""
MAX_REGIONS: Final = 30
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_OF_BUCKET: Final = shown_for("read_from", "trail_bucket")
_REQUIRED_OF_BUCKET: Final = shown_for("read_from", "trail_bucket", required=["trail_bucket"])


class CloudTrailConfig(ConnectorConfig, frozen=True, kw_only=True):
    """Regions of an account or the bucket of a trail, and how this console signs in."""

    read_from: Annotated[
        Literal["event_history", "trail_bucket"],
        msgspec.Meta(
            title="Read from",
            description="The event history has the last 90 days of one account. A trail bucket has all accounts and days of the trail.",
        ),
    ] = "event_history"
    regions: Annotated[
        str,
        msgspec.Meta(
            title="Regions",
            description="By commas; required for the event history. Global services, such as IAM, are in us-east-1.",
            examples=["us-east-1, eu-west-1"],
            max_length=1_000,
            extra_json_schema=required_for("read_from", "event_history"),
        ),
    ] = ""
    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name of the trail's bucket, without s3://.",
            examples=["acme-cloudtrail"],
            pattern=f"{BUCKET_NAME}|^$",
            extra_json_schema=_REQUIRED_OF_BUCKET,
        ),
    ] = ""
    prefix: Annotated[
        str,
        msgspec.Meta(
            title="Prefix",
            description="Log file prefix of the trail, before AWSLogs/. Usually empty.",
            examples=["trails"],
            max_length=500,
            extra_json_schema=_OF_BUCKET,
        ),
    ] = ""
    accounts: Annotated[
        str,
        msgspec.Meta(
            title="Accounts",
            description="Account IDs, separated by commas. Default: all accounts of the trail.",
            examples=["111122223333, 444455556666"],
            max_length=5_000,
            extra_json_schema=_OF_BUCKET,
        ),
    ] = ""
    bucket_region: Annotated[
        str,
        msgspec.Meta(
            title="Bucket region",
            description="Region of the bucket.",
            examples=["eu-west-1"],
            pattern=r"^([a-z]{2}(-[a-z]+)+-[0-9]{1,2})?$",
            extra_json_schema=_OF_BUCKET,
        ),
    ] = DEFAULT_REGION
    endpoint: Annotated[
        str,
        msgspec.Meta(
            title="Endpoint",
            description="For a VPC endpoint of S3. Leave empty for AWS.",
            examples=["https://s3.example.com"],
            max_length=500,
            extra_json_schema=_OF_BUCKET,
        ),
    ] = ""
    access: Annotated[
        Literal["role", "access_key", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in to AWS."),
    ] = "role"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""

    def __post_init__(self) -> None:
        names = self.region_list
        if len(names) > MAX_REGIONS or not (names or self.is_bucket):
            raise ConfigError(f"Enter 1 to {MAX_REGIONS} regions", field="regions")
        wrong = next((name for name in names if not _REGION.fullmatch(name)), "")
        if wrong:
            raise ConfigError(
                f"{quote(wrong[:40])} is no region. For example: us-east-1, eu-west-1", field="regions"
            )
        wrong = next((name for name in self.account_list if not _ACCOUNT.fullmatch(name)), "")
        if wrong:
            raise ConfigError(
                f"{quote(wrong[:40])} is no account ID. For example: 111122223333", field="accounts"
            )

    @property
    def is_bucket(self) -> bool:
        return self.read_from == "trail_bucket"

    @property
    def region_list(self) -> list[str]:
        return _parts(self.regions)

    @property
    def account_list(self) -> list[str]:
        return _parts(self.accounts)

    @property
    def region(self) -> str:
        """The region in which the role is assumed."""
        return self.bucket_region if self.is_bucket else self.region_list[0]


def _parts(text: str) -> list[str]:
    return list(dict.fromkeys(filter(None, (each.strip() for each in text.split(",")))))


class CloudTrail(Connector[CloudTrailConfig]):
    name = NAME
    title = "AWS CloudTrail"
    provider = "AWS"
    icon = "brand-aws"
    docs_url = "https://docs.aws.amazon.com/awscloudtrail/latest/userguide/view-cloudtrail-events.html"
    description = "Change events: who created or changed which resource, by event history or trail."
    order = 930
    contents = Contents.CHANGE_EVENTS
    changes_while_read = True
    caches_pages = True
    Config = CloudTrailConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return trail_steps(external_id)

    def check(self, config: CloudTrailConfig) -> list[CheckFinding]:
        with check_list() as checks:
            credentials = checks.attempt("Sign in", lambda: aws_credentials(config))
            if config.is_bucket:
                _check_bucket(config, credentials, checks)
                return checks.findings
            today = clock.today()
            for region in config.region_list:
                trail = _Trail(credentials, region)
                checks.attempt(f"Look up events in {region}", partial(trail.newest, today, today))
        return checks.findings

    def months(self, config: CloudTrailConfig) -> list[BillMonth]:
        """Return the months of the last DAYS, or of a bucket this month and BACK_MONTHS before. The fingerprint of an
        open month changes with its newest event, or with its log files."""
        credentials, today = aws_credentials(config), clock.today()
        if config.is_bucket:
            return _months_of_bucket(config, credentials)
        first_open = first_open_month()
        months, month = [], month_start(today - timedelta(days=DAYS - 1))
        while month <= today:
            newest = [
                _Trail(credentials, region).newest(month, month_end(month))
                for region in config.region_list
                if month >= first_open
            ]
            months.append(BillMonth(month, digest_of(newest) if month >= first_open else SETTLED))
            month = add_months(month, 1)
        return months

    def fetch(self, config: CloudTrailConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        credentials = aws_credentials(config)
        if config.is_bucket:
            with _open(config, credentials) as bucket:
                trail = _trail_of(config, bucket)
                events = trail.events(trail.folders(), month.month, fetch)
                return write_month(fetch, month.month, lambda _first, _last: events, ADVICE)
        return write_month(fetch, month.month, partial(_events, config, credentials))


def _open(config: CloudTrailConfig, credentials: S3Credentials) -> S3Bucket:
    return open_s3(
        config.bucket,
        config.prefix.strip("/"),
        credentials,
        region=config.bucket_region,
        endpoint=config.endpoint,
    )


def _trail_of(config: CloudTrailConfig, bucket: S3Bucket) -> TrailBucket:
    return TrailBucket(bucket, current_cache(), config.account_list, config.region_list)


def _check_bucket(config: CloudTrailConfig, credentials: S3Credentials, checks: CheckList) -> None:
    bucket = checks.attempt("Reach the bucket's address", lambda: _open(config, credentials))
    with bucket:
        trail = _trail_of(config, bucket)
        folders = checks.attempt(f"List the log files in {bucket.url}", trail.folders)
        newest = checks.attempt("Find the newest log file", lambda: trail.newest_file(folders[0]))
        if newest is not None:
            checks.attempt("Read the newest log file", lambda: check_file(newest, bucket.read(newest)))


def _months_of_bucket(config: CloudTrailConfig, credentials: S3Credentials) -> list[BillMonth]:
    with _open(config, credentials) as bucket:
        trail = _trail_of(config, bucket)
        folders = trail.folders()
        return recent_months(lambda month: digest_of(trail.fingerprint(folders, month)))


def _events(
    config: CloudTrailConfig, credentials: S3Credentials, first: date, last: date
) -> Iterator[PulledEvent]:
    for region in config.region_list:
        for number, item in enumerate(_Trail(credentials, region).items(first, last), start=1):
            if number > MAX_EVENTS:
                raise SourceError(
                    f"{region} has more than {MAX_EVENTS:,} write events in {first:%Y-%m}, the limit. Remove the region, or send its events to POST /api/events."
                )
            if event := _event_of(item):
                yield event


def _event_of(item: Mapping[str, Any]) -> PulledEvent | None:
    resources = [
        TrailResource(each.get("ResourceType") or "", each.get("ResourceName") or "")
        for each in item.get("Resources", ())
    ]
    try:
        return change_event(item["EventId"], item["EventTime"], item.get("CloudTrailEvent", ""), resources)
    except msgspec.MsgspecError:
        return None  # a record in an unknown format must not stop the import of the others


@dataclass(frozen=True)
class _Trail:
    """The event history of one region."""

    credentials: S3Credentials
    region: str

    def newest(self, first: date, last: date) -> str:
        """Return the ID of the newest write event of these days; empty if there is none. One request."""
        return next((item["EventId"] for item in islice(self.items(first, last), 1)), "")

    def items(self, first: date, last: date) -> Iterator[Mapping[str, Any]]:
        """Return the write events of these days (UTC) that CloudTrail still has, newest first. Raises AccessError
        with the missing permission, SourceUnavailable."""
        from botocore.exceptions import BotoCoreError, ClientError

        oldest = max(first, clock.today() - timedelta(days=DAYS - 1))
        if last < oldest:
            return
        try:
            pages = (
                self._client()
                .get_paginator("lookup_events")
                .paginate(
                    LookupAttributes=[{"AttributeKey": "ReadOnly", "AttributeValue": "false"}],
                    StartTime=datetime.combine(oldest, time.min, UTC),
                    EndTime=datetime.combine(last, time.max, UTC),
                    PaginationConfig={"PageSize": _PAGE},
                )
            )
            for page in pages:
                yield from page.get("Events", ())
        except (BotoCoreError, ClientError) as error:
            raise explain_aws(
                error,
                permission=PERMISSION,
                resource="*",
                principal=self.credentials.principal,
                where=f"AWS CloudTrail in {self.region}",
            ) from error

    def _client(self) -> Any:
        from botocore.config import Config
        from botocore.session import get_session

        return get_session().create_client(
            "cloudtrail",
            region_name=self.region,
            endpoint_url=settings.CONNECTOR_BASE_URLS.get(NAME) or None,
            aws_access_key_id=self.credentials.key,
            aws_secret_access_key=self.credentials.secret,
            aws_session_token=self.credentials.token,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                # AWS allows two requests a second: wait instead of failing.
                retries={"max_attempts": ATTEMPTS * 4, "mode": "adaptive"},
                ignore_configured_endpoint_urls=True,
            ),
        )
