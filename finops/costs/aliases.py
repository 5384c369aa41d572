"""Common names of providers and services, mapped to the names that bills use. Data: add a line."""

from __future__ import annotations

ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "provider": {
        "aws": ("AWS", "Amazon Web Services", "Amazon Web Services, Inc.", "Amazon"),
        "amazon": ("AWS", "Amazon Web Services", "Amazon Web Services, Inc."),
        "azure": ("Microsoft", "Microsoft Azure", "Azure"),
        "microsoft": ("Microsoft Azure", "Azure"),
        "gcp": ("Google Cloud", "Google Cloud Platform", "GCP", "Google"),
        "google": ("Google Cloud", "Google Cloud Platform", "GCP"),
        "oci": ("Oracle", "Oracle Cloud", "Oracle Cloud Infrastructure", "OCI"),
        "openai": ("OpenAI",),
        "anthropic": ("Anthropic", "Claude"),
        "claude": ("Anthropic", "Claude"),
        "chatgpt": ("OpenAI",),
    },
    "service": {
        "ec2": (
            "Amazon Elastic Compute Cloud",
            "Amazon Elastic Compute Cloud - Compute",
            "AmazonEC2",
            "Amazon EC2",
        ),
        "ebs": ("Amazon Elastic Block Store", "Amazon EBS"),
        "s3": ("Amazon Simple Storage Service", "AmazonS3", "Amazon S3"),
        "rds": ("Amazon Relational Database Service", "AmazonRDS", "Amazon RDS"),
        "eks": (
            "Amazon Elastic Kubernetes Service",
            "Amazon Elastic Container Service for Kubernetes",
            "AmazonEKS",
        ),
        "ecs": ("Amazon Elastic Container Service", "AmazonECS"),
        "ecr": ("Amazon EC2 Container Registry (ECR)", "Amazon Elastic Container Registry", "AmazonECR"),
        "elb": ("Elastic Load Balancing", "AWSELB"),
        "sqs": ("Amazon Simple Queue Service", "AWSQueueService"),
        "sns": ("Amazon Simple Notification Service", "AmazonSNS"),
        "ses": ("Amazon Simple Email Service", "AmazonSES"),
        "vpc": ("Amazon Virtual Private Cloud", "AmazonVPC"),
        "kms": ("AWS Key Management Service", "awskms"),
        "lambda": ("AWS Lambda", "AWSLambda"),
        "fargate": ("AWS Fargate",),
        "dynamodb": ("Amazon DynamoDB", "AmazonDynamoDB"),
        "elasticache": ("Amazon ElastiCache", "AmazonElastiCache"),
        "redshift": ("Amazon Redshift", "AmazonRedshift"),
        "cloudwatch": ("AmazonCloudWatch", "Amazon CloudWatch"),
        "cloudfront": ("Amazon CloudFront", "AmazonCloudFront"),
        "bedrock": ("Amazon Bedrock", "AmazonBedrock"),
        "sagemaker": ("Amazon SageMaker", "AmazonSageMaker"),
        "opensearch": ("Amazon OpenSearch Service", "AmazonES"),
        "gce": ("Compute Engine", "Google Compute Engine"),
        "gcs": ("Cloud Storage", "Google Cloud Storage"),
        "gke": ("Kubernetes Engine", "Google Kubernetes Engine"),
        "aks": ("Azure Kubernetes Service",),
        "azure vm": ("Virtual Machines", "Virtual Machines Licenses"),
        "azure vms": ("Virtual Machines", "Virtual Machines Licenses"),
    },
    "region": {
        "virginia": ("us-east-1",),
        "ohio": ("us-east-2",),
        "oregon": ("us-west-2",),
        "ireland": ("eu-west-1",),
        "frankfurt": ("eu-central-1",),
        "london": ("eu-west-2",),
    },
}


def candidates(dimension: str, value: str) -> list[str]:
    """Return the value itself and the names that bills use for it."""
    aliases = ALIASES.get(dimension, {}).get(value.strip().casefold(), ())
    return list(dict.fromkeys([value, *aliases]))
