"""People, the accounts they work in, and their roles there."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import DEFAULT_DB_ALIAS, models
from django.db.models.functions import Lower

from finops.lib import clock


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.full_clean(exclude=["password"])
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username or "")


class Theme(models.TextChoices):
    """The theme of pages."""

    SYSTEM = "", "Same as your system"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class User(AbstractBaseUser, PermissionsMixin):  # type: ignore[django-manager-missing]  # django-oauth-toolkit is untyped
    """A person, who signs in by email and may belong to several accounts."""

    email = models.EmailField("email", max_length=254)
    name = models.CharField(max_length=150, blank=True)
    locale = models.CharField(
        max_length=10, blank=True, help_text="Format of dates and numbers; blank: en-US."
    )
    time_zone = models.CharField(max_length=64, blank=True, help_text="IANA name; blank: UTC.")
    theme = models.CharField(max_length=5, blank=True, choices=Theme.choices, default=Theme.SYSTEM)
    is_staff = models.BooleanField(
        default=False, help_text="Can open the admin console; superusers can also make changes there."
    )
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=clock.now)
    devices_forgotten_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When the browsers of earlier sign-ins became unknown (accounts.security.known_devices).",
    )

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="user_email_unique",
                violation_error_message="This email is already in use.",
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def label(self) -> str:
        return self.name or self.email


class Role(models.TextChoices):
    """The permissions of an account's member; each role includes those before it."""

    VIEWER = "viewer", "Viewer"
    MEMBER = "member", "Member"
    ADMIN = "admin", "Admin"
    OWNER = "owner", "Owner"

    def at_least(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)

    @classmethod
    def below_owner(cls) -> list[tuple[str, str]]:
        """Return the choices in invitations and the list of members: ownership is transferred instead."""
        return [choice for choice in cls.choices if choice[0] != cls.OWNER]


class Account(models.Model):
    """The tenant: all other data belongs to an account."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(
        max_length=60, unique=True, error_messages={"unique": "Another account already has this address."}
    )
    fiscal_start_month = models.PositiveSmallIntegerField(default=1)
    holiday_country = models.CharField(
        max_length=2, blank=True, help_text=("ISO 3166 country of public holidays in forecasts; blank: none.")
    )
    second_factor_required = models.BooleanField(
        default=False, help_text="Members without a second factor can only set one up."
    )
    second_factor_required_at = models.DateTimeField(null=True, blank=True, editable=False)
    second_factor_grace_days = models.PositiveSmallIntegerField(
        default=0, help_text="Days to set one up, from the start of the requirement or from joining."
    )
    session_max_hours = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="Maximum age of a session in hours; blank: no limit.",
    )
    session_idle_minutes = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Maximum idle time of a session in minutes; blank: no limit."
    )
    display_currency = models.CharField(
        max_length=3,
        blank=True,
        help_text="ISO 4217 code of the currency that amounts are converted to; blank: no conversion.",
    )
    currencies: models.JSONField[list[str], list[str]] = models.JSONField(
        default=list,
        blank=True,
        editable=False,
        help_text="Currencies of the cost lines, largest amount first.",
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    delete_after = models.DateTimeField(
        null=True,
        blank=True,
        db_index=True,
        editable=False,
        help_text="Scheduled time of the account's deletion.",
    )
    suspended_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Set by an operator: blocks sign-in and tasks until it is resumed; data is kept.",
    )
    limits: models.JSONField[dict[str, int], dict[str, int]] = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="Limits set by an operator, by name.",
    )
    transfer_to = models.ForeignKey(
        User, null=True, blank=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )

    has_limited_readers: bool | None = None
    """Whether a reader of the account has a limit (`reader_limits.py`), read by the check of a credential; None: not read."""

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(fiscal_start_month__range=(1, 12)),
                name="account_fiscal_start_month_is_a_month",
                violation_error_message="The fiscal year starts in a month from 1 to 12.",
            ),
            models.CheckConstraint(
                condition=models.Func(
                    models.F("limits"),
                    template="""NOT jsonb_path_exists(%(expressions)s, 'strict $.* ? (@.type() <> "number" || @ < 0)')""",
                    output_field=models.BooleanField(),
                ),
                name="account_limits_are_numbers",
                violation_error_message="Limits of an account are numbers from 0 on.",
            ),
            models.CheckConstraint(
                condition=models.Q(second_factor_grace_days__lte=90),
                name="account_grace_is_at_most_90_days",
                violation_error_message="The grace period is 90 days at most.",
            ),
            models.CheckConstraint(
                condition=models.Q(second_factor_required=False)
                | models.Q(second_factor_required_at__isnull=False),
                name="account_second_factor_has_a_start",
            ),
            models.CheckConstraint(
                condition=models.Q(session_max_hours=None) | models.Q(session_max_hours__range=(1, 336)),
                name="account_session_age_is_possible",
                violation_error_message="A session lasts 1 to 336 hours (14 days).",
            ),
            models.CheckConstraint(
                condition=models.Q(session_idle_minutes=None)
                | models.Q(session_idle_minutes__range=(5, 20_160)),
                name="account_session_idle_time_is_possible",
                violation_error_message="The idle time is 5 to 20,160 minutes (14 days).",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def with_columns(cls, **values: Any) -> Account:
        """Return a stored account of which a statement read only these columns. Any other column costs a query on
        first access, where `Account(…)` would have the default of a new account."""
        names = [field.attname for field in cls._meta.concrete_fields if field.attname in values]
        return cls.from_db(DEFAULT_DB_ALIAS, names, [values[name] for name in names])

    @property
    def owner(self) -> User | None:
        """The account's owner. One query."""
        return User.objects.filter(memberships__account=self, memberships__role=Role.OWNER).first()


class Membership(models.Model):
    """The membership of a person in an account, with a role."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    first_steps_dismissed_at = models.DateTimeField(null=True, blank=True, editable=False)

    visit_until: datetime | None = None
    """The end of an operator's visit, which is a membership without a row (accounts/security/visits.py)."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "user"],
                name="membership_once_per_person",
                violation_error_message="This person is already a member.",
            ),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_is_known"),
            models.UniqueConstraint(
                fields=["account"],
                condition=models.Q(role=Role.OWNER),
                name="membership_one_owner",
                violation_error_message="An account has one owner.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.account_id} as {self.role}"

    def may(self, role: Role) -> bool:
        return Role(self.role).at_least(role)
