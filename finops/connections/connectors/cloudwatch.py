"""Amazon CloudWatch: a metric whose dimension names the customer, by ListMetrics and GetMetricData.

Only metrics with exactly the dimensions of the settings are read: a metric that is also published with more dimensions would count
twice. ListMetrics omits a metric two weeks after its last value, while GetMetricData still has the values. So listed metrics are
kept in the connection's cached pages: otherwise a former customer would vanish from a month that is read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from django.conf import settings

from finops.connections.aws import (
    DEFAULT_REGION,
    AccessKeyId,
    AwsBucketConfig,
    RoleArn,
    SecretAccessKey,
    aws_credentials,
)
from finops.connections.aws_setup import ROLE, trust_policy
from finops.connections.connector import ConnectorConfig, SetupStep, SourceError
from finops.connections.transports.aws_errors import explain_aws
from finops.connections.transports.metric_series import (
    STEPS,
    IsGauge,
    MetricName,
    MetricSeries,
    SeriesConnector,
    SeriesRequest,
    SeriesSettings,
    Step,
)
from finops.connections.transports.page_cache import CachedPage, current_cache
from finops.connections.transports.recent_months import BACK_MONTHS
from finops.connections.transports.s3 import (
    ATTEMPTS,
    CONNECT_SECONDS,
    READ_SECONDS,
    S3Credentials,
)
from finops.lib import clock, time_limit

NAME: Final = "cloudwatch"
QUERIES: Final = 500
"""Most queries of one GetMetricData request, a limit of AWS."""
MAX_METRICS: Final = 50_000
WINDOWS: Final = {"day": timedelta(days=31), "hour": timedelta(days=31)}
_POLICY: Final = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["cloudwatch:ListMetrics", "cloudwatch:GetMetricData"],
            "Resource": "*",
        }
    ],
}
_DAY: Final = 86_400
_RETENTION_SECONDS: Final = 31 * (BACK_MONTHS + 1) * _DAY
"""Seconds after which a metric that is no longer listed is dropped from the cache: none of its months is read any more."""

Dimensions = tuple[tuple[str, str], ...]
T = TypeVar("T")


class CloudWatchConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A metric in a region, and how this console signs in."""

    region: Annotated[
        str,
        msgspec.Meta(
            title="Region", examples=["eu-west-1"], pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$", max_length=40
        ),
    ] = DEFAULT_REGION
    access: Annotated[
        Literal["role", "access_key", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in to AWS."),
    ] = "role"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""
    namespace: Annotated[
        str, msgspec.Meta(title="Namespace", examples=["Shop"], min_length=1, max_length=255)
    ]
    metric_name: Annotated[
        str, msgspec.Meta(title="CloudWatch metric", examples=["Orders"], min_length=1, max_length=255)
    ]
    customer_dimension: Annotated[
        str, msgspec.Meta(title="Customer dimension", examples=["Tenant"], min_length=1, max_length=255)
    ]
    other_dimensions: Annotated[
        list[str],
        msgspec.Meta(
            title="Other dimensions",
            description="One a line. Metrics with more or fewer dimensions are not read.",
            max_length=29,
        ),
    ] = []
    statistic: Annotated[
        Literal["Sum", "SampleCount", "Average", "Maximum"],
        msgspec.Meta(title="Statistic", description="Sum for what is counted, Maximum for a gauge."),
    ] = "Sum"
    metric: MetricName
    step: Step = "day"
    is_gauge: IsGauge = False


class CloudWatch(SeriesConnector[CloudWatchConfig]):
    name = NAME
    title = "Amazon CloudWatch metrics"
    provider = "AWS"
    icon = "brand-aws"
    docs_url = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html"
    description = "Usage: a metric with a customer dimension."
    order = 840
    caches_pages = True
    label_noun = "dimension"
    Config = CloudWatchConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a role",
                f"In IAM > Roles, choose Create role and 'Custom trust policy'. Name the role {ROLE}.",
                json.dumps(trust_policy(external_id), indent=2),
                "json",
            ),
            SetupStep(
                "Grant read access to metrics",
                "Add this inline policy to the role. CloudWatch has no permissions by namespace.",
                json.dumps(_POLICY, indent=2),
                "json",
            ),
            SetupStep(
                "Find the metric",
                "Its dimensions must be the customer's and those under Other dimensions, and no more. CloudWatch charges for each metric "
                "that is requested: hourly syncs of 1,000 customers are about 2.9 million metrics a month.",
            ),
        )

    def settings(self, config: CloudWatchConfig) -> SeriesSettings:
        return SeriesSettings(
            metric=config.metric,
            step=STEPS[config.step],
            is_gauge=config.is_gauge,
            label=config.customer_dimension,
            label_field="customer_dimension",
            label_fix="Publish the metric with it.",
        )

    def series(self, config: CloudWatchConfig, request: SeriesRequest) -> Iterator[MetricSeries]:
        """Return the values of each metric by step. Raises SourceError if AWS refuses the request or cannot read values."""
        client = _Client(config, request)
        listed = set(client.listed_metrics())
        metrics = sorted({*listed, *_previous_metrics(config)})
        if not metrics:
            raise SourceError(
                f"{config.namespace} has no metric {config.metric_name} with the dimensions "
                f"{', '.join(sorted(_names(config)))} alone. CloudWatch lists a metric from its first value on.",
                field="metric_name",
            )
        if not request.is_check:
            _keep_metrics(config, listed)
        for start, end in request.windows(WINDOWS[config.step]):
            for index in range(0, len(metrics), QUERIES):
                yield from client.values(metrics[index : index + QUERIES], start, end)


def _names(config: CloudWatchConfig) -> frozenset[str]:
    return frozenset({config.customer_dimension, *config.other_dimensions})


class _Client:
    """CloudWatch with one credential. Raises AccessError with the missing permission, SourceUnavailable, SourceError."""

    def __init__(self, config: CloudWatchConfig, request: SeriesRequest) -> None:
        self._config, self._request = config, request
        self._credentials = _credentials(config)
        self._client = _open(config, self._credentials)

    def listed_metrics(self) -> Iterator[Dimensions]:
        """Return the dimensions of each metric that AWS lists. Raises SourceError above the limit of metrics."""
        config, names = self._config, _names(self._config)
        number = count(1)
        for page in self._pages(
            "cloudwatch:ListMetrics",
            lambda token: self._client.list_metrics(
                Namespace=config.namespace,
                MetricName=config.metric_name,
                Dimensions=[{"Name": name} for name in sorted(names)],
                **({"NextToken": token} if token else {}),
            ),
        ):
            for metric in page.get("Metrics", ()):
                if next(number) > MAX_METRICS:
                    raise SourceError(f"{config.namespace} has more than {MAX_METRICS:,} metrics, the limit.")
                dimensions = tuple(sorted((each["Name"], each["Value"]) for each in metric["Dimensions"]))
                if {name for name, _value in dimensions} == names:
                    yield dimensions

    def values(self, metrics: Sequence[Dimensions], start: datetime, end: datetime) -> Iterator[MetricSeries]:
        """Return a metric's values, which may come in several parts, each as a series. Raises SourceError if AWS
        could not read some values, since the others are not a complete month."""
        config = self._config
        queries = [
            {
                "Id": f"m{number}",
                "MetricStat": {
                    "Metric": {
                        "Namespace": config.namespace,
                        "MetricName": config.metric_name,
                        "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions],
                    },
                    "Period": int(STEPS[config.step].total_seconds()),
                    "Stat": config.statistic,
                },
                "ReturnData": True,
            }
            for number, dimensions in enumerate(metrics)
        ]
        for page in self._pages(
            "cloudwatch:GetMetricData",
            lambda token: self._client.get_metric_data(
                MetricDataQueries=queries,
                StartTime=start,
                EndTime=end,
                ScanBy="TimestampAscending",
                **({"NextToken": token} if token else {}),
            ),
        ):
            for result in page.get("MetricDataResults", ()):
                if result.get("StatusCode") in ("InternalError", "Forbidden"):
                    raise SourceError(
                        f"CloudWatch could not read a metric: {result['StatusCode']}. Sync again."
                    )
                samples = [
                    # The shortest decimal of the float, as CloudWatch shows it.
                    (moment.astimezone(UTC), Decimal(repr(value)))
                    for moment, value in zip(result["Timestamps"], result["Values"], strict=True)
                    if start <= moment.astimezone(UTC) < end
                ]
                yield MetricSeries(dict(metrics[int(result["Id"][1:])]), samples)

    def _pages(self, permission: str, page_of: Callable[[str], Any]) -> Iterator[Any]:
        token, tokens = "", {""}
        while True:
            page = self._try(permission, lambda: page_of(token))  # noqa: B023 called at once
            yield page
            token = page.get("NextToken") or ""
            if not token:
                return
            if token in tokens:
                raise SourceError("CloudWatch returned the same page twice. Sync again.")
            tokens.add(token)

    def _try(self, permission: str, action: Callable[[], T]) -> T:
        from botocore.exceptions import BotoCoreError, ClientError

        if self._request.fetch:
            self._request.fetch.progress(0)
        else:
            time_limit.check()
        try:
            return action()
        except (BotoCoreError, ClientError) as error:
            raise explain_aws(
                error,
                permission=permission,
                resource="*",
                principal=self._credentials.principal,
                where="Amazon CloudWatch",
            ) from error


def _credentials(config: CloudWatchConfig) -> S3Credentials:
    signed = AwsBucketConfig(
        external_id=config.external_id,
        bucket="",
        region=config.region,
        access=config.access,
        role_arn=config.role_arn,
        access_key_id=config.access_key_id,
        secret_access_key=config.secret_access_key,
    )
    return aws_credentials(signed)


def _open(config: CloudWatchConfig, credentials: S3Credentials) -> Any:
    from botocore.config import Config
    from botocore.session import get_session

    return get_session().create_client(
        "cloudwatch",
        region_name=config.region,
        endpoint_url=settings.CONNECTOR_BASE_URLS.get(NAME) or None,
        aws_access_key_id=credentials.key,
        aws_secret_access_key=credentials.secret,
        aws_session_token=credentials.token,
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"max_attempts": ATTEMPTS, "mode": "standard"},
            ignore_configured_endpoint_urls=True,
        ),
    )


# Listed metrics


class _MetricList(msgspec.Struct, array_like=True):
    """The day on which each metric was last listed: seconds since 1970."""

    metrics: dict[str, int] = {}


def _key(config: CloudWatchConfig) -> str:
    parts = [config.region, config.namespace, config.metric_name, sorted(_names(config))]
    return msgspec.json.encode(parts).decode()


def _cached_metrics(config: CloudWatchConfig) -> dict[str, int]:
    page = current_cache().find(_key(config))
    try:
        return msgspec.json.decode(page.body, type=_MetricList).metrics if page else {}
    except msgspec.DecodeError:
        return {}


def _previous_metrics(config: CloudWatchConfig) -> list[Dimensions]:
    return [msgspec.json.decode(text, type=Dimensions) for text in _cached_metrics(config)]


def _keep_metrics(config: CloudWatchConfig, listed: Iterable[Dimensions]) -> None:
    """Cache the listed metrics, at most once a day, so that a check of an unchanged list changes no page."""
    now, cached = int(clock.now().timestamp()), _cached_metrics(config)
    current = {name: at for name, at in cached.items() if at > now - _RETENTION_SECONDS}
    for each in listed:
        name = msgspec.json.encode(each).decode()
        if current.get(name, 0) < now - _DAY:
            current[name] = now
    if current == cached:
        current_cache().touch(_key(config))
    else:
        page = CachedPage("", "", msgspec.json.encode(_MetricList(current)), now)
        current_cache().put(_key(config), page)
