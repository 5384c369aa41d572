"""Files of usage events as tests upload them."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.scoping import account_scope
from ingestion import services
from ingestion.models import UsageUpload
from tests.cast import Cast
from tests.ingestion.push_client import MOMENT, PushClient

HEADER = "customer_id,metric,quantity,timestamp"


def csv(*lines: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *lines, ""]).encode()


def line(number: int = 1, quantity: str = "1") -> str:
    return f"cust-{number},requests,{quantity},{MOMENT}"


def send(push_client: PushClient, content: bytes, cast: Cast, name: str = "events.csv") -> UsageUpload:
    file = SimpleUploadedFile(name, content)
    return services.queue_upload(source=push_client.source, upload=file, actor=cast.actor)


def run_new_upload(
    push_client: PushClient, content: bytes, cast: Cast, name: str = "events.csv"
) -> UsageUpload:
    job = send(push_client, content, cast, name)
    services.run_upload(job.pk)
    return UsageUpload.objects.unscoped().get(pk=job.pk)


def rejected_lines_of(job: UsageUpload) -> dict[int, str]:
    with account_scope(job.account):
        return dict(job.rejected_lines.values_list("line", "error"))
