"""Bills of the large clouds in their own formats: told by their columns, and how to get FOCUS there instead.

Sources: AWS Data Exports (CUR, legacy and 2.0), Azure Cost Management exports, Google's billing export to BigQuery and
the cost table of its console, Oracle's cost and usage reports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from finops.costs.focus.columns import fold

_AWS: Final = "In the AWS console under Billing, Data Exports, create an export of the table “FOCUS 1.2 with AWS columns”"
_AZURE: Final = (
    "In the Azure portal under Cost Management, Exports, create an export of “Cost and usage details (FOCUS)”"
)
_GOOGLE: Final = (
    "Let Google Cloud Billing export detailed usage and prices to BigQuery, add Google's FOCUS view over them, "
    "and export the rows of that view"
)
_ORACLE: Final = (
    "In the Oracle console under Cost Management, Cost and usage reports, take the files in “FOCUS Reports”"
)

# The name that Azure writes in brackets behind a translated one: Abonnement-GUID (SubscriptionGuid).
_TRANSLATED: Final = re.compile(r".*\(([A-Za-z]+)\)\s*")

# CUR 2.0 brought these; files of the legacy report in Parquet have the other names in the same spelling.
_CUR_2: Final = frozenset(
    map(fold, ("bill_payer_account_name", "line_item_usage_account_name", "resource_tags", "cost_category"))
)
_CUSTOMER_AGREEMENT: Final = frozenset(
    map(fold, ("costInUsd", "paygCostInUsd", "exchangeRatePricingToBilling"))
)
_ENTERPRISE: Final = frozenset(map(fold, ("AccountOwnerId", "PartNumber", "EnrollmentNumber")))


def detect_foreign_format(names: Sequence[str]) -> str | None:
    """What a file with these columns is and how to get FOCUS instead, in sentences that follow its name.

    None for a file that has FOCUS's BilledCost, or that is of no known provider.
    """
    folded = {fold(name) for name in names} | {
        fold(match[1]) for name in names if (match := _TRANSLATED.fullmatch(name))
    }
    if fold("BilledCost") in folded:
        return None
    for tell, source in ((_oracle, _ORACLE), (_aws, _AWS), (_azure, _AZURE), (_google, _GOOGLE)):
        what = tell(names, folded)
        if what:
            return f"is {what}, not FOCUS, and cannot be imported. {source}, and import that."
    return None


def _aws(names: Sequence[str], folded: set[str]) -> str | None:
    if len([name for name in folded if name.startswith("lineitem")]) >= 2:
        if any("/" in name for name in names) or not _CUR_2 & folded:
            return "an AWS Cost and Usage Report (legacy CUR)"
        return "an AWS Cost and Usage Report (CUR 2.0)"
    if {"linkedaccountid", "recordtype", "productname"} <= folded:
        return "an AWS detailed billing report"
    if "totalcosts" in folded and names and fold(names[0]) not in ("", "totalcosts"):
        return "a table of AWS Cost Explorer"
    return None


def _azure(names: Sequence[str], folded: set[str]) -> str | None:
    if not {"metercategory", "meterid", "metername"} & folded:
        return None
    if not {"costinbillingcurrency", "pretaxcost", "cost", "costinusd", "extendedcost"} & folded:
        return None
    if "pretaxcost" in folded:
        return "an Azure usage export of a pay-as-you-go subscription"
    if _CUSTOMER_AGREEMENT & folded:
        return "an Azure cost export (actual or amortized) of a Microsoft Customer Agreement"
    if _ENTERPRISE & folded:
        return "an Azure cost export (actual or amortized) of an Enterprise Agreement"
    return "an Azure cost export (actual or amortized)"


def _google(names: Sequence[str], folded: set[str]) -> str | None:
    if names and fold(names[0]) == "invoicenumber" and len(names) <= 3:
        return "the cost table of the Google Cloud console"
    if {"skudescription", "servicedescription", "usagestartdate"} <= folded:
        return "the cost table of the Google Cloud console"
    if "usagestarttime" not in folded or not {"sku", "skuid", "skudescription"} & folded:
        return None
    detailed = {"resource", "resourcename", "resourceglobalname"} & folded
    return f"Google's billing export of BigQuery ({'detailed' if detailed else 'standard'} usage cost)"


def _oracle(names: Sequence[str], folded: set[str]) -> str | None:
    if "lineitemintervalusagestart" not in folded:
        return None
    return "an Oracle cost report" if "costmycost" in folded else "an Oracle usage report"
