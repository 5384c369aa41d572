"""One line of a bill without a day: its SKU, place, owner, and daily quantity."""

from __future__ import annotations

from dataclasses import dataclass, field

from finops.demo.catalog import SKUS, Sku
from finops.demo.company import SUB_ACCOUNTS, SubAccount, digest, fraction, owner_of


@dataclass(frozen=True)
class ResourceLine:
    """A resource's usage of one SKU. `base` is the quantity of a day where its shape is 1.

    A line of a pool is machine number `rank` of it: it runs while the pool, `pool_size` at shape 1, needs it.
    """

    source: str
    sku: Sku
    sub_account: SubAccount
    region: str
    workload: str
    resource_id: str
    resource_name: str
    shape: str
    base: float
    tags: dict[str, str] = field(default_factory=dict)
    pool_size: float = 0.0
    rank: int = 0

    @property
    def key(self) -> str:
        return f"{self.source}/{self.resource_id}/{self.sku.key}"


# Spellings that people used before there was a tagging guide. Providers' tags differ in case by habit.
_ENV_KEYS = {"aws": (*["env"] * 8, "Env", "environment"), "azure": ("Environment",), "gcp": ("env",)}
_ENV_VALUES = {"prod": (*["prod"] * 6, "production", "Prod"), "dev": (*["dev"] * 4, "development")}
_TEAM_KEYS = {"aws": (*["team"] * 9, "Team"), "azure": ("Team",), "gcp": ("team",)}


def _pick(options: tuple[str, ...], *parts: object) -> str:
    return options[int(fraction(*parts) * len(options))]


def tags_for(
    source: str, name: str, *, team: str, env: str, service: str, customer: str = "", deployer: str = ""
) -> dict[str, str]:
    """The tags of a resource: about one in nine has none, more have gaps, some are misspelt."""
    made_by = (
        {"aws:createdBy": f"AssumedRole:AROA{digest('role', deployer).upper()[:12]}:{deployer}"}
        if deployer
        else {}
    )
    if fraction("untagged-2", source, name) < 0.11:
        return made_by if source == "aws" else {}
    tags = {
        _pick(_TEAM_KEYS[source], "team-key", name): team,
        _pick(_ENV_KEYS[source], "env-key", name): _pick(_ENV_VALUES.get(env, (env,)), "env", name),
        "service": service,
    }
    if fraction("teamless", name) < 0.07:
        tags = {key: value for key, value in tags.items() if key.lower() != "team"}
    if fraction("owner", name) < 0.55:
        tags["owner"] = owner_of(team, name)
    if fraction("cost-center", name) < 0.4:
        tags["cost-center" if source != "azure" else "CostCenter"] = (
            f"cc-{1000 + int(fraction('cc', team) * 40) * 10}"
        )
    if customer:
        tags["customer"] = customer
    return tags | (made_by if source == "aws" else {})


_ID_PREFIX = {"EC2 Instance": ("ec2", "instance/i-"), "EBS Volume": ("ec2", "volume/vol-")}

_AZURE_TYPES = {
    "Virtual Machine": "Microsoft.Compute/virtualMachines",
    "Managed Disk": "Microsoft.Compute/disks",
    "SQL Database": "Microsoft.Sql/servers/databases",
    "Cosmos DB Account": "Microsoft.DocumentDB/databaseAccounts",
    "Storage Account": "Microsoft.Storage/storageAccounts",
    "Managed Cluster": "Microsoft.ContainerService/managedClusters",
    "Function App": "Microsoft.Web/sites",
    "Virtual Network": "Microsoft.Network/virtualNetworks",
    "Application Gateway": "Microsoft.Network/applicationGateways",
    "Log Analytics Workspace": "Microsoft.OperationalInsights/workspaces",
    "Key Vault": "Microsoft.KeyVault/vaults",
}


def _identify(source: str, sku: Sku, account: SubAccount, region: str, name: str) -> str:
    """A resource id in the vendor's own form, the same for the same resource."""
    short = digest(source, account.id, region, name, sku.resource_type)
    slug = sku.resource_type.lower().replace(" ", "-")
    if source == "aws":
        service, prefix = _ID_PREFIX.get(sku.resource_type, (sku.key.split(".")[0], f"{slug}/"))
        resource = f"{prefix}{short if prefix.endswith('-') else name}"
        return f"arn:aws:{service}:{region}:{account.id}:{resource}"
    if source == "azure":
        kind = _AZURE_TYPES.get(
            sku.resource_type, "Microsoft.Resources/" + sku.resource_type.replace(" ", "")
        )
        return f"/subscriptions/{account.id}/resourceGroups/rg-{name.split('-')[0]}/providers/{kind}/{name}"
    if source == "gcp":
        return f"//googleapis.com/projects/{account.id}/locations/{region}/{slug}s/{name}"
    return f"{slug}-{short}"


def line(
    source: str,
    sku: str,
    account: str,
    region: str,
    name: str,
    shape: str,
    base: float,
    tags: dict[str, str],
    *,
    workload: str = "",
    pool_size: float = 0.0,
    rank: int = 0,
) -> ResourceLine:
    """A line with its resource's id and name filled in."""
    product, sub_account = SKUS[sku], SUB_ACCOUNTS[account]
    return ResourceLine(
        source=source,
        sku=product,
        sub_account=sub_account,
        region=region,
        workload=workload or name,
        resource_id=_identify(source, product, sub_account, region, name),
        resource_name=name,
        shape=shape,
        base=base,
        tags=tags,
        pool_size=pool_size,
        rank=rank,
    )
