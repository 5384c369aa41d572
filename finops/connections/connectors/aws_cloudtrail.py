"""AWS CloudTrail by LookupEvents: who created or changed which resource, as change events.

Management events of the last 90 days, of one account and its chosen regions, from the newest on. AWS answers two requests a second and region;
a look asks for the newest event of each open month alone.
Source: docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_LookupEvents.html.
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
    AccessKeyId,
    RoleArn,
    SecretAccessKey,
    aws_credentials,
)
from finops.connections.aws_setup import trail_steps
from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SetupStep,
    SourceError,
)
from finops.connections.transports.event_lines import OPEN_MONTHS, PulledEvent, write_month
from finops.connections.transports.pages import digest_of
from finops.connections.transports.s3 import (
    ATTEMPTS,
    CONNECT_SECONDS,
    READ_SECONDS,
    S3Credentials,
    explain_aws,
)
from finops.connections.vendor_apis.cloudtrail import TrailResource, change_event
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import add_months, month_end, month_start
from finops.lib.sentences import quote

NAME: Final = "aws_cloudtrail"
DAYS: Final = 90
"""For which CloudTrail answers."""
PERMISSION: Final = "cloudtrail:LookupEvents"
_PAGE: Final = 50
MAX_EVENTS: Final = 200_000
"""Raw events of a region and month that are read."""
MAX_REGIONS: Final = 30
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")


class CloudTrailConfig(ConnectorConfig, frozen=True, kw_only=True):
    """Regions of an account, and how this console signs in."""

    regions: Annotated[
        str,
        msgspec.Meta(
            title="Regions",
            description="By commas. Events of global services, such as IAM, are in us-east-1.",
            examples=["us-east-1, eu-west-1"],
            min_length=1,
            max_length=1_000,
        ),
    ]
    access: Annotated[
        Literal["role", "access_key", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in to AWS."),
    ] = "role"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""

    def __post_init__(self) -> None:
        names = self.region_list
        if not 1 <= len(names) <= MAX_REGIONS:
            raise ValueError(f"Enter 1 to {MAX_REGIONS} regions")
        wrong = next((name for name in names if not _REGION.fullmatch(name)), "")
        if wrong:
            raise ValueError(f"{quote(wrong[:40])} is no region. For example: us-east-1, eu-west-1")

    @property
    def region_list(self) -> list[str]:
        return list(dict.fromkeys(filter(None, (each.strip() for each in self.regions.split(",")))))

    @property
    def region(self) -> str:
        """Where the role is assumed."""
        return self.region_list[0]


class CloudTrail(Connector[CloudTrailConfig]):
    name = NAME
    title = "AWS CloudTrail"
    provider = "AWS"
    icon = "brand-aws"
    docs_url = "https://docs.aws.amazon.com/awscloudtrail/latest/userguide/view-cloudtrail-events.html"
    description = "Change events: who created or changed which resource, last 90 days."
    order = 930
    contents = Contents.CHANGE_EVENTS
    changes_while_read = True
    Config = CloudTrailConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return trail_steps(external_id)

    def check(self, config: CloudTrailConfig) -> list[CheckFinding]:
        with check_list() as checks:
            credentials = checks.attempt("Sign in", lambda: aws_credentials(config))
            today = clock.today()
            for region in config.region_list:
                trail = _Trail(credentials, region)
                checks.attempt(f"Look up events in {region}", partial(trail.newest, today, today))
        return checks.findings

    def months(self, config: CloudTrailConfig) -> list[BillMonth]:
        """Those of the last DAYS. One that is open changes with its newest event."""
        credentials, today = aws_credentials(config), clock.today()
        first_open = add_months(month_start(today), -OPEN_MONTHS)
        months, month = [], month_start(today - timedelta(days=DAYS - 1))
        while month <= today:
            newest = [
                _Trail(credentials, region).newest(month, month_end(month))
                for region in config.region_list
                if month >= first_open
            ]
            months.append(BillMonth(month, digest_of(newest) if month >= first_open else "settled"))
            month = add_months(month, 1)
        return months

    def fetch(self, config: CloudTrailConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        return write_month(fetch, month.month, partial(_events, config, aws_credentials(config)))


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
        return None  # a record of a form to come; one is no reason to leave out all


@dataclass(frozen=True)
class _Trail:
    """The event history of one region."""

    credentials: S3Credentials
    region: str

    def newest(self, first: date, last: date) -> str:
        """The id of the newest write event of these days; empty for none. One request."""
        return next((item["EventId"] for item in islice(self.items(first, last), 1)), "")

    def items(self, first: date, last: date) -> Iterator[Mapping[str, Any]]:
        """Write events of these days (UTC), as far as CloudTrail has them, from the newest on. Raises AccessError that names the
        permission, SourceUnavailable."""
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
                # Two requests a second: waits for its turn instead of failing.
                retries={"max_attempts": ATTEMPTS * 4, "mode": "adaptive"},
                ignore_configured_endpoint_urls=True,
            ),
        )
