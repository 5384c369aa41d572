"""Snippets that push a first month of cost. Each runs unchanged, with the key in it."""

from __future__ import annotations

from datetime import timedelta

from accounts.snippets import Snippet
from finops.connections.models import month_name
from finops.lib import clock


def push_snippets(url: str, key: str) -> list[Snippet]:
    """Snippets for `/api/costs` at `url` and a plaintext key. Each replaces the current month of the key's source."""
    today = clock.today()
    month = month_name(today)
    end = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return [
        Snippet("curl", "curl", "A FOCUS file of one month: CSV, CSV.gz or Parquet.", _curl(url, key, month)),
        Snippet("python", "Python", "Standard library only: a month in two parts.", _python(url, key, month)),
        Snippet(
            "litellm",
            "LiteLLM",
            "In a terminal that reaches the database of a LiteLLM proxy; run it daily.",
            _litellm(url, key, month, month_name(end)),
        ),
    ]


def _curl(url: str, key: str, month: str) -> str:
    return f'curl {url}/months/{month} \\\n  -H "Authorization: Bearer {key}" \\\n  --data-binary @focus-{month}.csv'


def _python(url: str, key: str, month: str) -> str:
    return f"""import json, urllib.request

def call(method, path, body):
    request = urllib.request.Request(
        "{url}" + path, method=method, data=json.dumps(body).encode(),
        headers={{"Authorization": "Bearer {key}", "Content-Type": "application/json"}},
    )
    return json.load(urllib.request.urlopen(request, timeout=60))

def row(service, cost):
    return {{
        "BillingPeriodStart": "{month}-01T00:00:00Z", "ChargePeriodStart": "{month}-01T00:00:00Z",
        "BillingCurrency": "USD", "BilledCost": cost, "EffectiveCost": cost,
        "ProviderName": "Our platform", "ServiceName": service, "ChargeCategory": "Usage",
        "Tags": {{"team": "core"}},
    }}

push = call("POST", "/pushes", {{"month": "{month}"}})
call("PUT", f"/pushes/{{push['id']}}/parts/1", {{"rows": [row("Compute", "12.50")]}})
call("PUT", f"/pushes/{{push['id']}}/parts/2", {{"rows": [row("Storage", "3.75")]}})
print(call("POST", f"/pushes/{{push['id']}}/commit", {{"parts": 2}}))
"""


def _litellm(url: str, key: str, month: str, end: str) -> str:
    return f"""psql "$LITELLM_DATABASE_URL" -c "COPY (
  SELECT '{month}-01T00:00:00Z' AS \\"BillingPeriodStart\\", '{end}-01T00:00:00Z' AS \\"BillingPeriodEnd\\",
    date || 'T00:00:00Z' AS \\"ChargePeriodStart\\", 'USD' AS \\"BillingCurrency\\",
    spend AS \\"BilledCost\\", spend AS \\"EffectiveCost\\", 'Usage' AS \\"ChargeCategory\\",
    coalesce(custom_llm_provider, 'LiteLLM') AS \\"ProviderName\\", coalesce(model, 'unknown') AS \\"ServiceName\\",
    'AI and Machine Learning' AS \\"ServiceCategory\\", api_key AS \\"SubAccountId\\",
    json_build_object('user', user_id) AS \\"Tags\\"
  FROM \\"LiteLLM_DailyUserSpend\\" WHERE date LIKE '{month}-%'
) TO STDOUT (FORMAT csv, HEADER)" | curl {url}/months/{month} \\
  -H "Authorization: Bearer {key}" --data-binary @-"""  # noqa: S608
