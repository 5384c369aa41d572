"""The vendors' price lists: one row a SKU, with the list price of one unit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

# A price is a whole number of 1e-9 of the currency, a quantity of 1e-3 of the unit, so a cost is exact in 1e-12.
PRICE_SCALE, QUANTITY_SCALE, COST_SCALE = 9, 3, 12
CENT = 10_000_000_000  # in 1e-12


@dataclass(frozen=True)
class Sku:
    key: str
    service: str
    category: str
    subcategory: str
    meter: str
    unit: str
    price: int
    resource_type: str
    description: str
    plan: str  # the family of commitments that may cover it, or empty


_EC2 = ("Amazon Elastic Compute Cloud", "Compute", "Virtual Machines")
_EBS = ("Amazon Elastic Compute Cloud", "Storage", "Block Storage")
_S3 = ("Amazon Simple Storage Service", "Storage", "Object Storage")
_RDS = ("Amazon Relational Database Service", "Databases", "Relational Databases")
_LAMBDA = ("AWS Lambda", "Compute", "Serverless Compute")
_DYNAMO = ("Amazon DynamoDB", "Databases", "NoSQL Databases")
_VPC = ("Amazon Virtual Private Cloud", "Networking", "Virtual Networks")
_WATCH = ("Amazon CloudWatch", "Management and Governance", "Observability")
_AZURE_VM = ("Virtual Machines", "Compute", "Virtual Machines")
_AZURE_SQL = ("Azure SQL Database", "Databases", "Relational Databases")
_GCE = ("Compute Engine", "Compute", "Virtual Machines")
_BQ = ("BigQuery", "Analytics", "Data Warehouses")
_CLAUDE = ("Claude API", "AI and Machine Learning", "Generative AI")

_ROWS: tuple[tuple[str, tuple[str, str, str], str, str, str, str, str], ...] = (
    # key, (service, category, subcategory), meter, unit, list price, resource type, plan
    ("m6i.xlarge", _EC2, "BoxUsage:m6i.xlarge", "Hours", "0.192", "EC2 Instance", "aws-compute"),
    ("m6i.2xlarge", _EC2, "BoxUsage:m6i.2xlarge", "Hours", "0.384", "EC2 Instance", "aws-compute"),
    ("c6i.2xlarge", _EC2, "BoxUsage:c6i.2xlarge", "Hours", "0.34", "EC2 Instance", "aws-compute"),
    ("r6i.2xlarge", _EC2, "BoxUsage:r6i.2xlarge", "Hours", "0.504", "EC2 Instance", "aws-compute"),
    ("c6i.4xlarge", _EC2, "BoxUsage:c6i.4xlarge", "Hours", "0.68", "EC2 Instance", "aws-compute"),
    ("m7g.large", _EC2, "BoxUsage:m7g.large", "Hours", "0.0816", "EC2 Instance", "aws-compute"),
    ("m4.xlarge", _EC2, "BoxUsage:m4.xlarge", "Hours", "0.20", "EC2 Instance", ""),
    ("c4.2xlarge", _EC2, "BoxUsage:c4.2xlarge", "Hours", "0.398", "EC2 Instance", ""),
    ("t3.large", _EC2, "BoxUsage:t3.large", "Hours", "0.0832", "EC2 Instance", ""),
    ("p4d.24xlarge", _EC2, "BoxUsage:p4d.24xlarge", "Hours", "32.7726", "EC2 Instance", ""),
    ("spot.c6i.4xlarge", _EC2, "SpotUsage:c6i.4xlarge", "Hours", "0.2711", "EC2 Instance", ""),
    ("ec2.egress", _EC2, "DataTransfer-Out-Bytes", "GB", "0.09", "EC2 Instance", ""),
    ("ec2.cross-az", _EC2, "DataTransfer-Regional-Bytes", "GB", "0.01", "EC2 Instance", ""),
    ("ebs.gp3", _EBS, "EBS:VolumeUsage.gp3", "GB-Months", "0.08", "EBS Volume", ""),
    ("ebs.gp2", _EBS, "EBS:VolumeUsage.gp2", "GB-Months", "0.10", "EBS Volume", ""),
    ("ebs.io1", _EBS, "EBS:VolumeUsage.piops", "GB-Months", "0.125", "EBS Volume", ""),
    ("ebs.snapshot", _EBS, "EBS:SnapshotUsage", "GB-Months", "0.05", "EBS Snapshot", ""),
    ("s3.standard", _S3, "TimedStorage-ByteHrs", "GB-Months", "0.023", "S3 Bucket", ""),
    ("s3.ia", _S3, "TimedStorage-SIA-ByteHrs", "GB-Months", "0.0125", "S3 Bucket", ""),
    ("s3.put", _S3, "Requests-Tier1", "1000 Requests", "0.005", "S3 Bucket", ""),
    ("s3.get", _S3, "Requests-Tier2", "1000 Requests", "0.0004", "S3 Bucket", ""),
    ("rds.r6g.2xlarge", _RDS, "InstanceUsage:db.r6g.2xl", "Hours", "0.904", "RDS Instance", "aws-rds"),
    ("rds.r6g.large", _RDS, "InstanceUsage:db.r6g.large", "Hours", "0.226", "RDS Instance", ""),
    ("rds.m4.large", _RDS, "InstanceUsage:db.m4.large", "Hours", "0.182", "RDS Instance", ""),
    ("rds.gp3", _RDS, "RDS:GP3-Storage", "GB-Months", "0.115", "RDS Instance", ""),
    ("rds.gp2", _RDS, "RDS:GP2-Storage", "GB-Months", "0.115", "RDS Instance", ""),
    ("rds.backup", _RDS, "RDS:ChargedBackupUsage", "GB-Months", "0.095", "RDS Instance", ""),
    ("lambda.requests", _LAMBDA, "Lambda-Requests", "1M Requests", "0.20", "Lambda Function", ""),
    ("lambda.duration", _LAMBDA, "Lambda-GB-Second", "1000 GB-Seconds", "0.0166667", "Lambda Function", "aws-compute"),
    ("fargate.vcpu", ("Amazon Elastic Container Service", "Compute", "Containers"), "Fargate-vCPU-Hours:perCPU",
     "vCPU-Hours", "0.04048", "ECS Service", "aws-compute"),
    ("fargate.memory", ("Amazon Elastic Container Service", "Compute", "Containers"), "Fargate-GB-Hours", "GB-Hours",
     "0.004445", "ECS Service", "aws-compute"),
    ("eks.cluster", ("Amazon Elastic Kubernetes Service", "Compute", "Containers"), "AmazonEKS-Hours:perCluster",
     "Hours", "0.10", "EKS Cluster", ""),
    ("dynamo.write", _DYNAMO, "WriteRequestUnits", "1M Requests", "0.625", "DynamoDB Table", ""),
    ("dynamo.read", _DYNAMO, "ReadRequestUnits", "1M Requests", "0.125", "DynamoDB Table", ""),
    ("dynamo.storage", _DYNAMO, "TimedStorage-ByteHrs", "GB-Months", "0.25", "DynamoDB Table", ""),
    ("elb.hours", ("Elastic Load Balancing", "Networking", "Application Networking"), "LoadBalancerUsage", "Hours",
     "0.0225", "Load Balancer", ""),
    ("elb.lcu", ("Elastic Load Balancing", "Networking", "Application Networking"), "LCUUsage", "LCU-Hours", "0.008",
     "Load Balancer", ""),
    ("nat.hours", _VPC, "NatGateway-Hours", "Hours", "0.045", "NAT Gateway", ""),
    ("nat.bytes", _VPC, "NatGateway-Bytes", "GB", "0.045", "NAT Gateway", ""),
    ("ipv4", _VPC, "PublicIPv4:InUseAddress", "Hours", "0.005", "Elastic IP", ""),
    ("cloudfront.egress", ("Amazon CloudFront", "Networking", "Content Delivery"), "DataTransfer-Out-Bytes", "GB",
     "0.085", "CloudFront Distribution", ""),
    ("cloudfront.https", ("Amazon CloudFront", "Networking", "Content Delivery"), "Requests-Tier2-HTTPS",
     "10000 Requests", "0.01", "CloudFront Distribution", ""),
    ("watch.ingest", _WATCH, "DataProcessing-Bytes", "GB", "0.50", "Log Group", ""),
    ("watch.storage", _WATCH, "TimedStorage-ByteHrs", "GB-Months", "0.03", "Log Group", ""),
    ("watch.metrics", _WATCH, "MetricMonitorUsage", "Metrics", "0.30", "Metric Namespace", ""),
    ("sqs", ("Amazon Simple Queue Service", "Integration", "Messaging"), "Requests-Tier1", "1M Requests", "0.40",
     "SQS Queue", ""),
    ("opensearch.r6g", ("Amazon OpenSearch Service", "Analytics", "Search"), "ESInstance:r6g.xlarge", "Hours", "0.335",
     "OpenSearch Node", ""),
    ("opensearch.gp2", ("Amazon OpenSearch Service", "Analytics", "Search"), "ES:GP2-Storage", "GB-Months", "0.135",
     "OpenSearch Node", ""),
    ("cache.r6g", ("Amazon ElastiCache", "Databases", "Caching"), "NodeUsage:cache.r6g.large", "Hours", "0.206",
     "Cache Node", "aws-cache"),
    ("redshift.ra3", ("Amazon Redshift", "Analytics", "Data Warehouses"), "Node:ra3.4xlarge", "Hours", "3.26",
     "Redshift Cluster", ""),
    ("redshift.storage", ("Amazon Redshift", "Analytics", "Data Warehouses"), "RMS:ra3.4xlarge", "GB-Months", "0.024",
     "Redshift Cluster", ""),
    ("glue", ("AWS Glue", "Analytics", "Data Processing"), "ETL-DPU-Hour", "DPU-Hours", "0.44", "Glue Job", ""),
    ("emr", ("Amazon EMR", "Analytics", "Data Processing"), "BoxUsage:m5.2xlarge", "Hours", "0.096", "EMR Cluster", ""),
    ("kms", ("AWS Key Management Service", "Security", "Secret Management"), "KMS-Requests", "10000 Requests", "0.03",
     "KMS Key", ""),
    ("secrets", ("AWS Secrets Manager", "Security", "Secret Management"), "SecretsManager-Secrets", "Secrets", "0.40",
     "Secret", ""),
    ("guardduty", ("Amazon GuardDuty", "Security", "Threat Detection"), "PaidEventsAnalyzed", "1M Events", "4.00",
     "Detector", ""),
    ("waf", ("AWS WAF", "Security", "Application Security"), "RequestsTier", "1M Requests", "0.60", "Web ACL", ""),
    ("route53", ("Amazon Route 53", "Networking", "DNS"), "DNS-Queries", "1M Queries", "0.40", "Hosted Zone", ""),
    ("backup", ("AWS Backup", "Storage", "Backup Storage"), "WarmStorage-ByteHrs", "GB-Months", "0.05", "Vault", ""),
    ("az.d4s", _AZURE_VM, "D4s v5", "Hours", "0.218", "Virtual Machine", "azure-vm"),
    ("az.d8s", _AZURE_VM, "D8s v5", "Hours", "0.436", "Virtual Machine", "azure-compute"),
    ("az.d2v2", _AZURE_VM, "D2 v2", "Hours", "0.136", "Virtual Machine", ""),
    ("az.sql", _AZURE_SQL, "vCore General Purpose Gen5", "vCore-Hours", "0.1402", "SQL Database", ""),
    ("az.sql.storage", _AZURE_SQL, "General Purpose Data Stored", "GB-Months", "0.109", "SQL Database", ""),
    ("az.cosmos", ("Azure Cosmos DB", "Databases", "NoSQL Databases"), "100 RU/s", "100 RU/s-Hours", "0.0075",
     "Cosmos DB Account", ""),
    ("az.blob", ("Storage Accounts", "Storage", "Object Storage"), "Hot LRS Data Stored", "GB-Months", "0.0187",
     "Storage Account", ""),
    ("az.blob.ops", ("Storage Accounts", "Storage", "Object Storage"), "Hot Write Operations", "10000 Operations",
     "0.0506", "Storage Account", ""),
    ("az.disk", ("Storage Accounts", "Storage", "Block Storage"), "P20 LRS Disk", "Disks", "68.00", "Managed Disk", ""),
    ("az.aks", ("Azure Kubernetes Service", "Compute", "Containers"), "Standard Uptime SLA", "Hours", "0.092",
     "Managed Cluster", ""),
    ("az.functions", ("Azure Functions", "Compute", "Serverless Compute"), "Standard Execution Time",
     "1000 GB-Seconds", "0.0147", "Function App", ""),
    ("az.bandwidth", ("Bandwidth", "Networking", "Data Transfer"), "Standard Data Transfer Out", "GB", "0.0757",
     "Virtual Network", ""),
    ("az.monitor", ("Azure Monitor", "Management and Governance", "Observability"), "Analytics Logs Data Ingestion",
     "GB", "2.54", "Log Analytics Workspace", ""),
    ("az.gateway", ("Application Gateway", "Networking", "Application Networking"), "Standard Capacity Units",
     "Capacity-Hours", "0.0074", "Application Gateway", ""),
    ("az.keyvault", ("Key Vault", "Security", "Secret Management"), "Operations", "10000 Operations", "0.0279",
     "Key Vault", ""),
    ("gcp.n2", _GCE, "N2 Instance Core running in Iowa", "Hours", "0.031611", "Instance", "gcp-compute"),
    ("gcp.n2.ram", _GCE, "N2 Instance Ram running in Iowa", "GB-Hours", "0.004237", "Instance", "gcp-compute"),
    ("gcp.n1", _GCE, "N1 Predefined Instance Core running in Iowa", "Hours", "0.031611", "Instance", ""),
    ("gcp.a2", _GCE, "Nvidia Tesla A100 GPU running in Iowa", "Hours", "2.934", "Instance", ""),
    ("gcp.pd", _GCE, "SSD backed PD Capacity", "GB-Months", "0.17", "Disk", ""),
    ("gcp.gke", ("Kubernetes Engine", "Compute", "Containers"), "Regional Kubernetes Clusters", "Hours", "0.10",
     "Cluster", ""),
    ("gcp.bq.analysis", _BQ, "Analysis", "TB", "6.25", "Project", ""),
    ("gcp.bq.slots", _BQ, "Enterprise Edition Slots", "Slot-Hours", "0.06", "Reservation", ""),
    ("gcp.bq.storage", _BQ, "Active Logical Storage", "GB-Months", "0.02", "Dataset", ""),
    ("gcp.gcs", ("Cloud Storage", "Storage", "Object Storage"), "Standard Storage US Multi-region", "GB-Months",
     "0.026", "Bucket", ""),
    ("gcp.gcs.ops", ("Cloud Storage", "Storage", "Object Storage"), "Class A Operations", "10000 Operations", "0.05",
     "Bucket", ""),
    ("gcp.pubsub", ("Cloud Pub/Sub", "Integration", "Messaging"), "Message Delivery Basic", "TB", "40.00", "Topic", ""),
    ("gcp.dataflow", ("Cloud Dataflow", "Analytics", "Data Processing"), "vCPU Time Batch", "vCPU-Hours", "0.056",
     "Job", ""),
    ("gcp.run", ("Cloud Run", "Compute", "Serverless Compute"), "CPU Allocation Time", "vCPU-Hours", "0.0864",
     "Service", ""),
    ("gcp.vertex", ("Vertex AI", "AI and Machine Learning", "Machine Learning Platforms"), "Online Prediction N1",
     "Hours", "0.2192", "Endpoint", ""),
    ("gcp.egress", ("Networking", "Networking", "Data Transfer"), "Internet Data Transfer Out", "GB", "0.085",
     "Network", ""),
    ("gcp.logging", ("Cloud Logging", "Management and Governance", "Observability"), "Log Storage cost", "GB", "0.50",
     "Log Bucket", ""),
    ("do.droplet", ("Droplets", "Compute", "Virtual Machines"), "s-4vcpu-8gb", "Hours", "0.07143", "Droplet", ""),
    ("do.spaces", ("Spaces", "Storage", "Object Storage"), "Spaces storage", "GB-Months", "0.02", "Space", ""),
    ("do.database", ("Managed Databases", "Databases", "Relational Databases"), "db-s-2vcpu-4gb", "Hours", "0.08929",
     "Database Cluster", ""),
    ("opus.in", _CLAUDE, "Claude Opus 4.5 input tokens", "1M Tokens", "5.00", "API Key", ""),
    ("opus.out", _CLAUDE, "Claude Opus 4.5 output tokens", "1M Tokens", "25.00", "API Key", ""),
    ("sonnet.in", _CLAUDE, "Claude Sonnet 4.5 input tokens", "1M Tokens", "3.00", "API Key", ""),
    ("sonnet.out", _CLAUDE, "Claude Sonnet 4.5 output tokens", "1M Tokens", "15.00", "API Key", ""),
    ("sonnet.cache", _CLAUDE, "Claude Sonnet 4.5 cache read tokens", "1M Tokens", "0.30", "API Key", ""),
    ("haiku.in", _CLAUDE, "Claude Haiku 4.5 input tokens", "1M Tokens", "1.00", "API Key", ""),
    ("haiku.out", _CLAUDE, "Claude Haiku 4.5 output tokens", "1M Tokens", "5.00", "API Key", ""),
)  # fmt: skip


def units(price: str, scale: int) -> int:
    """Return a decimal text as a whole number of 10 to the minus scale."""
    return int(Decimal(price).scaleb(scale))


SKUS: dict[str, Sku] = {
    key: Sku(key, *kind, meter, unit, units(price, PRICE_SCALE), resource_type, f"{meter}, per {unit}", plan)
    for key, kind, meter, unit, price, resource_type, plan in _ROWS
}
