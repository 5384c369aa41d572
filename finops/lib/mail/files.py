"""Emails with attached files."""

from __future__ import annotations

from email.message import Message
from email.mime.text import MIMEText

from django.core.mail import EmailMultiAlternatives, SafeMIMEMultipart


class MailWithFiles(EmailMultiAlternatives):
    """An email whose inline images are `multipart/related`; attached files are outside of that part (`multipart/mixed`),
    where every mail program lists them."""

    def __init__(self, *args: object, **fields: object) -> None:
        super().__init__(*args, **fields)  # type: ignore[arg-type]
        self._files: list[MIMEText] = []

    def attach_csv(self, name: str, text: str) -> None:
        part = MIMEText(text, "csv", "utf-8")
        part.add_header("Content-Disposition", "attachment", filename=name)
        self._files.append(part)

    def message(self) -> Message:  # type: ignore[override]
        inner: Message = super().message()
        if not self._files:
            return inner
        outer = SafeMIMEMultipart(_subtype="mixed", encoding=self.encoding or "utf-8")
        for name, value in inner.items():
            if name.lower() not in ("content-type", "content-transfer-encoding", "mime-version"):
                outer[name] = "".join(value.splitlines())
                del inner[name]
        for part in (inner, *self._files):
            outer.attach(part)
        return outer
