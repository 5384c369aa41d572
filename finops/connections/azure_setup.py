"""Instructions for Azure.

Exports by the command line: `az costmanagement export` does not support FOCUS yet, so `az rest` calls the Exports
API, version 2025-03-01 (learn.microsoft.com/rest/api/cost-management/exports/create-or-update).
"""

from __future__ import annotations

import json
from typing import Final

from finops.connections.connector import SetupStep
from finops.connections.transports.azure_blob import ROLE, WRITE_ROLE

SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"
_STORAGE: Final = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/billing/providers/Microsoft.Storage/storageAccounts/acmebilling"
_CONTAINER: Final = f"{_STORAGE}/blobServices/default/containers/cost-exports"


def export_steps() -> list[SetupStep]:
    """Return the steps for exports: the export, then an identity that may read its container, or a SAS instead."""
    return [
        SetupStep(
            "Create the export",
            "In Cost Management > Exports, choose Create and 'Cost and usage details (FOCUS)'. Set month to date, "
            "Parquet with Snappy or CSV with gzip, and 'Overwrite data'. Without FOCUS, create two exports: actual "
            "cost and amortized cost.",
        ),
        SetupStep("Or use the Azure CLI", "Replace the scope, names and storage account.", _export(), "sh"),
        SetupStep(
            "Export older months",
            "In Cost Management > Exports, open the export and choose 'Export selected dates', one month at a time.",
        ),
        *read_steps(),
    ]


def read_steps() -> list[SetupStep]:
    """Return the steps for an identity that may read a container."""
    return [
        SetupStep(
            "Create an app with read access",
            "The output has the tenant ID, client ID (appId) and client secret (password). In the portal: create an "
            f"app under Microsoft Entra ID > App registrations, then assign it {ROLE} under Access control (IAM) of "
            "the container.",
            f"""az ad sp create-for-rbac \\
  --name finops-console \\
  --role "{ROLE}" \\
  --scopes "{_CONTAINER}"
""",
            "sh",
        ),
        SetupStep(
            "Or create a SAS",
            "Under Shared access tokens of the container, select Read, List and an expiry date. Syncs fail after that date.",
            """az storage container generate-sas \\
  --account-name acmebilling --name cost-exports \\
  --permissions lr --expiry 2027-01-01 --https-only \\
  --auth-mode login --as-user --output tsv
""",
            "sh",
        ),
        SetupStep(
            "Or use the identity of this server",
            "If the console runs in Azure with a managed or workload identity and CONNECTION_AMBIENT_IDENTITY is set.",
            f'az role assignment create --assignee CLIENT_ID --role "{ROLE}" --scope "{_CONTAINER}"',
            "sh",
        ),
        SetupStep(
            "Recommendations of Azure Advisor (optional)",
            "Let the app, or the server's identity, read the subscriptions whose recommendations count among Savings: the role "
            "Reader, or a role of your own with Microsoft.Advisor/recommendations/read and "
            "Microsoft.Resources/subscriptions/read. Not with a SAS.",
            f'az role assignment create --assignee CLIENT_ID --role Reader --scope "/subscriptions/{SUBSCRIPTION}"\n',
            "sh",
        ),
        SetupStep(
            "If the storage account has a firewall",
            "Under Networking, allow the IP address of this server. It connects only to the storage account, "
            "login.microsoftonline.com and, for recommendations, management.azure.com.",
        ),
    ]


def write_steps() -> list[SetupStep]:
    """Return the steps for an identity that may write to a container."""
    return [
        SetupStep(
            "Create an app with write access",
            "The output has the tenant ID, client ID (appId) and client secret (password).",
            f"""az ad sp create-for-rbac \\
  --name finops-console-exports \\
  --role "{WRITE_ROLE}" \\
  --scopes "{_CONTAINER}"
""",
            "sh",
        ),
        SetupStep(
            "Or create a SAS",
            "Under Shared access tokens of the container, select Read, Write, Delete, List and an expiry date. Runs fail after "
            "that date.",
            """az storage container generate-sas \\
  --account-name acmebilling --name cost-exports \\
  --permissions rwdl --expiry 2027-01-01 --https-only \\
  --auth-mode login --as-user --output tsv
""",
            "sh",
        ),
        SetupStep(
            "Or use the identity of this server",
            "If the console runs in Azure with a managed or workload identity and CONNECTION_AMBIENT_IDENTITY is set.",
            f'az role assignment create --assignee CLIENT_ID --role "{WRITE_ROLE}" --scope "{_CONTAINER}"',
            "sh",
        ),
    ]


def _export() -> str:
    body = {
        "properties": {
            "format": "Parquet",
            "compressionMode": "snappy",
            "dataOverwriteBehavior": "OverwritePreviousReport",
            "partitionData": True,
            "definition": {
                "type": "FocusCost",
                "timeframe": "MonthToDate",
                "dataSet": {"granularity": "Daily", "configuration": {"dataVersion": "1.0r2"}},
            },
            "deliveryInfo": {
                "destination": {
                    "resourceId": _STORAGE,
                    "container": "cost-exports",
                    "rootFolderPath": "exports",
                }
            },
            "schedule": {
                "status": "Active",
                "recurrence": "Daily",
                "recurrencePeriod": {"from": "2026-12-01T00:00:00Z", "to": "2036-12-01T00:00:00Z"},
            },
        }
    }
    url = (
        f"https://management.azure.com/subscriptions/{SUBSCRIPTION}/providers/Microsoft.CostManagement/exports/focus"
        "?api-version=2025-03-01"
    )
    return f"az rest --method put --url '{url}' --body '{json.dumps(body, indent=2)}'\n"
