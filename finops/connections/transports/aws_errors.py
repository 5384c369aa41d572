"""Explanations of errors of AWS and compatible services: what to do, with the missing permission."""

from __future__ import annotations

from typing import Any, Final

from finops.connections.connector import AccessError, MonthConflict, SourceError, SourceUnavailable
from finops.connections.transports.bucket import causes
from finops.lib.sentences import truncate


class PrivateAddress(OSError):
    """A host name resolved to an address that requests must not be sent to."""


_CONFLICT: Final = {"PreconditionFailed", "412", "NoSuchKey", "InvalidRange", "416"}
_DENIED: Final = {
    "AccessDenied",
    "AccessDeniedException",
    "403",
    "AllAccessDisabled",
    "AccountProblem",
    "KMS.DisabledException",
}
_BAD_KEY: Final = {
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidToken",
    "AuthFailure",
}
_EXPIRED: Final = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
_BUSY: Final = {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests"}
_NO_BUCKET: Final = {"NoSuchBucket", "404", "InvalidBucketName"}
_OTHER_REGION: Final = {
    "PermanentRedirect",
    "301",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
}


def explain_aws(
    error: Exception, *, permission: str, resource: str, principal: str, where: str
) -> SourceError:
    """Explain an error of botocore, aiobotocore or aiohttp. Raises MonthConflict for an object that changed."""
    from botocore.exceptions import ClientError, NoCredentialsError, PartialCredentialsError

    from finops.connections.transports.s3_session import EndpointRedirect

    chain = list(causes(error))
    if any(isinstance(each, EndpointRedirect) for each in chain):
        return SourceError(f"{where}: the endpoint redirects. Redirects are not followed.", field="endpoint")
    if any(isinstance(each, PrivateAddress) for each in chain):
        return SourceError(
            f"{where}: the endpoint is in a private or reserved network.",
            field="endpoint",
        )
    if any(isinstance(each, NoCredentialsError | PartialCredentialsError) for each in chain):
        return AccessError(
            "This server has no AWS identity. Enter access keys, or ask the operator for a role."
        )
    answered = next((each for each in chain if isinstance(each, ClientError)), None)
    if answered is None:
        return SourceUnavailable(
            f"{where} could not be reached, or the connection broke: {type(error).__name__}."
        )
    return _explain_answer(
        answered.response, permission=permission, resource=resource, principal=principal, where=where
    )


def _explain_answer(
    response: Any, *, permission: str, resource: str, principal: str, where: str
) -> SourceError:
    code = str(response.get("Error", {}).get("Code", ""))
    meta = response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode") or 0)
    if code in _CONFLICT or status == 412:
        raise MonthConflict(f"{resource} changed after it was listed.")
    if code in _BUSY or status == 429 or status >= 500:
        busy = SourceUnavailable(f"{where} is overloaded or down: {truncate(code, 60) or status}.")
        busy.retry_after = _seconds(meta.get("HTTPHeaders", {}).get("retry-after"))
        return busy
    if code in _EXPIRED | _BAD_KEY:
        return _explain_key(code, principal, where)
    if code in _NO_BUCKET:
        return SourceError(
            f"{where}: the bucket does not exist. Check its name, region and endpoint.", field="bucket"
        )
    if code in _OTHER_REGION or status in (301, 302, 303, 307, 308):
        return SourceError(
            f"{where}: the bucket is in another region. Enter that region.",
            field="region",
        )
    if code == "RequestTimeTooSkewed":
        return SourceError("This server's clock differs from AWS by more than 15 minutes. Correct it.")
    if code in _DENIED or status in (401, 403):
        return AccessError(
            f"{principal[:1].upper()}{principal[1:]} is not allowed {permission} on {resource}."
        )
    return SourceError(f"{where} refused {permission} on {resource}: {truncate(code, 60) or status}.")


def _explain_key(code: str, principal: str, where: str) -> SourceError:
    if code not in _EXPIRED:
        return AccessError(
            f"{where} rejected {principal}: unknown, or with a wrong secret ({code}). Enter both again."
        )
    if principal.startswith("the role"):
        return SourceUnavailable(f"The session of {principal} expired. The next sync starts a new one.")
    return AccessError(f"The credentials of {principal} have expired. Enter new ones.")


def _seconds(text: str | None) -> float | None:
    """Return Retry-After in seconds; a date is ignored in favor of our own back-off."""
    try:
        return min(max(float(text or ""), 0.0), 86_400.0)
    except ValueError:
        return None
