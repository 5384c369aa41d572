"""URLs of sign-in through providers below `/auth/sso/`, and of Settings → Single sign-on below `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from accounts.sso.views import clients, domains, groups, providers, scim, sign_in

own_urlpatterns = [
    path("sso/", sign_in.start, name="sso_start"),
    path("sso/callback/", sign_in.callback, name="sso_callback"),
    path("sso/callback/<uuid:public_id>/", sign_in.callback, name="sso_callback_of"),
    path("sso/saml/complete/", sign_in.saml_complete, name="sso_saml_complete"),
    path("sso/saml/<uuid:public_id>/acs/", sign_in.saml_acs, name="sso_saml_acs"),
    path("sso/saml/<uuid:public_id>/metadata/", sign_in.saml_metadata, name="sso_saml_metadata"),
]

_PROVIDER = "settings/sign-on/<int:provider_id>/"

account_urlpatterns = [
    path("settings/sign-on/", providers.index, name="identity_providers"),
    path("settings/sign-on/new/oidc/", providers.new_oidc, name="identity_provider_new_oidc"),
    path("settings/sign-on/new/saml/", providers.new_saml, name="identity_provider_new_saml"),
    path("settings/sign-on/groups/add/", groups.add, name="group_mapping_add"),
    path(
        "settings/sign-on/groups/<int:group_mapping_id>/remove/", groups.remove, name="group_mapping_remove"
    ),
    path(_PROVIDER, providers.show, name="identity_provider"),
    path(f"{_PROVIDER}edit/", providers.edit, name="identity_provider_edit"),
    path(f"{_PROVIDER}test/", providers.test, name="identity_provider_test"),
    path(f"{_PROVIDER}enforce/", providers.enforce, name="identity_provider_enforce"),
    path(f"{_PROVIDER}delete/", providers.delete, name="identity_provider_delete"),
    path(f"{_PROVIDER}scim/create/", scim.create, name="scim_token_create"),
    path("settings/sign-on/scim/<int:scim_token_id>/revoke/", scim.revoke, name="scim_token_revoke"),
    path(f"{_PROVIDER}clients/add/", clients.add, name="assertion_client_add"),
    path(
        "settings/sign-on/clients/<int:assertion_client_id>/remove/",
        clients.remove,
        name="assertion_client_remove",
    ),
    path(f"{_PROVIDER}domains/add/", domains.add, name="email_domain_add"),
    path("settings/sign-on/domains/<int:domain_id>/verify/", domains.verify, name="email_domain_verify"),
    path("settings/sign-on/domains/<int:domain_id>/remove/", domains.remove, name="email_domain_remove"),
]
