"""URLs of the authorization server, at the root of the site. No other URL of django-oauth-toolkit is served."""

from __future__ import annotations

from django.urls import path

from accounts.oauth import endpoints, metadata, registration
from accounts.oauth.authorize import AuthorizeView

urlpatterns = [
    path("oauth/authorize", AuthorizeView.as_view(), name="oauth_authorize"),
    path("oauth/token", endpoints.token, name="oauth_token"),
    path("oauth/register", registration.register, name="oauth_register"),
    path("oauth/revoke", endpoints.revoke, name="oauth_revoke"),
    path(
        ".well-known/oauth-authorization-server", metadata.authorization_server, name="oauth_server_metadata"
    ),
    path(
        ".well-known/oauth-protected-resource",
        metadata.protected_resource,
        name="oauth_resource_metadata_root",
    ),
    path(
        ".well-known/oauth-protected-resource/api/mcp",
        metadata.protected_resource,
        name="oauth_resource_metadata",
    ),
]
