"""What a person does and pastes at Azure.

Exports by the command line: `az costmanagement export` has no FOCUS yet, so `az rest` calls the Exports API, version
2025-03-01 (learn.microsoft.com/rest/api/cost-management/exports/create-or-update).
"""

from __future__ import annotations

import json
from typing import Final

from finops.connections.connector import SetupStep
from finops.connections.transports.azure_blob import ROLE

SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"
_STORAGE: Final = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/billing/providers/Microsoft.Storage/storageAccounts/acmebilling"
_CONTAINER: Final = f"{_STORAGE}/blobServices/default/containers/cost-exports"


def export_steps() -> list[SetupStep]:
    """The export, an identity that may read its container, or a SAS instead."""
    return [
        SetupStep(
            "Create the export",
            "Cost Management, Exports, Create: 'Cost and usage details (FOCUS)', monthly and month to date, Parquet with Snappy or "
            "CSV with gzip, 'Overwrite data'. Or create two exports, of actual and of amortized cost.",
        ),
        SetupStep(
            "Or with the command line", "Put in your scope, names and storage account.", _export(), "sh"
        ),
        SetupStep(
            "Fetch older months",
            "Cost Management, Exports, the export, 'Export selected dates': a month at a time, as far back as there is data.",
        ),
        *read_steps(),
    ]


def read_steps() -> list[SetupStep]:
    """An identity that may read a container."""
    return [
        SetupStep(
            "Create an app that may read the container",
            "The output has the tenant ID, the client ID (appId) and the client secret (password). In the portal: Microsoft Entra "
            f"ID, App registrations; then the container, Access control (IAM), Add role assignment, {ROLE}.",
            f"""az ad sp create-for-rbac \\
  --name finops-console \\
  --role "{ROLE}" \\
  --scopes "{_CONTAINER}"
""",
            "sh",
        ),
        SetupStep(
            "Or create a SAS",
            "The container, Shared access tokens, permissions Read and List, an expiry that you note. It ends with that day.",
            """az storage container generate-sas \\
  --account-name acmebilling --name cost-exports \\
  --permissions lr --expiry 2027-01-01 --https-only \\
  --auth-mode login --as-user --output tsv
""",
            "sh",
        ),
        SetupStep(
            "Or let this server's own identity read it",
            "Where this console runs in Azure with a managed or workload identity, and its operator has set "
            "CONNECTION_AMBIENT_IDENTITY.",
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
            "Networking, add the address of this console's server. It connects to no other address of Azure than the account's, "
            "login.microsoftonline.com and, for recommendations, management.azure.com.",
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
