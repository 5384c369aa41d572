"""The operators' console. Operators see every account; what must not be changed by hand is read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from accounts.models import Account, AuditEntry, MCPKey, Membership, OAuthConnection, SecurityEvent, User

# Generic for the type checker alone.
if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """To look at. Changes go through the services, which validate and audit."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class AccountOwnedAdmin(ReadOnlyAdmin):
    """Rows of all accounts."""

    list_filter = ("account",)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        rows: models.QuerySet[Any] = self.model.objects.unscoped()  # operators look over all accounts
        return rows.select_related("account")


@admin.register(User)
class UserAdmin(ModelAdmin):
    list_display = ("email", "name", "is_active", "is_staff", "date_joined", "last_login")
    search_fields = ("email", "name")
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "groups", "date_joined", "last_login")
    readonly_fields = ("date_joined", "last_login")


@admin.register(Account)
class AccountAdmin(ModelAdmin):
    list_display = ("name", "slug", "fiscal_start_month", "created_at")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(ModelAdmin):
    list_display = ("account", "user", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("account", "user")


@admin.register(MCPKey)
class MCPKeyAdmin(AccountOwnedAdmin):
    list_display = ("name", "account", "scope", "masked_key", "created_at", "last_used_at", "revoked_at")
    exclude = ("digest",)


@admin.register(AuditEntry)
class AuditEntryAdmin(AccountOwnedAdmin):
    list_display = ("at", "account", "actor_label", "action", "target")


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "user", "kind", "address", "client")
    list_filter = ("kind",)
    list_select_related = ("user",)
    search_fields = ("user__email", "address")


@admin.register(OAuthConnection)
class OAuthConnectionAdmin(AccountOwnedAdmin):
    list_display = ("application", "account", "user", "access", "created_at", "last_used_at")
    list_select_related = ("application", "account", "user")


class OAuthClientAdmin(ReadOnlyAdmin):
    """django-oauth-toolkit registers it. Deleting a client that deceives people ends its connections."""

    list_display = ("client_id", "name", "registration_source", "client_type", "created", "last_consent_at")
    list_filter = ("registration_source",)
    search_fields = ("client_id", "name")
    exclude = ("client_secret",)
    view_on_site = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its codes and tokens go with it, though nobody deletes one of those by hand."""
        to_delete, counts, _perms_needed, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected


class OAuthIssuedAdmin(ReadOnlyAdmin):
    """Codes and tokens, registered by django-oauth-toolkit: when and for whom, nothing of the secret's hash."""

    list_display = ("id", "user", "application", "created")
    list_select_related = ("user", "application")
    exclude = ("code", "code_challenge", "token", "token_checksum", "replay_salt")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """All of them, in place of a form: its choices would ask for rows of an account, and none is in scope."""
        return [field.name for field in self.model._meta.fields if field.name not in self.exclude]
