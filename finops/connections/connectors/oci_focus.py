"""Oracle Cloud Infrastructure: FOCUS reports, or Oracle's own cost reports, from the bucket that Oracle keeps for a tenancy.

The bucket is in namespace `bling`, is named by the OCID of the tenancy, and is in its home region. `FOCUS
Reports/YYYY/MM/DD/*.csv.gz` has the date of delivery; `reports/cost-csv/*.csv.gz` has no date, so the object's date counts. A new
file comes about every six hours and adds to the earlier ones: a month is all files delivered in it, and lines of the previous month
in its first files count to that month. Source: docs.oracle.com/iaas/Content/Billing/Concepts/costusagereportsoverview.htm.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SetupStep,
    SourceError,
)
from finops.connections.oci import (
    HomeRegion,
    KeyFingerprint,
    PrivateKey,
    TenancyOcid,
    UserOcid,
    oci_key,
    storage_url,
)
from finops.connections.transports.bucket import BucketObject, objects_fingerprint
from finops.connections.transports.oci_storage import OciBucket
from finops.costs.focus.normalise import FocusFile

NAMESPACE: Final = "bling"
FOLDERS: Final = {"focus": "FOCUS Reports", "cost_csv": "reports/cost-csv"}
_DELIVERY: Final = re.compile(r"([0-9]{4})/([0-9]{2})/[0-9]{2}/.*")
_MODIFIED: Final = re.compile(r"([0-9]{4})-([0-9]{2})-.*")
# The OCID of Oracle's tenancy, the same for all customers (costusagereportsoverview.htm).
_POLICY: Final = """define tenancy usage-report as \
ocid1.tenancy.oc1..aaaaaaaaned4fkpkisbwjlr56u7cj63lf3wffbilvqknstgtvzub7vhqkggq
endorse group finops-console to read objects in tenancy usage-report
"""
_DENIAL: Final = (
    "OCI shows this user no reports. In the root compartment of the tenancy, a policy must endorse its group to read objects in "
    "tenancy usage-report; region must be the tenancy's home region."
)
_USER: Final = """oci iam group create --name finops-console --description "Reads cost reports"
oci iam user create --name finops-console --description "Reads cost reports" --email finops@example.com
oci iam group add-user --group-id GROUP_OCID --user-id USER_OCID
openssl genrsa -out key.pem 2048
openssl rsa -in key.pem -pubout -out public.pem
oci iam user api-key upload --user-id USER_OCID --key-file public.pem
"""


class OciFocusConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A tenancy, and the API key of a user that may read its reports."""

    tenancy: TenancyOcid
    user: UserOcid
    fingerprint: KeyFingerprint
    private_key: PrivateKey
    region: HomeRegion
    report: Annotated[
        Literal["focus", "cost_csv"],
        msgspec.Meta(title="Report", description="FOCUS reports, or Oracle's own cost reports."),
    ] = "focus"


class OciFocus(Connector[OciFocusConfig]):
    name = "oci_focus"
    title = "Oracle Cloud cost reports"
    provider = "Oracle Cloud"
    icon = "cloud"
    docs_url = "https://docs.oracle.com/iaas/Content/Billing/Concepts/costusagereportsoverview.htm"
    description = "FOCUS reports, or Oracle's own cost reports."
    order = 40
    Config = OciFocusConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Create a user with an API key",
                "In Identity & Security > Domains > Users, add an API key. The last command shows its fingerprint.",
                _USER,
                "sh",
            ),
            SetupStep(
                "Grant its group access to the reports",
                "Create this policy in the root compartment, in the home region.",
                _POLICY,
            ),
        ]

    def check(self, config: OciFocusConfig) -> list[CheckFinding]:
        with check_list() as checks:
            bucket = checks.attempt("Read the private key", partial(_open, config))
            objects = checks.attempt(f"List {bucket.url}", bucket.objects)
            files = checks.attempt("Find reports", partial(_some_files, bucket, config, objects))
            checks.attempt("Read the newest report", partial(bucket.head, files[-1]))
        return checks.findings

    def months(self, config: OciFocusConfig) -> list[BillMonth]:
        with _open(config) as bucket:
            months = _months(config, bucket.objects())
        return [
            BillMonth(month, objects_fingerprint(files), sum(each.bytes for each in files))
            for month, files in sorted(months.items())
        ]

    def fetch(self, config: OciFocusConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        with _open(config) as bucket:
            months = _months(config, bucket.objects())
            return bucket.download_month(months.get(month.month, []), fetch)


def _open(config: OciFocusConfig) -> OciBucket:
    key = oci_key(config.tenancy, config.user, config.fingerprint, config.private_key)
    return OciBucket(
        storage_url(config.region), NAMESPACE, config.tenancy, FOLDERS[config.report], key=key, denial=_DENIAL
    )


def _months(config: OciFocusConfig, objects: Iterable[BucketObject]) -> dict[date, list[BucketObject]]:
    """Return the files that were delivered in each month."""
    months: dict[date, list[BucketObject]] = defaultdict(list)
    for each in objects:
        pattern, text = (_DELIVERY, each.key) if config.report == "focus" else (_MODIFIED, each.modified)
        match = pattern.fullmatch(text) if each.key.endswith(".csv.gz") else None
        if match and 1 <= int(match[2]) <= 12:
            months[date(int(match[1]), int(match[2]), 1)].append(each)
    return months


def _some_files(
    bucket: OciBucket, config: OciFocusConfig, objects: Iterable[BucketObject]
) -> list[BucketObject]:
    months = _months(config, objects)
    if not months:
        raise SourceError(
            f"{bucket.url} has no report yet. Oracle writes the first within a day.", field="report"
        )
    return months[max(months)]
