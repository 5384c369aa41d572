"""SAML 2.0 as a service provider: a signed assertion for this request, used once. IdP-initiated sign-in is refused.
Imported where SAML is used: its library is an extra."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import xmlsec
from lxml import etree
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.constants import OneLogin_Saml2_Constants
from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from accounts.sso.claims import Claims, SignInRefusal, as_texts
from accounts.sso.models import IdentityProvider, SamlAssertion
from accounts.sso.saml_settings import acs_url, metadata_url
from finops.lib import clock
from finops.lib.errors import UserError

MAX_RESPONSE: Final = 512 * 1024
OneLogin_Saml2_Constants.ALLOWED_CLOCK_DRIFT = 60
_BROKEN: Final = (
    OneLogin_Saml2_Error,
    OneLogin_Saml2_ValidationError,
    etree.LxmlError,
    xmlsec.Error,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
)
"""Exceptions of the library for invalid XML."""
_EMAIL_NAMES: Final = (
    "email",
    "mail",
    "emailaddress",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "urn:oid:0.9.2342.19200300.100.1.3",
)
_NAME_NAMES: Final = (
    "name",
    "displayname",
    "http://schemas.microsoft.com/identity/claims/displayname",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
)

_METHODS_NAME: Final = "http://schemas.microsoft.com/claims/authnmethodsreferences"
_SECOND_FACTOR: Final = frozenset(
    [
        "https://refeds.org/profile/mfa",
        "http://schemas.microsoft.com/claims/multipleauthn",
        "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract",
        "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered",
    ]
)


def begin(provider: IdentityProvider, token: str) -> tuple[str, dict[str, str]]:
    """Return the URL for the redirect and the values to check the response with. `token` is the RelayState."""
    auth = OneLogin_Saml2_Auth(_request(provider), _settings(provider))
    url = auth.login(return_to=token)
    return str(url), {"request_id": str(auth.get_last_request_id())}


def finish(provider: IdentityProvider, response: str, state: dict[str, str]) -> Claims:
    """Return the claims of a response. Raises SignInRefusal for a response that fails a check or was used before."""
    if len(response) > MAX_RESPONSE:
        raise SignInRefusal("The SAML response is larger than 512 KiB.")
    auth = OneLogin_Saml2_Auth(_request(provider, response), _settings(provider))
    try:
        auth.process_response(request_id=state["request_id"])
        if auth.get_errors() or not auth.is_authenticated():
            raise SignInRefusal(f"The SAML response is not valid: {str(auth.get_last_error_reason())[:200]}")
        _check_signed_part(provider, auth, state["request_id"])
        claims = _as_claims(provider, auth)
    except _BROKEN as error:
        raise SignInRefusal("The SAML response cannot be read.") from error
    _use_once(provider, str(auth.get_last_assertion_id()))
    return claims


def service_metadata(provider: IdentityProvider) -> bytes:
    """Return the service provider's metadata for the identity provider."""
    return bytes(_saml_settings(provider).get_sp_metadata().encode())


def read_metadata(xml: str) -> dict[str, str]:
    """Return issuer, sign_on_url and certificates from a provider's metadata. Raises UserError."""
    try:
        values = OneLogin_Saml2_IdPMetadataParser.parse(xml.encode()).get("idp", {})
    except _BROKEN as error:
        raise UserError(
            "The metadata is no SAML metadata of an identity provider.", field="metadata"
        ) from error
    keys = values.get("x509certMulti", {}).get("signing", []) or [values.get("x509cert", "")]
    url = values.get("singleSignOnService", {}).get("url", "")
    if not (values.get("entityId") and url and any(keys)):
        raise UserError(
            "The metadata has no entity ID, HTTP-Redirect sign-on URL or signing certificate.",
            field="metadata",
        )
    return {
        "issuer": values["entityId"],
        "sign_on_url": url,
        "certificates": "\n".join(_as_pem(key) for key in keys),
    }


def _as_pem(key: str) -> str:
    text = "".join(key.split())
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----"])


def _certificates(provider: IdentityProvider) -> list[str]:
    parts = provider.certificates.split("-----BEGIN CERTIFICATE-----")[1:]
    return ["".join(part.split("-----END")[0].split()) for part in parts]


def _settings(provider: IdentityProvider) -> dict[str, Any]:
    return {
        "strict": True,
        "debug": False,
        "sp": {
            "entityId": metadata_url(provider),
            "assertionConsumerService": {
                "url": acs_url(provider),
                "binding": OneLogin_Saml2_Constants.BINDING_HTTP_POST,
            },
            "NameIDFormat": OneLogin_Saml2_Constants.NAMEID_UNSPECIFIED,
        },
        "idp": {
            "entityId": provider.issuer,
            "singleSignOnService": {
                "url": provider.sign_on_url,
                "binding": OneLogin_Saml2_Constants.BINDING_HTTP_REDIRECT,
            },
            "x509certMulti": {"signing": _certificates(provider)},
        },
        "security": {
            "wantAssertionsSigned": True,
            "wantAttributeStatement": False,
            "rejectDeprecatedAlgorithm": True,
            "requestedAuthnContext": False,
            "allowSingleLabelDomains": True,
            "signatureAlgorithm": OneLogin_Saml2_Constants.RSA_SHA256,
            "digestAlgorithm": OneLogin_Saml2_Constants.SHA256,
        },
    }


def _saml_settings(provider: IdentityProvider) -> OneLogin_Saml2_Settings:
    return OneLogin_Saml2_Settings(_settings(provider), sp_validation_only=True)


def _request(provider: IdentityProvider, response: str = "") -> dict[str, Any]:
    """Return the request in the library's form, with the host of PUBLIC_URL, never of the request."""
    parts = urlsplit(acs_url(provider))
    return {
        "https": "on" if parts.scheme == "https" else "off",
        "http_host": parts.netloc,
        "script_name": parts.path,
        "get_data": {},
        "post_data": {"SAMLResponse": response},
    }


def _check_signed_part(provider: IdentityProvider, auth: OneLogin_Saml2_Auth, request_id: str) -> None:
    """Check the signed assertion for what the library does not check: audience, request, recipient and expiry."""
    document = auth.get_last_response_xml()
    root = OneLogin_Saml2_XML.to_etree(document)
    names = OneLogin_Saml2_Constants.NSMAP
    audiences = root.xpath(
        "//saml:Assertion/saml:Conditions/saml:AudienceRestriction/saml:Audience/text()", namespaces=names
    )
    if metadata_url(provider) not in [text.strip() for text in audiences]:
        raise SignInRefusal(f"The assertion is not for {metadata_url(provider)}: check the audience there.")
    data = root.xpath(
        "//saml:Assertion/saml:Subject/saml:SubjectConfirmation/saml:SubjectConfirmationData",
        namespaces=names,
    )
    if len(data) != 1 or data[0].get("InResponseTo") != request_id:
        raise SignInRefusal("The assertion does not answer this sign-in. Start again from the console.")
    if data[0].get("Recipient") != acs_url(provider) or not data[0].get("NotOnOrAfter"):
        raise SignInRefusal(f"The assertion's recipient must be {acs_url(provider)}, with an expiry.")


def _as_claims(provider: IdentityProvider, auth: OneLogin_Saml2_Auth) -> Claims:
    attributes = {str(name): values for name, values in auth.get_attributes().items()}
    by_fold = {name.casefold(): as_texts(values) for name, values in attributes.items()}
    subject = str(auth.get_nameid() or "")
    if str(auth.get_nameid_format()).endswith(":transient"):
        raise SignInRefusal("The NameID is transient. Choose a persistent one at the provider.")
    emails = next((by_fold[name] for name in _EMAIL_NAMES if by_fold.get(name)), [])
    if not emails and "@" in subject:
        emails = [subject]
    names = next((by_fold[name] for name in _NAME_NAMES if by_fold.get(name)), [])
    return Claims(
        subject=subject,
        email=emails[0] if emails else "",
        email_verified=None,
        name=names[0] if names else "",
        groups=by_fold.get(provider.groups_attribute.casefold(), []),
        has_second_factor=any(text in _SECOND_FACTOR for text in _methods(auth, by_fold)),
    )


def _methods(auth: OneLogin_Saml2_Auth, by_fold: dict[str, list[str]]) -> list[str]:
    """Return the authentication methods: the assertion's AuthnContext, and Entra ID's attribute."""
    return [*map(str, auth.get_last_authn_contexts()), *by_fold.get(_METHODS_NAME, [])]


def _use_once(provider: IdentityProvider, assertion_id: str) -> None:
    """Refuse an assertion that was used before. A request is answered once, so this is a second check. Rows are
    deleted after the assertion expires."""
    ends = clock.now() + timedelta(days=1)
    if not SamlAssertion.use_once(provider=provider, identifier=assertion_id, expires_at=ends):
        raise SignInRefusal("This SAML assertion was already used. Start again.")
