"""Azure Resource Manager and Google Recommender on this machine, with answers of the shapes that they document, and connections
that ask them."""

from __future__ import annotations

from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from finops.connections import services as connections
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.factories.costs import Line
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.insights.savings.bills import FIRST, LAST, daily

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-000000000001"
OTHER_SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-000000000002"
TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"
CLIENT = "11111111-2222-3333-4444-555555555555"
SECRET = "hush-hush-secret"
PROJECT = "acme-prod"
BILLING_ACCOUNT = "01ABCD-234567-89EF01"
EMAIL = f"finops-console@{PROJECT}.iam.gserviceaccount.com"

Json = dict[str, Any]


def machine_id(name: str, subscription: str = SUBSCRIPTION) -> str:
    return f"/subscriptions/{subscription}/resourceGroups/prod/providers/Microsoft.Compute/virtualMachines/{name}"


def machine_lines(
    amount: str, name: str = "web-1", subscription: str = SUBSCRIPTION, /, **more: Any
) -> list[Line]:
    """A line a day of a machine of Azure, whose id exports write in lower case."""
    values = {
        "provider": "Microsoft Azure",
        "service": "Virtual Machines",
        "account_id": subscription,
        "account_name": "Production",
        "usage_type": "D4s v3",
        "resource_id": machine_id(name, subscription).lower(),
        "resource_name": name,
        "consumed_unit": "1 Hour",
        **more,
    }
    return daily(amount, FIRST, LAST, **values)


def instance_lines(amount: str, name: str = "vm-1", project: str = PROJECT, /, **more: Any) -> list[Line]:
    """A line a day of an instance of Google, which bills call by number."""
    values = {
        "provider": "Google Cloud",
        "service": "Compute Engine",
        "account_id": project,
        "account_name": "Acme production",
        "billing_account_id": BILLING_ACCOUNT,
        "usage_type": "E2 Instance Core running in EMEA",
        "resource_id": f"//compute.googleapis.com/projects/{project}/zones/europe-west1-b/instances/37298",
        "resource_name": f"projects/{project}/instances/{name}",
        "consumed_unit": "hour",
        **more,
    }
    return daily(amount, FIRST, LAST, **values)


def advice(number: int, name: str = "web-1", subscription: str = SUBSCRIPTION, /, **extended: Any) -> Json:
    """A machine that may shrink, as Advisor has it; None takes an extended property away."""
    properties = {
        "currentSku": "Standard_D4s_v3",
        "targetSku": "Standard_D2s_v3",
        "annualSavingsAmount": "1200.50",
        "savingsAmount": "99",
        "savingsCurrency": "USD",
        "lookbackPeriod": "7",
        "regionId": "westeurope",
        **extended,
    }
    return {
        "id": f"{machine_id(name, subscription)}/providers/Microsoft.Advisor/recommendations/{number}",
        "name": f"00000000-0000-0000-0000-{number:012}",
        "type": "Microsoft.Advisor/recommendations",
        "properties": {
            "category": "Cost",
            "impact": "High",
            "impactedField": "Microsoft.Compute/virtualMachines",
            "impactedValue": name,
            "lastUpdated": "2026-02-27T06:00:00.3216408Z",
            "recommendationTypeId": "e10b1381-5f0a-47ff-8c7b-37bd13d7c974",
            "shortDescription": {
                "problem": "Right-size or shutdown underutilized virtual machines",
                "solution": "Right-size or shutdown underutilized virtual machines",
            },
            "resourceMetadata": {"resourceId": machine_id(name, subscription)},
            "extendedProperties": {key: value for key, value in properties.items() if value is not None},
            "suppressionIds": [],
        },
    }


def purchase(
    number: int, annual: str, /, *, plan: bool = False, subscription: str = SUBSCRIPTION, **extended: Any
) -> Json:
    """A reservation of virtual machines, or a savings plan."""
    item = advice(number, "", subscription, annualSavingsAmount=annual)
    text = (
        "Consider purchasing a savings plan for compute to unlock lower prices"
        if plan
        else "Consider virtual machine reserved instance to save over your on-demand costs"
    )
    item["properties"] |= {
        "impactedField": "Microsoft.Subscriptions/subscriptions",
        "impactedValue": subscription,
        "shortDescription": {"problem": text, "solution": text},
        "resourceMetadata": {"resourceId": f"/subscriptions/{subscription}"},
        "extendedProperties": {
            "annualSavingsAmount": annual,
            "savingsCurrency": "USD",
            "term": "P3Y",
            "lookbackPeriod": "30",
            **({} if plan else {"reservedResourceType": "VirtualMachines", "displaySKU": "Standard_D4s_v3"}),
            **({} if plan else {"region": "westeurope", "displayQty": "3"}),
            **extended,
        },
    }
    return item


class ArmApi:
    """`items` by subscription; two a page. `denied` are subscriptions that may not be read."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay = replay
        self.items: dict[str, list[Json]] = {SUBSCRIPTION: []}
        self.denied: set[str] = set()
        replay.routes[f"/{TENANT}/oauth2/v2.0/token"] = lambda _request: Reply.of_json(
            {"access_token": "token-1", "expires_in": 3600}
        )
        replay.routes["/subscriptions"] = lambda _request: Reply.of_json(
            {"value": [{"subscriptionId": each} for each in self.items]}
        )
        for each in (SUBSCRIPTION, OTHER_SUBSCRIPTION):
            replay.routes[f"/subscriptions/{each}/providers/Microsoft.Advisor/recommendations"] = self._list

    def _list(self, request: ReplayRequest) -> Reply:
        assert request.headers["authorization"] == "Bearer token-1"
        assert request.param("api-version") == "2023-01-01"
        assert request.param("$filter") == "Category eq 'Cost'"
        subscription = request.path.split("/")[2]
        if subscription in self.denied:
            text = "The client does not have authorization to perform action 'Microsoft.Advisor/recommendations/read'"
            return Reply.of_json({"error": {"code": "AuthorizationFailed", "message": text}}, 403)
        items, start = self.items.get(subscription, []), int(request.param("$skiptoken") or "0")
        link = f"https://elsewhere.example{request.path}?api-version=2023-01-01&%24skiptoken={start + 2}"
        more = {"nextLink": link} if start + 2 < len(items) else {}
        return Reply.of_json({"value": items[start : start + 2], **more})


def connect_azure(cast: Cast, name: str = "Azure", **values: str) -> CostSource:
    access = {"tenant_id": TENANT, "client_id": CLIENT, "client_secret": SECRET, **values}
    row = connections.create_connection(
        account=cast.account,
        actor=cast.actor,
        name=name,
        connector="azure_exports",
        values={"account": "acmebilling", "container": "cost-exports", **access},
    )
    return row.cost_source


@cache
def service_account_key() -> str:
    key = generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode().replace("\n", "\\n")
    return f'{{"type": "service_account", "client_email": "{EMAIL}", "project_id": "{PROJECT}", "private_key": "{pem}"}}'


def connect_google(cast: Cast, name: str = "Google", connector: str = "google_bucket") -> CostSource:
    place = (
        {"bucket": "acme-billing"} if connector == "google_bucket" else {"table": "acme-prod.billing.focus"}
    )
    row = connections.create_connection(
        account=cast.account,
        actor=cast.actor,
        name=name,
        connector=connector,
        values={**place, "key": service_account_key()},
    )
    return row.cost_source


MACHINE_TYPE = "google.compute.instance.MachineTypeRecommender"
IDLE = "google.compute.instance.IdleResourceRecommender"


def hint(number: int, name: str = "vm-1", /, **values: Any) -> Json:
    """An instance that may shrink, as Recommender has it: 40.5 USD less in thirty days."""
    resource = f"//compute.googleapis.com/projects/{PROJECT}/zones/europe-west1-b/instances/{name}"
    return {
        "name": f"projects/4711/locations/europe-west1-b/recommenders/{MACHINE_TYPE}/recommendations/{number}",
        "description": "Save cost by changing machine type from n1-standard-4 to e2-standard-2.",
        "recommenderSubtype": "CHANGE_MACHINE_TYPE",
        "lastRefreshTime": "2026-02-27T06:00:00Z",
        "primaryImpact": saves("-40", -500_000_000),
        "content": {"operationGroups": [{"operations": [{"action": "test", "resource": resource}]}]},
        "stateInfo": {"state": "ACTIVE"},
        "etag": '"4ff2"',
        "priority": "P2",
        "targetResources": [resource],
        **values,
    }


def saves(units: str, nanos: int = 0, /, days: int = 30, currency: str = "USD", **projection: Any) -> Json:
    cost = {"currencyCode": currency, "units": units, "nanos": nanos}
    return {
        "category": "COST",
        "costProjection": {"cost": cost, "duration": f"{days * 86_400}s", **projection},
    }


class GoogleApi:
    """`items` by project, location and recommender; two a page. `denied` are projects and billing accounts that may not be
    read."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay = replay
        self.items: dict[tuple[str, str, str], list[Json]] = {}
        self.denied: set[str] = set()
        replay.routes["/token"] = lambda _request: Reply.of_json({"access_token": "token-1"})
        replay.routes = _Routes(replay.routes, self._reply)

    def put(self, *items: Json, project: str = PROJECT, location: str = "", recommender: str = "") -> None:
        where = (project, location or "europe-west1-b", recommender or MACHINE_TYPE)
        self.items[where] = list(items)

    def _reply(self, request: ReplayRequest) -> Reply:
        assert request.headers["authorization"] == "Bearer token-1"
        parts = request.path.strip("/").split("/")
        owner = parts[2]
        if owner in self.denied:
            text = "The caller does not have permission"
            return Reply.of_json(
                {"error": {"code": 403, "message": text, "status": "PERMISSION_DENIED"}}, 403
            )
        if parts[0] == "v1beta1":
            places = sorted({location for project, location, _ in self.items if project == owner})
            return Reply.of_json({"locations": [{"locationId": each} for each in places]})
        assert request.param("filter") == "stateInfo.state = ACTIVE OR stateInfo.state = CLAIMED"
        items = self.items.get((owner, parts[4], parts[6]), [])
        start = int(request.param("pageToken") or "0")
        more = {"nextPageToken": str(start + 2)} if start + 2 < len(items) else {}
        return Reply.of_json({"recommendations": items[start : start + 2], **more} if items else {})


class _Routes(dict[str, Any]):
    """Named paths first; any other is the API's."""

    def __init__(self, named: dict[str, Any], other: Any) -> None:
        super().__init__(named)
        self._other = other

    def get(self, path: str, default: Any = None) -> Any:
        return super().get(path, self._other)
