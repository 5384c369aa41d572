"""Pages before an account is chosen, settings pages below `/a/<slug>/`, and a person's own pages besides allauth's."""

from __future__ import annotations

from django.urls import path

from accounts.security import views as own_views
from accounts.views import (
    accounts,
    audit,
    connected_apps,
    first_steps,
    glossary,
    invitations,
    keys,
    members,
    ownership,
    profile,
    security,
    service_accounts,
)

urlpatterns = [
    path("new/", accounts.create, name="account_create"),
    path("invitations/<str:token>/", invitations.show, name="invitation"),
    path("invitations/<str:token>/accept/", invitations.accept, name="invitation_accept"),
    path("invitations/<str:token>/decline/", invitations.decline, name="invitation_decline"),
]

own_urlpatterns = [
    path("profile/", profile.profile, name="profile"),
    path("sessions/", own_views.sessions, name="sessions"),
    path("sessions/end/", own_views.end, name="session_end"),
    path("security-log/", own_views.log, name="security_log"),
]

account_urlpatterns = [
    path("first-steps/dismiss/", first_steps.dismiss, name="first_steps_dismiss"),
    path("settings/mcp-keys/", keys.index, name="mcp_keys"),
    path("settings/mcp-keys/new/", keys.new, name="mcp_key_new"),
    path("settings/mcp-keys/<int:key_id>/revoke/", keys.revoke, name="mcp_key_revoke"),
    path("settings/connected-apps/", connected_apps.index, name="connected_apps"),
    path(
        "settings/connected-apps/<int:connection_id>/disconnect/",
        connected_apps.end,
        name="connected_app_end",
    ),
    path("settings/service-accounts/", service_accounts.index, name="service_accounts"),
    path("settings/service-accounts/new/", service_accounts.new, name="service_account_new"),
    path(
        "settings/service-accounts/<int:service_account_id>/rotate/",
        service_accounts.rotate,
        name="service_account_rotate",
    ),
    path(
        "settings/service-accounts/<int:service_account_id>/key/",
        service_accounts.key,
        name="service_account_key",
    ),
    path(
        "settings/service-accounts/<int:service_account_id>/delete/",
        service_accounts.delete,
        name="service_account_delete",
    ),
    path("settings/members/", members.index, name="members"),
    path("settings/members/invite/", members.invite, name="member_invite"),
    path(
        "settings/invitations/<int:invitation_id>/resend/",
        members.resend,
        name="invitation_resend",
    ),
    path(
        "settings/invitations/<int:invitation_id>/withdraw/",
        members.withdraw,
        name="invitation_withdraw",
    ),
    path("settings/members/<int:membership_id>/role/", members.change, name="member_change"),
    path("settings/members/<int:membership_id>/remove/", members.remove, name="member_remove"),
    path("settings/account/", accounts.settings, name="account_settings"),
    path("settings/account/delete/", ownership.delete, name="account_delete"),
    path("settings/account/restore/", ownership.restore, name="account_restore"),
    path("settings/account/transfer/", ownership.transfer, name="ownership_transfer"),
    path("settings/account/transfer/withdraw/", ownership.withdraw, name="ownership_withdraw"),
    path("settings/account/transfer/accept/", ownership.accept, name="ownership_accept"),
    path("settings/account/transfer/decline/", ownership.decline, name="ownership_decline"),
    path("settings/glossary/", glossary.index, name="glossary"),
    path("settings/security/", security.index, name="account_security"),
    path("settings/audit-log/", audit.index, name="audit_log"),
]
