-- Written by tests/test_database_schema.py.
-- postgresql 18
-- migration account 0001_initial
-- migration account 0002_email_max_length
-- migration account 0003_alter_emailaddress_create_unique_verified_email
-- migration account 0004_alter_emailaddress_drop_unique_email
-- migration account 0005_emailaddress_idx_upper_email
-- migration account 0006_emailaddress_lower
-- migration account 0007_emailaddress_idx_email
-- migration account 0008_emailaddress_unique_primary_email_fixup
-- migration account 0009_emailaddress_unique_primary_email
-- migration accounts 0001_initial
-- migration accounts 0002_glossaryterm
-- migration accounts 0003_oauth_connection
-- migration accounts 0004_account_holiday_country
-- migration accounts 0005_invitation
-- migration accounts 0006_security_log
-- migration accounts 0007_unsent_mail
-- migration accounts 0008_ownership
-- migration accounts 0009_one_owner
-- migration accounts 0010_failed_sign_in_of_nobody
-- migration accounts 0011_offer_of_owner
-- migration accounts 0012_clock_of_defaults
-- migration accounts 0013_profile
-- migration accounts 0014_display_currency
-- migration accounts 0015_wording
-- migration accounts 0016_first_steps
-- migration accounts 0017_suspension
-- migration accounts 0018_account_limits
-- migration accounts 0019_account_deletion
-- migration accounts 0020_session_policy
-- migration accounts 0021_session_policy_rules
-- migration accounts 0022_service_accounts
-- migration accounts 0023_limits_are_numbers
-- migration accounts 0024_service_account_keys
-- migration accounts 0025_known_devices
-- migration activity 0001_initial
-- migration activity 0002_wording
-- migration activity 0003_api_calls
-- migration activity 0004_resource_reads
-- migration activity 0005_ceilings
-- migration admin 0001_initial
-- migration admin 0002_logentry_remove_auto_add
-- migration admin 0003_logentry_add_action_flag_choices
-- migration ai_spend 0001_ai_prices
-- migration alerts 0001_initial
-- migration alerts 0002_evaluation
-- migration alerts 0003_evaluation_asks
-- migration alerts 0004_import_trigger
-- migration alerts 0005_recipient
-- migration alerts 0006_clock_of_defaults
-- migration alerts 0007_source_trigger
-- migration alerts 0008_wording
-- migration alerts 0009_saved_views_and_unit_costs
-- migration alerts 0010_event_subscriptions
-- migration allocation 0001_initial
-- migration allocation 0002_costtag_changed_by
-- migration allocation 0003_clock_of_defaults
-- migration allocation 0004_wording
-- migration allocation 0005_wording_of_views
-- migration audit_webhooks 0001_initial
-- migration audit_webhooks 0002_entries_without_cascade
-- migration auth 0001_initial
-- migration auth 0002_alter_permission_name_max_length
-- migration auth 0003_alter_user_email_max_length
-- migration auth 0004_alter_user_username_opts
-- migration auth 0005_alter_user_last_login_null
-- migration auth 0006_require_contenttypes_0002
-- migration auth 0007_alter_validators_add_error_messages
-- migration auth 0008_alter_user_username_max_length
-- migration auth 0009_alter_user_last_name_max_length
-- migration auth 0010_alter_group_name_max_length
-- migration auth 0011_update_proxy_permissions
-- migration auth 0012_alter_user_first_name_max_length
-- migration backup 0001_backup_run
-- migration budgets 0001_initial
-- migration budgets 0002_clock_of_defaults
-- migration budgets 0003_wording
-- migration change_events 0001_initial
-- migration change_events 0002_pull_sources
-- migration change_events 0003_note_author
-- migration change_events 0004_retention
-- migration connections 0001_initial
-- migration connections 0002_cost_pushes
-- migration connections 0003_part_content_hash
-- migration connections 0004_usage_sources
-- migration connections 0005_event_sources
-- migration contenttypes 0001_initial
-- migration contenttypes 0002_remove_content_type_name
-- migration cost_access 0001_initial
-- migration cost_access 0002_invitations
-- migration cost_access 0003_providers
-- migration cost_access 0004_former_members
-- migration cost_access 0005_creations
-- migration cost_access 0006_narrow_creations
-- migration costs 0001_initial
-- migration costs 0002_source_completeness
-- migration costs 0003_import_review
-- migration costs 0004_import_formats
-- migration costs 0005_content_hashes
-- migration costs 0006_planning_basis
-- migration costs 0007_source_overlaps
-- migration costs 0008_invoices
-- migration costs 0009_closed_months
-- migration costs 0010_content_hash_help
-- migration costs 0011_overlap_dismissed
-- migration costs 0012_cancel_requested
-- migration costs 0013_clock_of_defaults
-- migration costs 0014_column_mapping
-- migration costs 0015_overlap_kind
-- migration costs 0016_saved_view
-- migration costs 0017_wording
-- migration costs 0018_wording_of_views
-- migration costs 0019_wording_of_own_views
-- migration costs 0020_import_parts
-- migration dashboards 0001_initial
-- migration dashboards 0002_clock_of_defaults
-- migration dashboards 0003_wording
-- migration data_exports 0001_initial
-- migration data_exports 0002_canceled_runs
-- migration exchange_rates 0001_initial
-- migration exports 0001_initial
-- migration exports 0002_canceled_exports
-- migration ingestion 0001_initial
-- migration ingestion 0002_ledger
-- migration ingestion 0003_event_ids
-- migration ingestion 0004_event_ids_of_a_batch
-- migration ingestion 0005_uploads
-- migration ingestion 0006_rounded_of_an_upload
-- migration ingestion 0007_dimension_keys
-- migration ingestion 0008_cancel_requested
-- migration ingestion 0009_upsert_customers_and_metrics
-- migration ingestion 0010_chunks_of_an_upload
-- migration ingestion 0011_wording
-- migration ingestion 0012_customer_attribute
-- migration ingestion 0013_usage_days
-- migration ingestion 0014_store_event_ids
-- migration ingestion 0015_claim_new_ids
-- migration ingestion 0016_keys_of_sources
-- migration ingestion 0017_remarks_and_event_id_field
-- migration insights 0001_initial
-- migration insights 0002_anomaly_asks
-- migration insights 0003_savings
-- migration insights 0004_imported_saving
-- migration insights 0005_anomaly_incidents
-- migration insights 0006_clock_of_defaults
-- migration insights 0007_recommendations_of_clouds
-- migration insights 0008_wording
-- migration insights 0009_incidents
-- migration insights 0010_reviews_of_incidents
-- migration insights 0011_derived_event_run
-- migration insights 0012_detection_parts
-- migration issues 0001_initial
-- migration issues 0002_wording
-- migration lake 0001_initial
-- migration lake 0002_usage_inbox
-- migration lake 0003_usage_flush_trouble
-- migration lake 0004_inbox_of_pushes
-- migration lake 0005_cost_summaries
-- migration lake 0006_carried_by
-- migration lake 0007_rename_lakesummary_lakerollup
-- migration lake 0008_wording_of_views
-- migration lake 0009_magnitudes
-- migration mfa 0001_initial
-- migration mfa 0002_authenticator_timestamps
-- migration mfa 0003_authenticator_type_uniq
-- migration notifications 0001_initial
-- migration notifications 0002_longer_paths
-- migration notifications 0003_alter_notification_kind
-- migration notifications 0004_admins_only
-- migration notifications 0005_currency
-- migration oauth2_provider 0001_initial
-- migration oauth2_provider 0002_auto_20190406_1805
-- migration oauth2_provider 0003_auto_20201211_1314
-- migration oauth2_provider 0004_auto_20200902_2022
-- migration oauth2_provider 0005_auto_20211222_2352
-- migration oauth2_provider 0006_alter_application_client_secret
-- migration oauth2_provider 0007_application_post_logout_redirect_uris
-- migration oauth2_provider 0008_alter_accesstoken_token
-- migration oauth2_provider 0009_add_hash_client_secret
-- migration oauth2_provider 0010_application_allowed_origins
-- migration oauth2_provider 0011_refreshtoken_token_family
-- migration oauth2_provider 0012_add_token_checksum
-- migration oauth2_provider 0013_alter_application_authorization_grant_type_device
-- migration oauth2_provider 0014_alter_help_text
-- migration oauth2_provider 0015_refreshtoken_token_checksum
-- migration oauth2_provider 0016_alter_devicegrant_scope
-- migration oauth2_provider 0017_application_dcr_created
-- migration oauth2_provider 0018_resource_indicators
-- migration oauth2_provider 0019_application_registration_source
-- migration oauth2_provider 0020_cimd_application_fields
-- migration oauth2_provider 0021_translatable_field_labels
-- migration oauth2_provider 0022_refreshtoken_token_family_index
-- migration receipts 0001_initial
-- migration receipts 0002_ceilings
-- migration reports 0001_initial
-- migration reports 0002_send_time_and_format
-- migration sso 0001_initial
-- migration sso 0002_one_enforced
-- migration sso 0003_scim
-- migration sso 0004_factor_claim
-- migration sso 0005_disabled_provider
-- migration sso 0006_own_redirect_uri
-- migration sso 0007_assertion_clients
-- migration sso 0008_assertion_client_account
-- migration unitcosts 0001_initial
-- migration unitcosts 0002_unitmetric
-- migration unitcosts 0003_unit_metric_scale
-- migration unitcosts 0004_usage_filters
-- migration unitcosts 0005_clock_of_defaults
-- migration unitcosts 0006_wording
CREATE FUNCTION public.ingestion_claim_new_ids(of_account bigint, of_batch uuid, digests uuid[], contents uuid[], idempotency_key text, body_digest bytea, answer bytea, headers jsonb, received_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF idempotency_key IS NOT NULL THEN
        INSERT INTO ingestion_pushanswer (account_id, key, body_digest, status, answer, headers, created_at)
        VALUES (of_account, idempotency_key, body_digest, 200, answer, headers, received_at);
    END IF;
    INSERT INTO ingestion_usageeventid (account_id, digest, content, batch, received_on)
    SELECT of_account, given.digest, given.content, of_batch, (received_at AT TIME ZONE 'UTC')::date
      FROM unnest(digests, contents) AS given(digest, content);
    RETURN true;
EXCEPTION WHEN unique_violation THEN
    RETURN false;
END
$$;
CREATE FUNCTION public.ingestion_store_event_ids(of_account bigint, digests uuid[], contents uuid[], of_batch uuid, today date) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    stored bigint;
BEGIN
    BEGIN
        INSERT INTO ingestion_usageeventid (account_id, digest, content, batch, received_on)
        SELECT of_account, given.digest, given.content, of_batch, today
          FROM unnest(digests, contents) AS given(digest, content);
    EXCEPTION WHEN unique_violation THEN
        INSERT INTO ingestion_usageeventid (account_id, digest, content, batch, received_on)
        SELECT of_account, given.digest, given.content, of_batch, today
          FROM unnest(digests, contents) AS given(digest, content)
        ON CONFLICT DO NOTHING;
    END;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN stored;
END
$$;
CREATE FUNCTION public.ingestion_upsert_customers_and_metrics(of_account bigint, customer_names json, metric_names text[], seen_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_material TO 'off'
    AS $$
BEGIN
    WITH given AS MATERIALIZED (SELECT key AS id, value AS name FROM json_each_text(customer_names)),
    metrics AS (
        INSERT INTO ingestion_usagemetric (account_id, name, label, aggregation, first_seen_at)
        SELECT of_account, given.name, '', 'sum', seen_at
          FROM unnest(metric_names) AS given(name)
         WHERE NOT EXISTS (
                   SELECT FROM ingestion_usagemetric stored
                    WHERE stored.account_id = of_account AND stored.name = given.name)
         ORDER BY given.name COLLATE "C"
        ON CONFLICT (account_id, name) DO NOTHING
    )
    INSERT INTO ingestion_customer AS existing (account_id, customer_id, name, first_seen_at)
    SELECT of_account, given.id, coalesce(given.name, ''), seen_at
      FROM given
      LEFT JOIN ingestion_customer stored ON stored.account_id = of_account AND stored.customer_id = given.id
     WHERE stored.id IS NULL OR stored.name <> given.name
     ORDER BY given.id COLLATE "C"
    ON CONFLICT (account_id, customer_id) DO UPDATE SET name = EXCLUDED.name
     WHERE existing.name <> EXCLUDED.name
       AND existing.customer_id IN (SELECT given.id FROM given WHERE given.name IS NOT NULL);
END
$$;
CREATE TABLE public.account_emailaddress (
    id integer NOT NULL,
    email character varying(254) NOT NULL,
    verified boolean NOT NULL,
    "primary" boolean NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.account_emailaddress ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailaddress_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.account_emailconfirmation (
    id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    sent timestamp with time zone,
    key character varying(64) NOT NULL,
    email_address_id integer NOT NULL
);
ALTER TABLE public.account_emailconfirmation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailconfirmation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_account (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    slug character varying(60) NOT NULL,
    fiscal_start_month smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    holiday_country character varying(2) NOT NULL,
    second_factor_required boolean NOT NULL,
    delete_after timestamp with time zone,
    transfer_to_id bigint,
    currencies jsonb NOT NULL,
    display_currency character varying(3) NOT NULL,
    suspended_at timestamp with time zone,
    limits jsonb NOT NULL,
    second_factor_grace_days smallint NOT NULL,
    second_factor_required_at timestamp with time zone,
    session_idle_minutes smallint,
    session_max_hours smallint,
    CONSTRAINT account_fiscal_start_month_is_a_month CHECK (((fiscal_start_month >= 1) AND (fiscal_start_month <= 12))),
    CONSTRAINT account_grace_is_at_most_90_days CHECK ((second_factor_grace_days <= 90)),
    CONSTRAINT account_limits_are_numbers CHECK ((NOT jsonb_path_exists(limits, 'strict $.*?(@.type() != "number" || @ < 0)'::jsonpath))),
    CONSTRAINT account_second_factor_has_a_start CHECK (((NOT second_factor_required) OR (second_factor_required_at IS NOT NULL))),
    CONSTRAINT account_session_age_is_possible CHECK (((session_max_hours IS NULL) OR ((session_max_hours >= 1) AND (session_max_hours <= 336)))),
    CONSTRAINT account_session_idle_time_is_possible CHECK (((session_idle_minutes IS NULL) OR ((session_idle_minutes >= 5) AND (session_idle_minutes <= 20160)))),
    CONSTRAINT accounts_account_fiscal_start_month_check CHECK ((fiscal_start_month >= 0)),
    CONSTRAINT accounts_account_second_factor_grace_days_check CHECK ((second_factor_grace_days >= 0)),
    CONSTRAINT accounts_account_session_idle_minutes_check CHECK ((session_idle_minutes >= 0)),
    CONSTRAINT accounts_account_session_max_hours_check CHECK ((session_max_hours >= 0))
);
ALTER TABLE public.accounts_account ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_account_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_accountdeletion (
    id bigint NOT NULL,
    account_number bigint NOT NULL,
    name character varying(100) NOT NULL,
    actor_label character varying(254) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    rows_total bigint NOT NULL,
    rows_deleted bigint NOT NULL,
    files_deleted bigint NOT NULL,
    files_left bigint,
    rows_before jsonb NOT NULL,
    rows_left jsonb NOT NULL
);
ALTER TABLE public.accounts_accountdeletion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_accountdeletion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_auditentry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor_label character varying(254) NOT NULL,
    action character varying(60) NOT NULL,
    target character varying(254) NOT NULL,
    detail jsonb NOT NULL,
    account_id bigint NOT NULL,
    actor_user_id bigint
);
ALTER TABLE public.accounts_auditentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_auditentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_clientassertion (
    id bigint NOT NULL,
    assertion_digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    application_id bigint NOT NULL
);
ALTER TABLE public.accounts_clientassertion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_clientassertion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_glossaryterm (
    id bigint NOT NULL,
    term character varying(60) NOT NULL,
    meaning character varying(300) NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT glossary_term_says_something CHECK (((NOT ((term)::text = ''::text)) AND (NOT ((meaning)::text = ''::text))))
);
ALTER TABLE public.accounts_glossaryterm ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_glossaryterm_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_invitation (
    id bigint NOT NULL,
    email character varying(254) NOT NULL,
    role character varying(10) NOT NULL,
    digest bytea,
    invited_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    send_after timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    attempts smallint NOT NULL,
    accepted_at timestamp with time zone,
    declined_at timestamp with time zone,
    withdrawn_at timestamp with time zone,
    account_id bigint NOT NULL,
    invited_by_id bigint,
    CONSTRAINT accounts_invitation_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT invitation_email_in_lower_case CHECK (((email)::text = lower((email)::text))),
    CONSTRAINT invitation_ends_once CHECK ((((accepted_at IS NULL) AND (declined_at IS NULL)) OR ((accepted_at IS NULL) AND (withdrawn_at IS NULL)) OR ((declined_at IS NULL) AND (withdrawn_at IS NULL)))),
    CONSTRAINT invitation_role_is_known CHECK (((role)::text = ANY (ARRAY[('viewer'::character varying)::text, ('member'::character varying)::text, ('admin'::character varying)::text])))
);
ALTER TABLE public.accounts_invitation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_invitation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_mcpkey (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    scope character varying(10) NOT NULL,
    lookup character varying(12) NOT NULL,
    digest bytea NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    last_client character varying(120) NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT mcp_key_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT mcp_key_scope_is_known CHECK (((scope)::text = ANY (ARRAY[('read'::character varying)::text, ('read_write'::character varying)::text])))
);
ALTER TABLE public.accounts_mcpkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_mcpkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_membership (
    id bigint NOT NULL,
    role character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    user_id bigint NOT NULL,
    first_steps_dismissed_at timestamp with time zone,
    CONSTRAINT membership_role_is_known CHECK (((role)::text = ANY (ARRAY[('viewer'::character varying)::text, ('member'::character varying)::text, ('admin'::character varying)::text, ('owner'::character varying)::text])))
);
ALTER TABLE public.accounts_membership ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_membership_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthaccesstoken (
    id bigint NOT NULL,
    token text NOT NULL,
    token_checksum character varying(64) NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    resource jsonb NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    user_id bigint,
    application_id bigint,
    id_token_id bigint,
    source_refresh_token_id bigint,
    connection_id bigint NOT NULL
);
ALTER TABLE public.accounts_oauthaccesstoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthaccesstoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthapplication (
    id bigint NOT NULL,
    client_id character varying(255) NOT NULL,
    redirect_uris text NOT NULL,
    post_logout_redirect_uris text NOT NULL,
    client_type character varying(32) NOT NULL,
    authorization_grant_type character varying(44) NOT NULL,
    client_secret character varying(255) NOT NULL,
    hash_client_secret boolean NOT NULL,
    name character varying(255) NOT NULL,
    skip_authorization boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    algorithm character varying(5) NOT NULL,
    allowed_origins text NOT NULL,
    registration_source character varying(32) NOT NULL,
    cimd_expires_at timestamp with time zone,
    user_id bigint,
    fingerprint character varying(64) NOT NULL,
    last_consent_at timestamp with time zone
);
ALTER TABLE public.accounts_oauthapplication ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthapplication_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthconnection (
    id bigint NOT NULL,
    access character varying(10) NOT NULL,
    redirect_uri text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    last_client character varying(120) NOT NULL,
    account_id bigint NOT NULL,
    application_id bigint NOT NULL,
    user_id bigint,
    session_had_factor boolean NOT NULL,
    CONSTRAINT oauth_connection_access_is_known CHECK (((access)::text = ANY (ARRAY[('read'::character varying)::text, ('read_write'::character varying)::text])))
);
ALTER TABLE public.accounts_oauthconnection ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthconnection_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthdevicegrant (
    id bigint NOT NULL,
    device_code character varying(100) NOT NULL,
    user_code character varying(100) NOT NULL,
    scope text NOT NULL,
    "interval" integer NOT NULL,
    expires timestamp with time zone NOT NULL,
    status character varying(64) NOT NULL,
    client_id character varying(100) NOT NULL,
    last_checked timestamp with time zone NOT NULL,
    user_id bigint
);
ALTER TABLE public.accounts_oauthdevicegrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthdevicegrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthgrant (
    id bigint NOT NULL,
    code character varying(255) NOT NULL,
    expires timestamp with time zone NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    code_challenge character varying(128) NOT NULL,
    code_challenge_method character varying(10) NOT NULL,
    nonce character varying(255) NOT NULL,
    claims text NOT NULL,
    resource jsonb NOT NULL,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL,
    used_at timestamp with time zone,
    connection_id bigint NOT NULL
);
ALTER TABLE public.accounts_oauthgrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthgrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthidtoken (
    id bigint NOT NULL,
    jti uuid NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    user_id bigint
);
ALTER TABLE public.accounts_oauthidtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthidtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthrefreshtoken (
    id bigint NOT NULL,
    token text NOT NULL,
    token_checksum character varying(64) NOT NULL,
    token_family uuid,
    resource jsonb NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    revoked timestamp with time zone,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL,
    replay_salt bytea,
    connection_id bigint NOT NULL
);
ALTER TABLE public.accounts_oauthrefreshtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthrefreshtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_securityevent (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind character varying(30) NOT NULL,
    detail character varying(254) NOT NULL,
    address character varying(45) NOT NULL,
    client character varying(200) NOT NULL,
    user_id bigint
);
ALTER TABLE public.accounts_securityevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_securityevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_serviceaccount (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    rotated_at timestamp with time zone,
    expires_at timestamp with time zone,
    account_id bigint NOT NULL,
    connection_id bigint NOT NULL,
    created_by_id bigint,
    jwks_url character varying(500) NOT NULL,
    public_keys jsonb NOT NULL,
    CONSTRAINT service_account_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT service_account_has_keys_or_url CHECK ((((jwks_url)::text = ''::text) OR (public_keys = '[]'::jsonb)))
);
ALTER TABLE public.accounts_serviceaccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_serviceaccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_session (
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL,
    session_key character varying(64) NOT NULL,
    address character varying(45) NOT NULL,
    client character varying(200) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    user_id bigint,
    longest_idle_seconds integer NOT NULL,
    CONSTRAINT accounts_session_longest_idle_seconds_check CHECK ((longest_idle_seconds >= 0))
);
CREATE TABLE public.accounts_unsentmail (
    id bigint NOT NULL,
    sealed text NOT NULL,
    attempts integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    CONSTRAINT accounts_unsentmail_attempts_check CHECK ((attempts >= 0))
);
ALTER TABLE public.accounts_unsentmail ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_unsentmail_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user (
    id bigint NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    email character varying(254) NOT NULL,
    name character varying(150) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    locale character varying(10) NOT NULL,
    theme character varying(5) NOT NULL,
    time_zone character varying(64) NOT NULL,
    devices_forgotten_at timestamp with time zone
);
CREATE TABLE public.accounts_user_groups (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.accounts_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.accounts_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user_user_permissions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.accounts_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.activity_activityretention (
    id bigint NOT NULL,
    days smallint NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT activity_activityretention_days_check CHECK ((days >= 0)),
    CONSTRAINT activity_retention_is_bounded CHECK (((days >= 7) AND (days <= 1100)))
);
ALTER TABLE public.activity_activityretention ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.activity_activityretention_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.activity_assistantcall (
    id bigint NOT NULL,
    method character varying(10) NOT NULL,
    name character varying(64) NOT NULL,
    credential_kind character varying(10) NOT NULL,
    credential_id bigint NOT NULL,
    credential_label character varying(300) NOT NULL,
    person_id bigint,
    outcome character varying(10) NOT NULL,
    at timestamp with time zone NOT NULL,
    arguments text NOT NULL,
    milliseconds double precision NOT NULL,
    answer_bytes integer NOT NULL,
    problem character varying(300) NOT NULL,
    console_page text NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.activity_assistantcall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.activity_assistantcall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.activity_assistantcallcount (
    id bigint NOT NULL,
    method character varying(10) NOT NULL,
    name character varying(64) NOT NULL,
    credential_kind character varying(10) NOT NULL,
    credential_id bigint NOT NULL,
    credential_label character varying(300) NOT NULL,
    person_id bigint,
    outcome character varying(10) NOT NULL,
    day date NOT NULL,
    bucket smallint NOT NULL,
    calls integer NOT NULL,
    answer_bytes bigint NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.activity_assistantcallcount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.activity_assistantcallcount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ai_spend_aiprice (
    id bigint NOT NULL,
    model character varying(200) NOT NULL,
    model_key character varying(200) NOT NULL,
    token_type character varying(30) NOT NULL,
    price_per_million numeric(20,9) NOT NULL,
    currency character varying(3) NOT NULL,
    valid_from date NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    recorded_by_id bigint,
    CONSTRAINT ai_price_not_negative CHECK ((price_per_million >= (0)::numeric))
);
ALTER TABLE public.ai_spend_aiprice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ai_spend_aiprice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertchannel (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    kind character varying(20) NOT NULL,
    target text NOT NULL,
    shown_target character varying(300) NOT NULL,
    tested_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT alert_channel_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.alerts_alertchannel ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertchannel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertdelivery (
    id bigint NOT NULL,
    channel_name character varying(100) NOT NULL,
    channel_kind character varying(20) NOT NULL,
    is_test boolean NOT NULL,
    message jsonb NOT NULL,
    status character varying(10) NOT NULL,
    attempts jsonb NOT NULL,
    next_attempt_at timestamp with time zone,
    delivered_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    channel_id bigint,
    resend_of_id bigint,
    firing_id bigint,
    event_subscription_id bigint,
    CONSTRAINT alert_delivery_status_is_whole CHECK ((((delivered_at IS NULL) AND (next_attempt_at IS NOT NULL) AND ((status)::text = 'waiting'::text)) OR ((delivered_at IS NOT NULL) AND (next_attempt_at IS NULL) AND ((status)::text = 'delivered'::text)) OR ((delivered_at IS NULL) AND (next_attempt_at IS NULL) AND ((status)::text = 'failed'::text))))
);
ALTER TABLE public.alerts_alertdelivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertdelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertevaluation (
    id bigint NOT NULL,
    version character varying(200) NOT NULL,
    finished_at timestamp with time zone,
    error text NOT NULL,
    account_id bigint NOT NULL,
    asks integer NOT NULL,
    CONSTRAINT alerts_alertevaluation_asks_check CHECK ((asks >= 0))
);
ALTER TABLE public.alerts_alertevaluation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertevaluation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertfiring (
    id bigint NOT NULL,
    key character varying(200) NOT NULL,
    message jsonb NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    subscription_id bigint NOT NULL
);
ALTER TABLE public.alerts_alertfiring ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertfiring_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertrecipient (
    id bigint NOT NULL,
    address character varying(254) NOT NULL,
    requested_at timestamp with time zone,
    confirmed_at timestamp with time zone,
    unsubscribed_at timestamp with time zone,
    account_id bigint NOT NULL,
    CONSTRAINT alert_recipient_confirmed_or_unsubscribed CHECK (((confirmed_at IS NULL) OR (unsubscribed_at IS NULL))),
    CONSTRAINT alert_recipient_in_lower_case CHECK (((address)::text = lower((address)::text)))
);
ALTER TABLE public.alerts_alertrecipient ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertrecipient_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_alertsubscription (
    id bigint NOT NULL,
    trigger character varying(20) NOT NULL,
    thresholds smallint[] NOT NULL,
    measure character varying(10) NOT NULL,
    scope character varying(20) NOT NULL,
    cost_tag_value character varying(255) NOT NULL,
    minimum_impact numeric(20,2),
    currency character varying(3) NOT NULL,
    frequency character varying(10) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    paused_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    budget_id bigint,
    channel_id bigint NOT NULL,
    cost_source_id bigint,
    cost_tag_id bigint,
    created_by_id bigint,
    team_id bigint,
    minimum_percent smallint,
    saved_view_id bigint,
    target numeric(30,12),
    unit_metric_id bigint,
    CONSTRAINT alert_subscription_impact_has_a_currency CHECK (((((currency)::text = ''::text) AND (minimum_impact IS NULL) AND (target IS NULL)) OR ((minimum_impact >= (0)::numeric) AND (NOT ((currency)::text = ''::text))) OR ((target IS NOT NULL) AND (NOT ((currency)::text = ''::text))))),
    CONSTRAINT alert_subscription_is_of_one_trigger CHECK ((((budget_id IS NOT NULL) AND ((frequency)::text = ''::text) AND (minimum_impact IS NULL) AND ((scope)::text = ''::text) AND ((trigger)::text = 'budget'::text) AND (NOT ((measure)::text = ''::text)) AND (
CASE
    WHEN (thresholds IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(thresholds, 1), 0)
END >= 1)) OR ((budget_id IS NULL) AND ((frequency)::text = ''::text) AND ((measure)::text = ''::text) AND (
CASE
    WHEN (thresholds IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(thresholds, 1), 0)
END = 0) AND ((trigger)::text = 'anomaly'::text) AND (NOT ((scope)::text = ''::text))) OR ((budget_id IS NULL) AND ((measure)::text = ''::text) AND ((scope)::text = ''::text) AND (
CASE
    WHEN (thresholds IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(thresholds, 1), 0)
END = 0) AND ((trigger)::text = 'digest'::text) AND (minimum_impact IS NULL) AND (NOT ((frequency)::text = ''::text))) OR ((budget_id IS NULL) AND ((measure)::text = ''::text) AND ((trigger)::text = ANY (ARRAY[('view_report'::character varying)::text, ('view_change'::character varying)::text, ('unit_cost'::character varying)::text])) AND ((scope)::text = ''::text) AND (
CASE
    WHEN (thresholds IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(thresholds, 1), 0)
END = 0) AND (NOT ((frequency)::text = ''::text))) OR ((budget_id IS NULL) AND ((frequency)::text = ''::text) AND ((measure)::text = ''::text) AND (minimum_impact IS NULL) AND ((scope)::text = ''::text) AND (
CASE
    WHEN (thresholds IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(thresholds, 1), 0)
END = 0) AND ((trigger)::text = ANY (ARRAY[('import'::character varying)::text, ('source'::character varying)::text]))))),
    CONSTRAINT alert_subscription_measure_is_whole CHECK (((((trigger)::text = ANY (ARRAY[('budget'::character varying)::text, ('anomaly'::character varying)::text, ('digest'::character varying)::text, ('import'::character varying)::text, ('source'::character varying)::text])) AND (minimum_percent IS NULL) AND (saved_view_id IS NULL) AND (target IS NULL) AND (unit_metric_id IS NULL)) OR ((minimum_impact IS NULL) AND (minimum_percent IS NULL) AND (saved_view_id IS NOT NULL) AND (target IS NULL) AND ((trigger)::text = 'view_report'::text) AND (unit_metric_id IS NULL)) OR ((saved_view_id IS NOT NULL) AND (target IS NULL) AND ((trigger)::text = 'view_change'::text) AND (unit_metric_id IS NULL) AND ((minimum_percent > 0) OR (minimum_impact > (0)::numeric))) OR ((minimum_impact IS NULL) AND (minimum_percent IS NULL) AND (saved_view_id IS NULL) AND (target >= (0)::numeric) AND ((trigger)::text = 'unit_cost'::text) AND (unit_metric_id IS NOT NULL)))),
    CONSTRAINT alert_subscription_scope_is_whole CHECK ((((cost_source_id IS NULL) AND (cost_tag_id IS NULL) AND ((scope)::text = ANY (ARRAY[(''::character varying)::text, ('account'::character varying)::text])) AND (team_id IS NULL)) OR ((cost_source_id IS NOT NULL) AND (cost_tag_id IS NULL) AND ((scope)::text = 'cost_source'::text) AND (team_id IS NULL)) OR ((cost_source_id IS NULL) AND (cost_tag_id IS NULL) AND ((scope)::text = 'team'::text) AND (team_id IS NOT NULL)) OR ((cost_source_id IS NULL) AND (cost_tag_id IS NOT NULL) AND ((scope)::text = 'cost_tag'::text) AND (team_id IS NULL) AND (NOT ((cost_tag_value)::text = ''::text))))),
    CONSTRAINT alerts_alertsubscription_minimum_percent_check CHECK ((minimum_percent >= 0))
);
ALTER TABLE public.alerts_alertsubscription ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_alertsubscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_eventfiring (
    id bigint NOT NULL,
    key character varying(200) NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    subscription_id bigint NOT NULL
);
ALTER TABLE public.alerts_eventfiring ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_eventfiring_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.alerts_eventsubscription (
    id bigint NOT NULL,
    public_id character varying(40) NOT NULL,
    event character varying(40) NOT NULL,
    arguments jsonb NOT NULL,
    target text NOT NULL,
    shown_target character varying(300) NOT NULL,
    credential_label character varying(254) NOT NULL,
    follows_extension boolean NOT NULL,
    state jsonb NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    end_reason character varying(300) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    connection_id bigint,
    mcp_key_id bigint,
    CONSTRAINT event_subscription_has_one_credential CHECK (((mcp_key_id IS NULL) OR (connection_id IS NULL)))
);
ALTER TABLE public.alerts_eventsubscription ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_eventsubscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_costtag (
    id bigint NOT NULL,
    key character varying(100) NOT NULL,
    description character varying(500) NOT NULL,
    rules jsonb NOT NULL,
    default_value character varying(255) NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    changed_by character varying(254) NOT NULL,
    CONSTRAINT allocation_costtag_version_check CHECK ((version >= 0)),
    CONSTRAINT cost_tag_has_a_key CHECK ((NOT ((key)::text = ''::text)))
);
ALTER TABLE public.allocation_costtag ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_costtag_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_sharedcostsplit (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    dimension character varying(300) NOT NULL,
    source_value character varying(255) NOT NULL,
    method character varying(20) NOT NULL,
    targets jsonb NOT NULL,
    every_customer boolean NOT NULL,
    usage_metric character varying(100) NOT NULL,
    valid_from date,
    valid_to date,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT split_among_every_customer_is_by_usage CHECK (((NOT every_customer) OR (((method)::text = 'usage'::text) AND (targets = '[]'::jsonb)))),
    CONSTRAINT split_by_usage_names_its_metric CHECK (((((method)::text = 'usage'::text) OR ((usage_metric)::text = ''::text)) AND (1 = (
CASE
    WHEN ((method)::text = 'usage'::text) THEN 1
    ELSE 0
END +
CASE
    WHEN ((usage_metric)::text = ''::text) THEN 1
    ELSE 0
END)))),
    CONSTRAINT split_ends_after_it_begins CHECK (((valid_from IS NULL) OR (valid_to IS NULL) OR (valid_from <= valid_to))),
    CONSTRAINT split_is_named_and_has_a_source CHECK (((NOT ((name)::text = ''::text)) AND (NOT ((dimension)::text = ''::text)) AND (NOT ((source_value)::text = ''::text))))
);
ALTER TABLE public.allocation_sharedcostsplit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_sharedcostsplit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_team (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    description character varying(500) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT team_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.allocation_team ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_team_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_teamkey (
    id bigint NOT NULL,
    dimension character varying(300) NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT team_key_names_a_dimension CHECK ((NOT ((dimension)::text = ''::text)))
);
ALTER TABLE public.allocation_teamkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_teamkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_teammember (
    id bigint NOT NULL,
    added_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    membership_id bigint NOT NULL,
    team_id bigint NOT NULL
);
ALTER TABLE public.allocation_teammember ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_teammember_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allocation_teamvalue (
    id bigint NOT NULL,
    value character varying(255) NOT NULL,
    account_id bigint NOT NULL,
    team_id bigint NOT NULL,
    CONSTRAINT team_value_is_not_empty CHECK ((NOT ((value)::text = ''::text)))
);
ALTER TABLE public.allocation_teamvalue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.allocation_teamvalue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.audit_webhooks_auditdelivery (
    id bigint NOT NULL,
    status character varying(10) NOT NULL,
    event_count smallint NOT NULL,
    attempt_count integer NOT NULL,
    attempts jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    account_id bigint NOT NULL,
    webhook_id bigint NOT NULL,
    CONSTRAINT audit_webhooks_auditdelivery_attempt_count_check CHECK ((attempt_count >= 0)),
    CONSTRAINT audit_webhooks_auditdelivery_event_count_check CHECK ((event_count >= 0))
);
ALTER TABLE public.audit_webhooks_auditdelivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_webhooks_auditdelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.audit_webhooks_auditdeliveryentry (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    delivery_id bigint NOT NULL,
    entry_id bigint NOT NULL,
    webhook_id bigint NOT NULL
);
ALTER TABLE public.audit_webhooks_auditdeliveryentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_webhooks_auditdeliveryentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.audit_webhooks_auditwebhook (
    id bigint NOT NULL,
    target text NOT NULL,
    start_at timestamp with time zone NOT NULL,
    low_water bigint NOT NULL,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    next_attempt_at timestamp with time zone NOT NULL,
    paused_at timestamp with time zone,
    pause_reason character varying(300) NOT NULL,
    last_delivered_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT audit_webhooks_auditwebhook_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.audit_webhooks_auditwebhook ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_webhooks_auditwebhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.backup_backuprun (
    id bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    trigger character varying(10) NOT NULL,
    target character varying(1000) NOT NULL,
    status character varying(10) NOT NULL,
    backup_id character varying(64) NOT NULL,
    bytes bigint,
    new_bytes bigint,
    missing_files integer NOT NULL,
    error text NOT NULL,
    CONSTRAINT backup_backuprun_missing_files_check CHECK ((missing_files >= 0))
);
ALTER TABLE public.backup_backuprun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.backup_backuprun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.budgets_budget (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    amount numeric(20,2) NOT NULL,
    currency character varying(3) NOT NULL,
    period character varying(20) NOT NULL,
    scope character varying(20) NOT NULL,
    cost_tag_value character varying(255) NOT NULL,
    warning_percent smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    cost_source_id bigint,
    cost_tag_id bigint,
    created_by_id bigint,
    team_id bigint,
    CONSTRAINT budget_amount_is_positive CHECK ((amount > (0)::numeric)),
    CONSTRAINT budget_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT budget_scope_is_whole CHECK ((((cost_source_id IS NULL) AND (cost_tag_id IS NULL) AND ((cost_tag_value)::text = ''::text) AND ((scope)::text = 'account'::text) AND (team_id IS NULL)) OR ((cost_source_id IS NOT NULL) AND (cost_tag_id IS NULL) AND ((cost_tag_value)::text = ''::text) AND ((scope)::text = 'cost_source'::text) AND (team_id IS NULL)) OR ((cost_source_id IS NULL) AND (cost_tag_id IS NULL) AND ((cost_tag_value)::text = ''::text) AND ((scope)::text = 'team'::text) AND (team_id IS NOT NULL)) OR ((cost_source_id IS NULL) AND (cost_tag_id IS NOT NULL) AND ((scope)::text = 'cost_tag'::text) AND (team_id IS NULL) AND (NOT ((cost_tag_value)::text = ''::text))))),
    CONSTRAINT budget_warns_within_its_amount CHECK (((warning_percent >= 1) AND (warning_percent <= 100))),
    CONSTRAINT budgets_budget_warning_percent_check CHECK ((warning_percent >= 0))
);
ALTER TABLE public.budgets_budget ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.budgets_budget_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.budgets_budgetamount (
    id bigint NOT NULL,
    starts_on date NOT NULL,
    amount numeric(20,2) NOT NULL,
    account_id bigint NOT NULL,
    budget_id bigint NOT NULL,
    CONSTRAINT budget_period_amount_is_positive CHECK ((amount > (0)::numeric))
);
ALTER TABLE public.budgets_budgetamount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.budgets_budgetamount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_events_changeevent (
    id bigint NOT NULL,
    origin character varying(10) NOT NULL,
    external_id character varying(255) NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    kind character varying(12) NOT NULL,
    title character varying(200) NOT NULL,
    actor character varying(200) NOT NULL,
    url character varying(2000) NOT NULL,
    scope jsonb NOT NULL,
    received_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint,
    created_by_id bigint,
    CONSTRAINT change_event_has_a_title CHECK ((NOT ((title)::text = ''::text))),
    CONSTRAINT change_event_kind_is_known CHECK (((kind)::text = ANY (ARRAY[('deployment'::character varying)::text, ('release'::character varying)::text, ('change'::character varying)::text, ('purchase'::character varying)::text, ('incident'::character varying)::text, ('note'::character varying)::text]))),
    CONSTRAINT change_event_of_a_source_has_it CHECK (((((origin)::text = 'source'::text) AND (source_id IS NOT NULL)) OR (((origin)::text = ANY (ARRAY[('note'::character varying)::text, ('derived'::character varying)::text])) AND (source_id IS NULL))))
);
ALTER TABLE public.change_events_changeevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.change_events_changeevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_events_changeeventretention (
    id bigint NOT NULL,
    days smallint NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT change_event_retention_is_bounded CHECK (((days >= 400) AND (days <= 3650))),
    CONSTRAINT change_events_changeeventretention_days_check CHECK ((days >= 0))
);
ALTER TABLE public.change_events_changeeventretention ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.change_events_changeeventretention_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_events_eventkey (
    id bigint NOT NULL,
    lookup character varying(12) NOT NULL,
    digest bytea NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    account_id bigint NOT NULL,
    created_by_id bigint,
    source_id bigint NOT NULL
);
ALTER TABLE public.change_events_eventkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.change_events_eventkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_events_eventmonth (
    id bigint NOT NULL,
    month date NOT NULL,
    events bigint NOT NULL,
    duplicates bigint NOT NULL,
    rejected bigint NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint,
    CONSTRAINT event_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric))
);
ALTER TABLE public.change_events_eventmonth ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.change_events_eventmonth_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_events_eventsource (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    kind character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT event_source_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT event_source_kind_is_known CHECK (((kind)::text = ANY (ARRAY[('push'::character varying)::text, ('pull'::character varying)::text])))
);
ALTER TABLE public.change_events_eventsource ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.change_events_eventsource_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_connectionpagecache (
    id bigint NOT NULL,
    content bytea NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    connection_id bigint NOT NULL
);
ALTER TABLE public.connections_connectionpagecache ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_connectionpagecache_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_costconnection (
    id bigint NOT NULL,
    connector character varying(40) NOT NULL,
    config jsonb NOT NULL,
    credentials text NOT NULL,
    credentials_changed_at timestamp with time zone,
    external_id character varying(64) NOT NULL,
    interval_minutes integer NOT NULL,
    first_month date,
    paused_at timestamp with time zone,
    next_sync_at timestamp with time zone NOT NULL,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    last_success_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    source_id bigint,
    usage_source_id bigint,
    event_source_id bigint,
    CONSTRAINT connections_costconnection_failures_check CHECK ((failures >= 0)),
    CONSTRAINT connections_costconnection_interval_minutes_check CHECK ((interval_minutes >= 0)),
    CONSTRAINT cost_connection_fails_since_a_time CHECK ((((failing_since IS NULL) AND (failures = 0)) OR ((failing_since IS NOT NULL) AND (failures > 0)))),
    CONSTRAINT cost_connection_first_month_is_a_first_day CHECK (((first_month IS NULL) OR (EXTRACT(day FROM first_month) = (1)::numeric))),
    CONSTRAINT cost_connection_interval_in_range CHECK (((interval_minutes >= 15) AND (interval_minutes <= 10080))),
    CONSTRAINT cost_connection_of_one_source CHECK ((((event_source_id IS NULL) AND (source_id IS NOT NULL) AND (usage_source_id IS NULL)) OR ((event_source_id IS NULL) AND (source_id IS NULL) AND (usage_source_id IS NOT NULL)) OR ((event_source_id IS NOT NULL) AND (source_id IS NULL) AND (usage_source_id IS NULL))))
);
ALTER TABLE public.connections_costconnection ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_costconnection_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_costkey (
    id bigint NOT NULL,
    lookup character varying(12) NOT NULL,
    digest bytea NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    account_id bigint NOT NULL,
    created_by_id bigint,
    source_id bigint NOT NULL
);
ALTER TABLE public.connections_costkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_costkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_costpush (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    month date NOT NULL,
    status character varying(10) NOT NULL,
    committed_parts integer,
    rows bigint,
    totals jsonb NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    actor_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    committed_at timestamp with time zone,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL,
    cost_import_id bigint,
    source_id bigint NOT NULL,
    CONSTRAINT connections_costpush_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT connections_costpush_committed_parts_check CHECK ((committed_parts >= 0)),
    CONSTRAINT cost_push_is_committed CHECK (((NOT ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text, ('done'::character varying)::text]))) OR ((committed_at IS NOT NULL) AND (committed_parts IS NOT NULL)))),
    CONSTRAINT cost_push_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
    CONSTRAINT cost_push_status_is_known CHECK (((status)::text = ANY (ARRAY[('open'::character varying)::text, ('queued'::character varying)::text, ('running'::character varying)::text, ('done'::character varying)::text, ('failed'::character varying)::text, ('canceled'::character varying)::text, ('expired'::character varying)::text])))
);
ALTER TABLE public.connections_costpush ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_costpush_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_costpushpart (
    id bigint NOT NULL,
    number integer NOT NULL,
    format character varying(20) NOT NULL,
    bytes bigint NOT NULL,
    file_name character varying(80) NOT NULL,
    received_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    push_id bigint NOT NULL,
    content_hash character varying(32) NOT NULL,
    CONSTRAINT connections_costpushpart_number_check CHECK ((number >= 0)),
    CONSTRAINT cost_push_part_from_one CHECK ((number >= 1))
);
ALTER TABLE public.connections_costpushpart ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_costpushpart_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_costsync (
    id bigint NOT NULL,
    trigger character varying(10) NOT NULL,
    status character varying(10) NOT NULL,
    stage character varying(100) NOT NULL,
    periods jsonb NOT NULL,
    months_listed integer NOT NULL,
    months_unchanged integer NOT NULL,
    months_imported integer NOT NULL,
    months_failed integer NOT NULL,
    rows bigint NOT NULL,
    bytes_total bigint NOT NULL,
    bytes_done bigint NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    actor_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    heartbeat_at timestamp with time zone,
    finished_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    account_id bigint NOT NULL,
    actor_user_id bigint,
    connection_id bigint NOT NULL,
    CONSTRAINT connections_costsync_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT connections_costsync_months_failed_check CHECK ((months_failed >= 0)),
    CONSTRAINT connections_costsync_months_imported_check CHECK ((months_imported >= 0)),
    CONSTRAINT connections_costsync_months_listed_check CHECK ((months_listed >= 0)),
    CONSTRAINT connections_costsync_months_unchanged_check CHECK ((months_unchanged >= 0)),
    CONSTRAINT cost_sync_status_is_known CHECK (((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text, ('done'::character varying)::text, ('failed'::character varying)::text, ('canceled'::character varying)::text]))),
    CONSTRAINT cost_sync_trigger_is_known CHECK (((trigger)::text = ANY (ARRAY[('schedule'::character varying)::text, ('manual'::character varying)::text])))
);
ALTER TABLE public.connections_costsync ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_costsync_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections_syncperiod (
    id bigint NOT NULL,
    month date NOT NULL,
    fingerprint character varying(128) NOT NULL,
    bytes bigint NOT NULL,
    rows bigint NOT NULL,
    synced_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    connection_id bigint NOT NULL,
    cost_import_id bigint,
    CONSTRAINT sync_period_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric))
);
ALTER TABLE public.connections_syncperiod ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.connections_syncperiod_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cost_access_costaccessassignment (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    connection_id bigint,
    key_id bigint,
    membership_id bigint,
    limit_id bigint NOT NULL,
    invitation_id bigint,
    provider_id bigint,
    alert_channel_id bigint,
    alert_subscription_id bigint,
    data_export_id bigint,
    report_schedule_id bigint,
    CONSTRAINT cost_access_assignment_of_one CHECK ((((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NOT NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NOT NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NOT NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NOT NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NOT NULL)) OR ((alert_channel_id IS NOT NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NOT NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NOT NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NULL) AND (report_schedule_id IS NULL)) OR ((alert_channel_id IS NULL) AND (alert_subscription_id IS NULL) AND (connection_id IS NULL) AND (data_export_id IS NULL) AND (invitation_id IS NULL) AND (key_id IS NULL) AND (membership_id IS NULL) AND (provider_id IS NOT NULL) AND (report_schedule_id IS NULL))))
);
ALTER TABLE public.cost_access_costaccessassignment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cost_access_costaccessassignment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cost_access_costaccesslimit (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    alternatives jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    earlier_of_id bigint,
    CONSTRAINT cost_access_limit_has_a_filter CHECK ((NOT (alternatives = '[]'::jsonb))),
    CONSTRAINT cost_access_limit_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.cost_access_costaccesslimit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cost_access_costaccesslimit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.cost_access_formermemberlimit (
    id bigint NOT NULL,
    left_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    limit_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.cost_access_formermemberlimit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cost_access_formermemberlimit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_billingperiod (
    id bigint NOT NULL,
    issuer character varying(500) NOT NULL,
    billing_period date NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone,
    status character varying(500) NOT NULL,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.costs_billingperiod ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_billingperiod_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_closedmonth (
    id bigint NOT NULL,
    month date NOT NULL,
    closed_at timestamp with time zone NOT NULL,
    closed_by_label character varying(254) NOT NULL,
    note character varying(1000) NOT NULL,
    account_id bigint NOT NULL,
    closed_by_id bigint,
    CONSTRAINT closed_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric))
);
ALTER TABLE public.costs_closedmonth ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_closedmonth_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_closedmonthsum (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    source_name character varying(100) NOT NULL,
    currency character varying(60) NOT NULL,
    billed_cost numeric(38,18) NOT NULL,
    effective_cost numeric(38,18) NOT NULL,
    billed_now numeric(38,18) NOT NULL,
    effective_now numeric(38,18) NOT NULL,
    restated_at timestamp with time zone,
    account_id bigint NOT NULL,
    closed_month_id bigint NOT NULL
);
ALTER TABLE public.costs_closedmonthsum ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_closedmonthsum_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_columnmapping (
    id bigint NOT NULL,
    content jsonb NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    changed_by_label character varying(254) NOT NULL,
    account_id bigint NOT NULL,
    changed_by_id bigint,
    source_id bigint NOT NULL
);
ALTER TABLE public.costs_columnmapping ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_columnmapping_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_contractcommitment (
    id bigint NOT NULL,
    commitment_id character varying(500) NOT NULL,
    commitment_type character varying(200) NOT NULL,
    category character varying(60) NOT NULL,
    description text NOT NULL,
    cost numeric(38,18),
    quantity numeric(38,18),
    unit character varying(200) NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    contract_id character varying(500) NOT NULL,
    contract_start timestamp with time zone,
    contract_end timestamp with time zone,
    currency character varying(60) NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.costs_contractcommitment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_contractcommitment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_costimport (
    id bigint NOT NULL,
    file_name character varying(255) NOT NULL,
    files jsonb NOT NULL,
    defaults jsonb NOT NULL,
    actor_label character varying(254) NOT NULL,
    status character varying(10) NOT NULL,
    stage character varying(60) NOT NULL,
    bytes_total bigint NOT NULL,
    bytes_done bigint NOT NULL,
    rows bigint NOT NULL,
    months jsonb NOT NULL,
    report jsonb NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    heartbeat_at timestamp with time zone,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL,
    actor_user_id bigint,
    source_id bigint NOT NULL,
    decision jsonb NOT NULL,
    origin character varying(10) NOT NULL,
    date_order character varying(12) NOT NULL,
    number_format character varying(10) NOT NULL,
    content_hashes character varying(64)[] NOT NULL,
    overlaps_looked_for_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    parts jsonb,
    CONSTRAINT cost_import_origin_is_known CHECK (((origin)::text = ANY (ARRAY[('upload'::character varying)::text, ('command'::character varying)::text, ('sync'::character varying)::text]))),
    CONSTRAINT cost_import_status_is_known CHECK (((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text, ('waiting'::character varying)::text, ('done'::character varying)::text, ('failed'::character varying)::text, ('discarded'::character varying)::text, ('canceled'::character varying)::text]))),
    CONSTRAINT costs_costimport_attempts_check CHECK ((attempts >= 0))
);
ALTER TABLE public.costs_costimport ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_costimport_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_costsource (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    kind character varying(20) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    settle_days smallint,
    CONSTRAINT cost_source_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT cost_source_kind_is_known CHECK (((kind)::text = 'focus'::text)),
    CONSTRAINT cost_source_settles_in_days CHECK (((settle_days IS NULL) OR (settle_days <= 14))),
    CONSTRAINT costs_costsource_settle_days_check CHECK ((settle_days >= 0))
);
ALTER TABLE public.costs_costsource ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_costsource_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_costview (
    id bigint NOT NULL,
    basis character varying(10) NOT NULL,
    charge_categories character varying(60)[] NOT NULL,
    actor_tag_keys character varying(256)[] NOT NULL,
    product_key character varying(256) NOT NULL,
    account_id bigint NOT NULL,
    planning_basis character varying(10) NOT NULL,
    CONSTRAINT cost_view_basis_is_known CHECK (((basis)::text = ANY (ARRAY[('billed'::character varying)::text, ('amortized'::character varying)::text]))),
    CONSTRAINT cost_view_planning_basis_is_known CHECK (((planning_basis)::text = ANY (ARRAY[('billed'::character varying)::text, ('amortized'::character varying)::text])))
);
ALTER TABLE public.costs_costview ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_costview_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_dailycostsnapshot (
    id bigint NOT NULL,
    day date NOT NULL,
    age smallint NOT NULL,
    currency character varying(60) NOT NULL,
    amount numeric(38,18) NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    CONSTRAINT costs_dailycostsnapshot_age_check CHECK ((age >= 0))
);
ALTER TABLE public.costs_dailycostsnapshot ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_dailycostsnapshot_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_importreviewsettings (
    id bigint NOT NULL,
    fall_percent smallint NOT NULL,
    growth_percent integer NOT NULL,
    least_amount numeric(20,2) NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT costs_importreviewsettings_fall_percent_check CHECK ((fall_percent >= 0)),
    CONSTRAINT costs_importreviewsettings_growth_percent_check CHECK ((growth_percent >= 0)),
    CONSTRAINT import_review_settings_in_range CHECK (((fall_percent >= 1) AND (fall_percent <= 100) AND (growth_percent >= 1) AND (least_amount >= (0)::numeric)))
);
ALTER TABLE public.costs_importreviewsettings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_importreviewsettings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_invoicedetail (
    id bigint NOT NULL,
    issuer character varying(500) NOT NULL,
    invoice_id character varying(500) NOT NULL,
    billing_period date NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone,
    detail_id character varying(500) NOT NULL,
    billing_account_id character varying(500) NOT NULL,
    currency character varying(60) NOT NULL,
    billed_cost numeric(38,18) NOT NULL,
    charge_category character varying(500) NOT NULL,
    description text NOT NULL,
    grain text NOT NULL,
    status character varying(500) NOT NULL,
    issued_at timestamp with time zone,
    due_at timestamp with time zone,
    payment_terms character varying(500) NOT NULL,
    purchase_order character varying(500) NOT NULL,
    reference_invoice_id character varying(500) NOT NULL,
    payment_currency character varying(60) NOT NULL,
    payment_cost numeric(38,18),
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.costs_invoicedetail ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_invoicedetail_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_invoicetotal (
    id bigint NOT NULL,
    issuer character varying(500) NOT NULL,
    invoice_id character varying(500) NOT NULL,
    billing_period date NOT NULL,
    billing_account_id character varying(500) NOT NULL,
    currency character varying(3) NOT NULL,
    amount numeric(38,18) NOT NULL,
    note character varying(1000) NOT NULL,
    entered_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    entered_by_id bigint,
    CONSTRAINT invoice_total_has_a_currency CHECK ((NOT ((currency)::text = ''::text)))
);
ALTER TABLE public.costs_invoicetotal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_invoicetotal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_savedview (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    question jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    owner_id bigint,
    CONSTRAINT saved_view_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.costs_savedview ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_savedview_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_sourcecompleteness (
    id bigint NOT NULL,
    segments character varying(64) NOT NULL,
    seen_on date NOT NULL,
    provider character varying(200) NOT NULL,
    usage_through date,
    billed_through date,
    learnt_days smallint,
    partial_days date[] NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    CONSTRAINT costs_sourcecompleteness_learnt_days_check CHECK ((learnt_days >= 0))
);
ALTER TABLE public.costs_sourcecompleteness ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_sourcecompleteness_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.costs_sourceoverlap (
    id bigint NOT NULL,
    month date NOT NULL,
    currency character varying(60) NOT NULL,
    amount numeric(38,18) NOT NULL,
    share numeric(7,6) NOT NULL,
    account_id bigint NOT NULL,
    other_id bigint NOT NULL,
    source_id bigint NOT NULL,
    dismissed_at timestamp with time zone,
    kind character varying(10) NOT NULL,
    CONSTRAINT source_overlap_in_order CHECK ((source_id < other_id)),
    CONSTRAINT source_overlap_kind_is_known CHECK (((kind)::text = ANY (ARRAY[('lines'::character varying)::text, ('nodes'::character varying)::text])))
);
ALTER TABLE public.costs_sourceoverlap ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.costs_sourceoverlap_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.dashboards_dashboard (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    owner_id bigint,
    CONSTRAINT dashboard_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.dashboards_dashboard ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.dashboards_dashboard_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.dashboards_widget (
    id bigint NOT NULL,
    "order" smallint NOT NULL,
    type character varying(40) NOT NULL,
    title character varying(100) NOT NULL,
    config jsonb NOT NULL,
    x smallint NOT NULL,
    y smallint NOT NULL,
    w smallint NOT NULL,
    h smallint NOT NULL,
    account_id bigint NOT NULL,
    dashboard_id bigint NOT NULL,
    CONSTRAINT dashboards_widget_h_check CHECK ((h >= 0)),
    CONSTRAINT dashboards_widget_order_check CHECK (("order" >= 0)),
    CONSTRAINT dashboards_widget_w_check CHECK ((w >= 0)),
    CONSTRAINT dashboards_widget_x_check CHECK ((x >= 0)),
    CONSTRAINT dashboards_widget_y_check CHECK ((y >= 0)),
    CONSTRAINT widget_is_on_the_board CHECK (((h >= 1) AND (w >= 1) AND (x <= (12 - w))))
);
ALTER TABLE public.dashboards_widget ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.dashboards_widget_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.data_exports_dataexport (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    name character varying(60) NOT NULL,
    destination character varying(40) NOT NULL,
    config jsonb NOT NULL,
    credentials text NOT NULL,
    credentials_changed_at timestamp with time zone,
    external_id character varying(64) NOT NULL,
    excluded_columns jsonb NOT NULL,
    with_splits boolean NOT NULL,
    schedule character varying(16) NOT NULL,
    paused_at timestamp with time zone,
    next_run_at timestamp with time zone NOT NULL,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    last_success_at timestamp with time zone,
    changes_seen_at timestamp with time zone,
    removal_requested_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT data_export_fails_since_a_time CHECK ((((failing_since IS NULL) AND (failures = 0)) OR ((failing_since IS NOT NULL) AND (failures > 0)))),
    CONSTRAINT data_export_name_is_a_folder CHECK (((name)::text ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$'::text)),
    CONSTRAINT data_export_schedule_is_known CHECK (((schedule)::text = ANY (ARRAY[('daily'::character varying)::text, ('hourly'::character varying)::text, ('after_imports'::character varying)::text]))),
    CONSTRAINT data_exports_dataexport_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.data_exports_dataexport ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.data_exports_dataexport_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.data_exports_dataexportmonth (
    id bigint NOT NULL,
    dataset character varying(8) NOT NULL,
    month date NOT NULL,
    fingerprint character varying(64) NOT NULL,
    files jsonb NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    written_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    export_id bigint NOT NULL,
    CONSTRAINT data_export_month_dataset_is_known CHECK (((dataset)::text = ANY (ARRAY[('cost'::character varying)::text, ('splits'::character varying)::text]))),
    CONSTRAINT data_export_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric))
);
ALTER TABLE public.data_exports_dataexportmonth ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.data_exports_dataexportmonth_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.data_exports_dataexportrun (
    id bigint NOT NULL,
    execution_id uuid NOT NULL,
    trigger character varying(10) NOT NULL,
    status character varying(10) NOT NULL,
    stage character varying(100) NOT NULL,
    months jsonb NOT NULL,
    months_listed integer NOT NULL,
    months_unchanged integer NOT NULL,
    months_written integer NOT NULL,
    months_replaced integer NOT NULL,
    months_removed integer NOT NULL,
    months_failed integer NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    actor_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL,
    export_id bigint NOT NULL,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT data_export_run_status_is_known CHECK (((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text, ('done'::character varying)::text, ('failed'::character varying)::text, ('canceled'::character varying)::text]))),
    CONSTRAINT data_export_run_trigger_is_known CHECK (((trigger)::text = ANY (ARRAY[('schedule'::character varying)::text, ('manual'::character varying)::text]))),
    CONSTRAINT data_exports_dataexportrun_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_failed_check CHECK ((months_failed >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_listed_check CHECK ((months_listed >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_removed_check CHECK ((months_removed >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_replaced_check CHECK ((months_replaced >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_unchanged_check CHECK ((months_unchanged >= 0)),
    CONSTRAINT data_exports_dataexportrun_months_written_check CHECK ((months_written >= 0))
);
ALTER TABLE public.data_exports_dataexportrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.data_exports_dataexportrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id bigint NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.exchange_rates_exchangerate (
    id bigint NOT NULL,
    day date NOT NULL,
    base character varying(3) NOT NULL,
    quote character varying(3) NOT NULL,
    rate numeric(20,14) NOT NULL,
    source character varying(10) NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    recorded_by_id bigint,
    CONSTRAINT exchange_rate_in_range CHECK (((rate > (0)::numeric) AND (rate < (1000000)::numeric))),
    CONSTRAINT exchange_rate_of_two_currencies CHECK ((NOT ((base)::text = (quote)::text)))
);
ALTER TABLE public.exchange_rates_exchangerate ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.exchange_rates_exchangerate_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.exchange_rates_exchangeratetable (
    id bigint NOT NULL,
    version bigint NOT NULL,
    fetched_at timestamp with time zone,
    fetch_error character varying(500) NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT exchange_rates_exchangeratetable_version_check CHECK ((version >= 0))
);
ALTER TABLE public.exchange_rates_exchangeratetable ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.exchange_rates_exchangeratetable_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.exports_accountexport (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    status character varying(10) NOT NULL,
    actor_label character varying(254) NOT NULL,
    files_total integer NOT NULL,
    files_done integer NOT NULL,
    bytes bigint NOT NULL,
    attempts smallint NOT NULL,
    error text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL,
    CONSTRAINT exports_accountexport_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT exports_accountexport_files_done_check CHECK ((files_done >= 0)),
    CONSTRAINT exports_accountexport_files_total_check CHECK ((files_total >= 0))
);
ALTER TABLE public.exports_accountexport ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.exports_accountexport_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_customer (
    id bigint NOT NULL,
    customer_id character varying(255) NOT NULL,
    name text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT customer_has_an_id CHECK ((NOT ((customer_id)::text = ''::text)))
);
ALTER TABLE public.ingestion_customer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_customer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_pushanswer (
    id bigint NOT NULL,
    key character varying(255) NOT NULL,
    body_digest bytea NOT NULL,
    status smallint NOT NULL,
    answer bytea NOT NULL,
    headers jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.ingestion_pushanswer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_pushanswer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_rejectedevent (
    id bigint NOT NULL,
    batch uuid NOT NULL,
    "position" integer NOT NULL,
    error character varying(200) NOT NULL,
    excerpt character varying(500) NOT NULL,
    received_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.ingestion_rejectedevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_rejectedevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_rejectedline (
    id bigint NOT NULL,
    line bigint NOT NULL,
    error character varying(200) NOT NULL,
    excerpt character varying(500) NOT NULL,
    account_id bigint NOT NULL,
    upload_id bigint NOT NULL
);
ALTER TABLE public.ingestion_rejectedline ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_rejectedline_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usagebatch (
    id uuid NOT NULL,
    origin character varying(10) NOT NULL,
    received_at timestamp with time zone NOT NULL,
    accepted integer NOT NULL,
    rejected integer NOT NULL,
    duplicates integer NOT NULL,
    first_day date,
    last_day date,
    voided_at timestamp with time zone,
    voided_by_label character varying(254) NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint,
    void_asked_at timestamp with time zone,
    ignored_fields jsonb,
    unlikely_times integer DEFAULT 0 NOT NULL,
    CONSTRAINT usage_batch_counts_make_sense CHECK (((accepted >= 0) AND (duplicates >= 0) AND (duplicates <= accepted) AND (rejected >= 0))),
    CONSTRAINT usage_batch_origin_is_known CHECK (((origin)::text = ANY (ARRAY[('push'::character varying)::text, ('upload'::character varying)::text, ('pull'::character varying)::text])))
);
CREATE TABLE public.ingestion_usageday (
    id bigint NOT NULL,
    day date NOT NULL,
    batch uuid NOT NULL,
    digest character varying(64) NOT NULL,
    events integer NOT NULL,
    received_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.ingestion_usageday ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usageday_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usagedimension (
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL
);
ALTER TABLE public.ingestion_usagedimension ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usagedimension_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usageeventid (
    account_id bigint NOT NULL,
    digest uuid NOT NULL,
    content uuid NOT NULL,
    received_on date NOT NULL,
    batch uuid NOT NULL
);
CREATE TABLE public.ingestion_usagekey (
    id bigint NOT NULL,
    lookup character varying(12) NOT NULL,
    digest bytea NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    account_id bigint NOT NULL,
    created_by_id bigint,
    source_id bigint NOT NULL
);
ALTER TABLE public.ingestion_usagekey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usagekey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usagemeter (
    id bigint NOT NULL,
    month date NOT NULL,
    events bigint NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT usage_meter_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric))
);
ALTER TABLE public.ingestion_usagemeter ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usagemeter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usagemetric (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    label character varying(100) NOT NULL,
    aggregation character varying(20) NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT usage_metric_aggregation_is_known CHECK (((aggregation)::text = ANY (ARRAY[('sum'::character varying)::text, ('average_of_days'::character varying)::text, ('last'::character varying)::text, ('max'::character varying)::text]))),
    CONSTRAINT usage_metric_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.ingestion_usagemetric ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usagemetric_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usageretention (
    id bigint NOT NULL,
    months smallint,
    account_id bigint NOT NULL,
    CONSTRAINT ingestion_usageretention_months_check CHECK ((months >= 0)),
    CONSTRAINT usage_retention_is_1_to_240_months CHECK (((months IS NULL) OR ((months >= 1) AND (months <= 240))))
);
ALTER TABLE public.ingestion_usageretention ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usageretention_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usagesource (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    kind character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    customer_attribute character varying(255) NOT NULL,
    event_id_field character varying(100) DEFAULT ''::character varying NOT NULL,
    CONSTRAINT usage_source_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT usage_source_kind_is_known CHECK (((kind)::text = ANY (ARRAY[('push'::character varying)::text, ('pull'::character varying)::text])))
);
ALTER TABLE public.ingestion_usagesource ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usagesource_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingestion_usageupload (
    id bigint NOT NULL,
    batch uuid NOT NULL,
    file_name character varying(255) NOT NULL,
    path character varying(400) NOT NULL,
    digest character varying(64) NOT NULL,
    status character varying(10) NOT NULL,
    bytes_total bigint NOT NULL,
    bytes_done bigint NOT NULL,
    rows bigint NOT NULL,
    pieces integer NOT NULL,
    accepted bigint NOT NULL,
    duplicates bigint NOT NULL,
    rejected bigint NOT NULL,
    reasons jsonb NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    actor_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL,
    actor_user_id bigint,
    source_id bigint NOT NULL,
    rounded bigint NOT NULL,
    cancel_requested_at timestamp with time zone,
    CONSTRAINT ingestion_usageupload_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT usage_upload_status_is_known CHECK (((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text, ('done'::character varying)::text, ('failed'::character varying)::text, ('voided'::character varying)::text, ('canceled'::character varying)::text])))
);
ALTER TABLE public.ingestion_usageupload ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ingestion_usageupload_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_anomaly (
    id bigint NOT NULL,
    key character varying(24) NOT NULL,
    dimension character varying(300) NOT NULL,
    value text NOT NULL,
    label text NOT NULL,
    currency character varying(60) NOT NULL,
    kind character varying(10) NOT NULL,
    severity character varying(10) NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    ongoing boolean NOT NULL,
    actual numeric(38,18) NOT NULL,
    expected numeric(38,18) NOT NULL,
    impact numeric(38,18) NOT NULL,
    month_end_impact numeric(38,18) NOT NULL,
    days jsonb NOT NULL,
    causes jsonb NOT NULL,
    gone_at timestamp with time zone,
    found_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    is_counted boolean NOT NULL,
    "overlaps" jsonb NOT NULL,
    incident_id bigint,
    CONSTRAINT anomaly_days_are_in_order CHECK ((first_day <= last_day))
);
ALTER TABLE public.insights_anomaly ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_anomaly_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_anomalyrun (
    id bigint NOT NULL,
    data_version character varying(60) NOT NULL,
    data_through date,
    finished_at timestamp with time zone,
    series integer NOT NULL,
    error text NOT NULL,
    account_id bigint NOT NULL,
    asks integer NOT NULL,
    asks_seen integer NOT NULL,
    parts jsonb,
    CONSTRAINT insights_anomalyrun_asks_check CHECK ((asks >= 0)),
    CONSTRAINT insights_anomalyrun_asks_seen_check CHECK ((asks_seen >= 0)),
    CONSTRAINT insights_anomalyrun_series_check CHECK ((series >= 0))
);
ALTER TABLE public.insights_anomalyrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_anomalyrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_anomalysettings (
    id bigint NOT NULL,
    watches character varying(300)[] NOT NULL,
    minimum_impacts jsonb NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.insights_anomalysettings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_anomalysettings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_derivedeventrun (
    id bigint NOT NULL,
    data_version character varying(80) NOT NULL,
    finished_at timestamp with time zone,
    error text NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.insights_derivedeventrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_derivedeventrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_importedsaving (
    id bigint NOT NULL,
    recommendation_id character varying(300) NOT NULL,
    action character varying(60) NOT NULL,
    resource_id text CONSTRAINT insights_importedsaving_resource_arn_not_null NOT NULL,
    resource_type character varying(100) NOT NULL,
    current text NOT NULL,
    recommended text NOT NULL,
    sub_account character varying(100) CONSTRAINT insights_importedsaving_aws_account_not_null NOT NULL,
    sub_account_name character varying(255) CONSTRAINT insights_importedsaving_aws_account_name_not_null NOT NULL,
    region character varying(60) NOT NULL,
    found_by character varying(60) NOT NULL,
    effort character varying(20) NOT NULL,
    restart_needed boolean,
    rollback_possible boolean,
    lookback_days integer,
    monthly_cost numeric(38,18),
    monthly_saving numeric(38,18) NOT NULL,
    currency character varying(3) NOT NULL,
    refreshed_at timestamp with time zone,
    imported_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    commitment character varying(300) NOT NULL,
    covers_compute boolean NOT NULL,
    formula text NOT NULL,
    is_shared boolean NOT NULL,
    rule character varying(40) NOT NULL,
    term character varying(10) NOT NULL,
    CONSTRAINT imported_saving_is_not_negative CHECK ((monthly_saving >= (0)::numeric)),
    CONSTRAINT insights_importedsaving_lookback_days_check CHECK ((lookback_days >= 0))
);
ALTER TABLE public.insights_importedsaving ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_importedsaving_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_incident (
    id bigint NOT NULL,
    key character varying(24) NOT NULL,
    state character varying(10) NOT NULL,
    severity character varying(10) NOT NULL,
    currency character varying(60) NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    ongoing boolean NOT NULL,
    actual numeric(38,18) NOT NULL,
    expected numeric(38,18) NOT NULL,
    expected_low numeric(38,18) NOT NULL,
    expected_high numeric(38,18) NOT NULL,
    impact numeric(38,18) NOT NULL,
    month_end_impact numeric(38,18) NOT NULL,
    shared_impact numeric(38,18) NOT NULL,
    note text NOT NULL,
    marked_by_label character varying(254) NOT NULL,
    marked_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    headline_id bigint NOT NULL,
    marked_by_id bigint,
    source_id bigint NOT NULL,
    CONSTRAINT incident_days_are_in_order CHECK ((first_day <= last_day)),
    CONSTRAINT incident_state_is_known CHECK (((state)::text = ANY (ARRAY[('open'::character varying)::text, ('expected'::character varying)::text, ('resolved'::character varying)::text])))
);
ALTER TABLE public.insights_incident ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_incident_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_recommendationrefresh (
    id bigint NOT NULL,
    rule character varying(40) NOT NULL,
    origin character varying(4) NOT NULL,
    tried_at timestamp with time zone NOT NULL,
    succeeded_at timestamp with time zone,
    kept integer NOT NULL,
    left_out integer NOT NULL,
    gaps jsonb NOT NULL,
    error text NOT NULL,
    is_denied boolean NOT NULL,
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    CONSTRAINT insights_recommendationrefresh_kept_check CHECK ((kept >= 0)),
    CONSTRAINT insights_recommendationrefresh_left_out_check CHECK ((left_out >= 0)),
    CONSTRAINT recommendation_refresh_origin_is_known CHECK (((origin)::text = ANY (ARRAY[('file'::character varying)::text, ('api'::character varying)::text])))
);
ALTER TABLE public.insights_recommendationrefresh ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_recommendationrefresh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.insights_savingsdismissal (
    id bigint NOT NULL,
    key character varying(24) NOT NULL,
    status character varying(10) NOT NULL,
    reason text NOT NULL,
    acted_on date,
    rule character varying(40) NOT NULL,
    title text NOT NULL,
    currency character varying(60) NOT NULL,
    monthly_saving numeric(38,18),
    monthly_cost numeric(38,18) NOT NULL,
    scope jsonb NOT NULL,
    marked_by_label character varying(254) NOT NULL,
    marked_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    marked_by_id bigint,
    CONSTRAINT savings_acted_has_a_day CHECK ((((acted_on IS NULL) AND ((status)::text = 'dismissed'::text)) OR ((acted_on IS NOT NULL) AND ((status)::text = 'acted'::text))))
);
ALTER TABLE public.insights_savingsdismissal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.insights_savingsdismissal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.issues_issuetracker (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    kind character varying(10) NOT NULL,
    config jsonb NOT NULL,
    credentials text NOT NULL,
    credentials_changed_at timestamp with time zone NOT NULL,
    tested_at timestamp with time zone,
    cursor jsonb NOT NULL,
    next_poll_at timestamp with time zone NOT NULL,
    polled_at timestamp with time zone,
    verified_at timestamp with time zone,
    failures integer NOT NULL,
    error text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    CONSTRAINT issue_tracker_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT issues_issuetracker_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.issues_issuetracker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issues_issuetracker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.issues_savingissue (
    id bigint NOT NULL,
    saving_key character varying(24) NOT NULL,
    state character varying(12) NOT NULL,
    content jsonb NOT NULL,
    saving jsonb NOT NULL,
    marker character varying(40) NOT NULL,
    request_id uuid NOT NULL,
    remote_id character varying(100) NOT NULL,
    remote_key character varying(100) NOT NULL,
    url character varying(500) NOT NULL,
    remote_status character varying(100) NOT NULL,
    note text NOT NULL,
    closed_at timestamp with time zone,
    checked_at timestamp with time zone,
    marked_at timestamp with time zone,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    created_by_id bigint,
    tracker_id bigint NOT NULL,
    CONSTRAINT issues_savingissue_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT saving_issue_closed_at_a_time CHECK ((((closed_at IS NOT NULL) AND ((state)::text = ANY (ARRAY[('completed'::character varying)::text, ('not_planned'::character varying)::text]))) OR ((NOT ((state)::text = ANY (ARRAY[('completed'::character varying)::text, ('not_planned'::character varying)::text]))) AND (closed_at IS NULL)))),
    CONSTRAINT saving_issue_has_an_issue CHECK ((((state)::text = ANY (ARRAY[('creating'::character varying)::text, ('failed'::character varying)::text])) OR (NOT ((remote_id)::text = ''::text)))),
    CONSTRAINT saving_issue_is_due_while_creating CHECK ((((next_attempt_at IS NOT NULL) AND ((state)::text = 'creating'::text)) OR ((NOT ((state)::text = 'creating'::text)) AND (next_attempt_at IS NULL))))
);
ALTER TABLE public.issues_savingissue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issues_savingissue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lake_lakesegment (
    id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    source_id bigint NOT NULL,
    month date NOT NULL,
    path character varying(200) NOT NULL,
    columns jsonb NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    checksum character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    retired_at timestamp with time zone,
    account_id bigint NOT NULL,
    summarised_at timestamp with time zone,
    carried_by date,
    magnitudes jsonb,
    CONSTRAINT lake_segment_carried_by_a_first_day CHECK (((carried_by IS NULL) OR ((EXTRACT(day FROM carried_by) = (1)::numeric) AND ((kind)::text = 'cost'::text)))),
    CONSTRAINT lake_segment_days_in_order CHECK ((first_day <= last_day)),
    CONSTRAINT lake_segment_kind_known CHECK (((kind)::text = ANY (ARRAY[('cost'::character varying)::text, ('usage'::character varying)::text]))),
    CONSTRAINT lake_segment_month_is_a_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
    CONSTRAINT lake_segment_not_empty CHECK (((bytes > 0) AND (rows > 0)))
);
ALTER TABLE public.lake_lakesegment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lake_lakesegment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lake_lakesummary (
    id bigint NOT NULL,
    path character varying(200) NOT NULL,
    without jsonb NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    checksum character varying(64) NOT NULL,
    account_id bigint NOT NULL,
    segment_id bigint NOT NULL,
    CONSTRAINT lake_summary_not_empty CHECK (((bytes > 0) AND (rows > 0)))
);
ALTER TABLE public.lake_lakesummary ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lake_lakesummary_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lake_usageflushtrouble (
    id bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    error character varying(500) NOT NULL,
    retry_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT lake_usageflushtrouble_attempts_check CHECK ((attempts >= 0))
);
ALTER TABLE public.lake_usageflushtrouble ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lake_usageflushtrouble_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lake_usageinbox (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    keys json,
    size integer,
    payload bytea NOT NULL
)
PARTITION BY HASH (account_id);
ALTER TABLE ONLY public.lake_usageinbox ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_0 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_0 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_1 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_1 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_10 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_10 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_11 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_11 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_12 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_12 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_13 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_13 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_14 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_14 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_15 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_15 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_2 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_2 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_3 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_3 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_4 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_4 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_5 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_5 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_6 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_6 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_7 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_7 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_8 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_8 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.lake_usageinbox_of_9 (
    account_id bigint CONSTRAINT lake_usageinbox_account_id_not_null1 NOT NULL,
    source_id bigint CONSTRAINT lake_usageinbox_source_id_not_null1 NOT NULL,
    batch uuid CONSTRAINT lake_usageinbox_batch_not_null1 NOT NULL,
    received_at timestamp with time zone CONSTRAINT lake_usageinbox_received_at_not_null1 NOT NULL,
    events integer CONSTRAINT lake_usageinbox_events_not_null NOT NULL,
    first_day date CONSTRAINT lake_usageinbox_first_day_not_null NOT NULL,
    last_day date CONSTRAINT lake_usageinbox_last_day_not_null NOT NULL,
    keys json,
    size integer,
    payload bytea CONSTRAINT lake_usageinbox_payload_not_null NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY public.lake_usageinbox_of_9 ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE public.mfa_authenticator (
    id bigint NOT NULL,
    type character varying(20) NOT NULL,
    data jsonb NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone
);
ALTER TABLE public.mfa_authenticator ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mfa_authenticator_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.notifications_notification (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    severity character varying(10) NOT NULL,
    title character varying(200) NOT NULL,
    text character varying(500) NOT NULL,
    path character varying(2000) NOT NULL,
    key character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    admins_only boolean NOT NULL,
    currency character varying(100) DEFAULT ''::character varying NOT NULL,
    CONSTRAINT notification_has_a_title CHECK ((NOT ((title)::text = ''::text)))
);
ALTER TABLE public.notifications_notification ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notifications_notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.notifications_notificationread (
    id bigint NOT NULL,
    read_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    notification_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.notifications_notificationread ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notifications_notificationread_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.notifications_notificationreader (
    id bigint NOT NULL,
    read_until timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.notifications_notificationreader ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notifications_notificationreader_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.receipts_answerreceipt (
    id bigint NOT NULL,
    code character varying(16) NOT NULL,
    at timestamp with time zone NOT NULL,
    tool character varying(64) NOT NULL,
    arguments text NOT NULL,
    cost_access character varying(32) NOT NULL,
    expressions character varying(32) NOT NULL,
    rates character varying(32) NOT NULL,
    engine character varying(100) NOT NULL,
    first_day date,
    last_day date,
    has_usage boolean NOT NULL,
    summary character varying(600) NOT NULL,
    answer bytea NOT NULL,
    account_id bigint NOT NULL,
    state_id bigint NOT NULL
);
ALTER TABLE public.receipts_answerreceipt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.receipts_answerreceipt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.receipts_answerstate (
    id bigint NOT NULL,
    digest character varying(32) NOT NULL,
    segments text NOT NULL,
    source_state text NOT NULL,
    first_used_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.receipts_answerstate ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.receipts_answerstate_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.receipts_receiptretention (
    id bigint NOT NULL,
    days smallint NOT NULL,
    bill_days smallint NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT receipt_bill_days_are_bounded CHECK (((bill_days >= 0) AND (bill_days <= 1100))),
    CONSTRAINT receipt_days_are_bounded CHECK (((days >= 7) AND (days <= 1100))),
    CONSTRAINT receipts_receiptretention_bill_days_check CHECK ((bill_days >= 0)),
    CONSTRAINT receipts_receiptretention_days_check CHECK ((days >= 0))
);
ALTER TABLE public.receipts_receiptretention ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.receipts_receiptretention_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.reports_reportschedule (
    id bigint NOT NULL,
    day smallint NOT NULL,
    sent_month date,
    sent_at timestamp with time zone,
    requested_at timestamp with time zone,
    problem text NOT NULL,
    paused_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    created_by_id bigint,
    delivery_id bigint,
    team_id bigint,
    format character varying(20) NOT NULL,
    hour smallint NOT NULL,
    time_zone character varying(64) NOT NULL,
    CONSTRAINT report_schedule_day_is_of_every_month CHECK (((day >= 1) AND (day <= 28))),
    CONSTRAINT report_schedule_hour_is_of_a_day CHECK ((hour <= 23)),
    CONSTRAINT reports_reportschedule_day_check CHECK ((day >= 0)),
    CONSTRAINT reports_reportschedule_hour_check CHECK ((hour >= 0))
);
ALTER TABLE public.reports_reportschedule ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.reports_reportschedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_assertionclient (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    access character varying(10) NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    application_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    account_id bigint,
    CONSTRAINT assertion_client_access_is_known CHECK (((access)::text = ANY (ARRAY[('read'::character varying)::text, ('read_write'::character varying)::text]))),
    CONSTRAINT assertion_client_has_a_name CHECK ((NOT ((name)::text = ''::text)))
);
ALTER TABLE public.sso_assertionclient ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_assertionclient_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_emaildomain (
    id bigint NOT NULL,
    domain character varying(253) NOT NULL,
    record character varying(100) NOT NULL,
    verified_at timestamp with time zone,
    confirmed_by character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    provider_id bigint NOT NULL,
    CONSTRAINT sso_domain_is_lower_case CHECK ((((domain)::text = lower((domain)::text)) AND (NOT ((domain)::text = ''::text))))
);
ALTER TABLE public.sso_emaildomain ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_emaildomain_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_groupmapping (
    id bigint NOT NULL,
    "group" character varying(255) NOT NULL,
    role character varying(10) NOT NULL,
    team_id bigint,
    account_id bigint NOT NULL,
    CONSTRAINT group_mapping_has_a_group CHECK ((NOT (("group")::text = ''::text))),
    CONSTRAINT group_mapping_has_a_target CHECK (((NOT ((role)::text = ''::text)) OR (team_id IS NOT NULL))),
    CONSTRAINT group_mapping_makes_no_owner CHECK ((NOT ((role)::text = 'owner'::text)))
);
ALTER TABLE public.sso_groupmapping ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_groupmapping_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_identity (
    id bigint NOT NULL,
    subject character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone NOT NULL,
    user_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    CONSTRAINT identity_has_a_subject CHECK ((NOT ((subject)::text = ''::text)))
);
ALTER TABLE public.sso_identity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_identity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_identityassertion (
    id bigint NOT NULL,
    assertion_digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    provider_id bigint NOT NULL
);
ALTER TABLE public.sso_identityassertion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_identityassertion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_identityprovider (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    protocol character varying(4) NOT NULL,
    name character varying(100) NOT NULL,
    issuer character varying(500) NOT NULL,
    client_id character varying(300) NOT NULL,
    sealed_client_secret text NOT NULL,
    sign_on_url character varying(1000) NOT NULL,
    certificates text NOT NULL,
    groups_attribute character varying(200) NOT NULL,
    default_role character varying(10) NOT NULL,
    creates_people boolean NOT NULL,
    is_enforced boolean NOT NULL,
    used_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    account_id bigint,
    created_by_id bigint,
    requires_factor_claim boolean NOT NULL,
    disabled_at timestamp with time zone,
    has_own_redirect_uri boolean NOT NULL,
    CONSTRAINT identity_provider_disabled_is_of_the_service CHECK (((disabled_at IS NULL) OR (account_id IS NULL))),
    CONSTRAINT identity_provider_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT identity_provider_has_an_issuer CHECK ((NOT ((issuer)::text = ''::text))),
    CONSTRAINT identity_provider_is_complete CHECK (((((protocol)::text = 'oidc'::text) AND (NOT ((client_id)::text = ''::text))) OR (((protocol)::text = 'saml'::text) AND (NOT ((sign_on_url)::text = ''::text)) AND (NOT (certificates = ''::text))))),
    CONSTRAINT identity_provider_makes_no_owner CHECK ((NOT ((default_role)::text = 'owner'::text)))
);
ALTER TABLE public.sso_identityprovider ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_identityprovider_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_samlassertion (
    id bigint NOT NULL,
    assertion_digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    provider_id bigint NOT NULL
);
ALTER TABLE public.sso_samlassertion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_samlassertion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_scimgroup (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    display_name character varying(255) NOT NULL,
    external_id character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    CONSTRAINT scim_group_has_a_name CHECK ((NOT ((display_name)::text = ''::text)))
);
ALTER TABLE public.sso_scimgroup ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_scimgroup_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_scimgroupmember (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    group_id bigint NOT NULL,
    member_id bigint NOT NULL
);
ALTER TABLE public.sso_scimgroupmember ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_scimgroupmember_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_scimtoken (
    id bigint NOT NULL,
    lookup character varying(12) NOT NULL,
    digest bytea NOT NULL,
    created_by_label character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    account_id bigint NOT NULL,
    created_by_id bigint,
    provider_id bigint NOT NULL
);
ALTER TABLE public.sso_scimtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_scimtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_scimuser (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    user_name character varying(255) NOT NULL,
    external_id character varying(255) NOT NULL,
    display_name character varying(255) NOT NULL,
    formatted_name character varying(255) NOT NULL,
    given_name character varying(255) NOT NULL,
    family_name character varying(255) NOT NULL,
    emails jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    user_id bigint NOT NULL,
    CONSTRAINT scim_user_has_a_name CHECK ((NOT ((user_name)::text = ''::text)))
);
ALTER TABLE public.sso_scimuser ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_scimuser_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sso_signinattempt (
    id bigint NOT NULL,
    token_digest bytea NOT NULL,
    sealed_state text NOT NULL,
    next_url character varying(2000) NOT NULL,
    sealed_identity text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    provider_id bigint NOT NULL
);
ALTER TABLE public.sso_signinattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sso_signinattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.unitcosts_customeralias (
    id bigint NOT NULL,
    value character varying(500) NOT NULL,
    customer_id character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT customer_alias_is_whole CHECK (((NOT ((value)::text = ''::text)) AND (NOT ((customer_id)::text = ''::text))))
);
ALTER TABLE public.unitcosts_customeralias ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.unitcosts_customeralias_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.unitcosts_customerkey (
    id bigint NOT NULL,
    dimension character varying(300) NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT customer_key_names_a_dimension CHECK ((NOT ((dimension)::text = ''::text)))
);
ALTER TABLE public.unitcosts_customerkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.unitcosts_customerkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.unitcosts_unitmetric (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    description character varying(500) NOT NULL,
    filters jsonb NOT NULL,
    basis character varying(20) NOT NULL,
    charge_categories jsonb NOT NULL,
    splits character varying(10) NOT NULL,
    usage_metric character varying(100) NOT NULL,
    per bigint NOT NULL,
    mode character varying(20) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    usage_filters jsonb NOT NULL,
    CONSTRAINT unit_metric_is_named_and_divides CHECK (((NOT ((name)::text = ''::text)) AND (NOT ((usage_metric)::text = ''::text)))),
    CONSTRAINT unit_metric_scale_is_positive CHECK (((per)::numeric > (0)::numeric)),
    CONSTRAINT unitcosts_unitmetric_per_7882dce6_check CHECK ((per >= 0))
);
ALTER TABLE public.unitcosts_unitmetric ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.unitcosts_unitmetric_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.unitcosts_usagedimensionmapping (
    id bigint NOT NULL,
    cost_dimension character varying(300) NOT NULL,
    usage_dimension character varying(300) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT usage_dimension_mapping_is_whole CHECK (((NOT ((cost_dimension)::text = ''::text)) AND (NOT ((usage_dimension)::text = ''::text))))
);
ALTER TABLE public.unitcosts_usagedimensionmapping ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.unitcosts_usagedimensionmapping_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_0 FOR VALUES WITH (modulus 16, remainder 0);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_1 FOR VALUES WITH (modulus 16, remainder 1);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_10 FOR VALUES WITH (modulus 16, remainder 10);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_11 FOR VALUES WITH (modulus 16, remainder 11);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_12 FOR VALUES WITH (modulus 16, remainder 12);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_13 FOR VALUES WITH (modulus 16, remainder 13);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_14 FOR VALUES WITH (modulus 16, remainder 14);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_15 FOR VALUES WITH (modulus 16, remainder 15);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_2 FOR VALUES WITH (modulus 16, remainder 2);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_3 FOR VALUES WITH (modulus 16, remainder 3);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_4 FOR VALUES WITH (modulus 16, remainder 4);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_5 FOR VALUES WITH (modulus 16, remainder 5);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_6 FOR VALUES WITH (modulus 16, remainder 6);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_7 FOR VALUES WITH (modulus 16, remainder 7);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_8 FOR VALUES WITH (modulus 16, remainder 8);
ALTER TABLE ONLY public.lake_usageinbox ATTACH PARTITION public.lake_usageinbox_of_9 FOR VALUES WITH (modulus 16, remainder 9);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_email_987c8728_uniq UNIQUE (user_id, email);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_key_key UNIQUE (key);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.accounts_accountdeletion
    ADD CONSTRAINT accounts_accountdeletion_account_number_key UNIQUE (account_number);
ALTER TABLE ONLY public.accounts_accountdeletion
    ADD CONSTRAINT accounts_accountdeletion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_auditentry
    ADD CONSTRAINT accounts_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_clientassertion
    ADD CONSTRAINT accounts_clientassertion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_glossaryterm
    ADD CONSTRAINT accounts_glossaryterm_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_mcpkey
    ADD CONSTRAINT accounts_mcpkey_lookup_key UNIQUE (lookup);
ALTER TABLE ONLY public.accounts_mcpkey
    ADD CONSTRAINT accounts_mcpkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_id_token_id_key UNIQUE (id_token_id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_source_refresh_token_id_key UNIQUE (source_refresh_token_id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_token_checksum_key UNIQUE (token_checksum);
ALTER TABLE ONLY public.accounts_oauthapplication
    ADD CONSTRAINT accounts_oauthapplication_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.accounts_oauthapplication
    ADD CONSTRAINT accounts_oauthapplication_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthconnection
    ADD CONSTRAINT accounts_oauthconnection_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthdevicegrant
    ADD CONSTRAINT accounts_oauthdevicegrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthdevicegrant
    ADD CONSTRAINT accounts_oauthdevicegrant_unique_device_code UNIQUE (device_code);
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_code_key UNIQUE (code);
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_jti_key UNIQUE (jti);
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_access_token_id_key UNIQUE (access_token_id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_token_checksum_revoked_660c784a_uniq UNIQUE (token_checksum, revoked);
ALTER TABLE ONLY public.accounts_securityevent
    ADD CONSTRAINT accounts_securityevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_serviceaccount
    ADD CONSTRAINT accounts_serviceaccount_connection_id_key UNIQUE (connection_id);
ALTER TABLE ONLY public.accounts_serviceaccount
    ADD CONSTRAINT accounts_serviceaccount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT accounts_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.accounts_unsentmail
    ADD CONSTRAINT accounts_unsentmail_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_group_id_59c0b32f_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permi_user_id_permission_id_2ab516c2_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.activity_activityretention
    ADD CONSTRAINT activity_activityretention_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.activity_assistantcall
    ADD CONSTRAINT activity_assistantcall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.activity_assistantcallcount
    ADD CONSTRAINT activity_assistantcallcount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.activity_activityretention
    ADD CONSTRAINT activity_retention_once UNIQUE (account_id);
ALTER TABLE ONLY public.ai_spend_aiprice
    ADD CONSTRAINT ai_price_unique UNIQUE (account_id, model_key, token_type, valid_from);
ALTER TABLE ONLY public.ai_spend_aiprice
    ADD CONSTRAINT ai_spend_aiprice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertfiring
    ADD CONSTRAINT alert_firing_once UNIQUE (subscription_id, key);
ALTER TABLE ONLY public.alerts_alertrecipient
    ADD CONSTRAINT alert_recipient_once UNIQUE (account_id, address);
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alert_subscription_unique UNIQUE (account_id, fingerprint);
ALTER TABLE ONLY public.alerts_alertchannel
    ADD CONSTRAINT alerts_alertchannel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertevaluation
    ADD CONSTRAINT alerts_alertevaluation_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.alerts_alertevaluation
    ADD CONSTRAINT alerts_alertevaluation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertfiring
    ADD CONSTRAINT alerts_alertfiring_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertrecipient
    ADD CONSTRAINT alerts_alertrecipient_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscription_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_eventfiring
    ADD CONSTRAINT alerts_eventfiring_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_eventsubscription
    ADD CONSTRAINT alerts_eventsubscription_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_costtag
    ADD CONSTRAINT allocation_costtag_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_sharedcostsplit
    ADD CONSTRAINT allocation_sharedcostsplit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_team
    ADD CONSTRAINT allocation_team_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_teamkey
    ADD CONSTRAINT allocation_teamkey_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.allocation_teamkey
    ADD CONSTRAINT allocation_teamkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_teammember
    ADD CONSTRAINT allocation_teammember_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.allocation_teamvalue
    ADD CONSTRAINT allocation_teamvalue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_anomaly
    ADD CONSTRAINT anomaly_key_unique UNIQUE (account_id, key);
ALTER TABLE ONLY public.receipts_answerreceipt
    ADD CONSTRAINT answer_receipt_once UNIQUE (account_id, code);
ALTER TABLE ONLY public.receipts_answerstate
    ADD CONSTRAINT answer_state_once UNIQUE (account_id, digest);
ALTER TABLE ONLY public.sso_samlassertion
    ADD CONSTRAINT assertion_used_once UNIQUE (provider_id, assertion_digest);
ALTER TABLE ONLY public.activity_assistantcallcount
    ADD CONSTRAINT assistant_call_count_once UNIQUE (account_id, day, method, name, credential_kind, credential_id, outcome, bucket);
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_entry_in_one_delivery UNIQUE (webhook_id, entry_id);
ALTER TABLE ONLY public.audit_webhooks_auditwebhook
    ADD CONSTRAINT audit_webhook_one_an_account UNIQUE (account_id);
ALTER TABLE ONLY public.audit_webhooks_auditdelivery
    ADD CONSTRAINT audit_webhooks_auditdelivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_webhooks_auditdeliveryentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_webhooks_auditwebhook
    ADD CONSTRAINT audit_webhooks_auditwebhook_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.backup_backuprun
    ADD CONSTRAINT backup_backuprun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_billingperiod
    ADD CONSTRAINT billing_period_unique UNIQUE (source_id, issuer, billing_period);
ALTER TABLE ONLY public.budgets_budgetamount
    ADD CONSTRAINT budget_amount_unique UNIQUE (budget_id, starts_on);
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.budgets_budgetamount
    ADD CONSTRAINT budgets_budgetamount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_events_changeeventretention
    ADD CONSTRAINT change_event_retention_once UNIQUE (account_id);
ALTER TABLE ONLY public.change_events_changeevent
    ADD CONSTRAINT change_events_changeevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_events_changeeventretention
    ADD CONSTRAINT change_events_changeeventretention_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_events_eventkey
    ADD CONSTRAINT change_events_eventkey_lookup_key UNIQUE (lookup);
ALTER TABLE ONLY public.change_events_eventkey
    ADD CONSTRAINT change_events_eventkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_events_eventmonth
    ADD CONSTRAINT change_events_eventmonth_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_events_eventsource
    ADD CONSTRAINT change_events_eventsource_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_clientassertion
    ADD CONSTRAINT client_assertion_used_once UNIQUE (application_id, assertion_digest);
ALTER TABLE ONLY public.costs_closedmonthsum
    ADD CONSTRAINT closed_month_sum_unique UNIQUE (closed_month_id, source_id, currency);
ALTER TABLE ONLY public.costs_closedmonth
    ADD CONSTRAINT closed_month_unique UNIQUE (account_id, month);
ALTER TABLE ONLY public.connections_connectionpagecache
    ADD CONSTRAINT connections_connectionpagecache_connection_id_key UNIQUE (connection_id);
ALTER TABLE ONLY public.connections_connectionpagecache
    ADD CONSTRAINT connections_connectionpagecache_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconnection_event_source_id_key UNIQUE (event_source_id);
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconnection_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconnection_source_id_key UNIQUE (source_id);
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconnection_usage_source_id_key UNIQUE (usage_source_id);
ALTER TABLE ONLY public.connections_costkey
    ADD CONSTRAINT connections_costkey_lookup_key UNIQUE (lookup);
ALTER TABLE ONLY public.connections_costkey
    ADD CONSTRAINT connections_costkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_costpush
    ADD CONSTRAINT connections_costpush_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_costpush
    ADD CONSTRAINT connections_costpush_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.connections_costpushpart
    ADD CONSTRAINT connections_costpushpart_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_costsync
    ADD CONSTRAINT connections_costsync_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.connections_syncperiod
    ADD CONSTRAINT connections_syncperiod_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costaccessassignment_invitation_id_key UNIQUE (invitation_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costaccessassignment_membership_id_key UNIQUE (membership_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costaccessassignment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costaccessassignment_provider_id_key UNIQUE (provider_id);
ALTER TABLE ONLY public.cost_access_costaccesslimit
    ADD CONSTRAINT cost_access_costaccesslimit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cost_access_formermemberlimit
    ADD CONSTRAINT cost_access_formermemberlimit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_alert_channel UNIQUE (alert_channel_id, limit_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_alert_subscription UNIQUE (alert_subscription_id, limit_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_connection UNIQUE (connection_id, limit_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_data_export UNIQUE (data_export_id, limit_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_key UNIQUE (key_id, limit_id);
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_limit_once_of_report_schedule UNIQUE (report_schedule_id, limit_id);
ALTER TABLE ONLY public.cost_access_formermemberlimit
    ADD CONSTRAINT cost_access_one_former_limit UNIQUE (account_id, user_id);
ALTER TABLE ONLY public.connections_costpushpart
    ADD CONSTRAINT cost_push_part_unique UNIQUE (push_id, number);
ALTER TABLE ONLY public.costs_costsource
    ADD CONSTRAINT cost_source_name_unique UNIQUE (account_id, name);
ALTER TABLE ONLY public.costs_billingperiod
    ADD CONSTRAINT costs_billingperiod_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_closedmonth
    ADD CONSTRAINT costs_closedmonth_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_closedmonthsum
    ADD CONSTRAINT costs_closedmonthsum_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_columnmapping
    ADD CONSTRAINT costs_columnmapping_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_columnmapping
    ADD CONSTRAINT costs_columnmapping_source_id_key UNIQUE (source_id);
ALTER TABLE ONLY public.costs_contractcommitment
    ADD CONSTRAINT costs_contractcommitment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_costimport
    ADD CONSTRAINT costs_costimport_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_costsource
    ADD CONSTRAINT costs_costsource_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_costview
    ADD CONSTRAINT costs_costview_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.costs_costview
    ADD CONSTRAINT costs_costview_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_dailycostsnapshot
    ADD CONSTRAINT costs_dailycostsnapshot_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_importreviewsettings
    ADD CONSTRAINT costs_importreviewsettings_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.costs_importreviewsettings
    ADD CONSTRAINT costs_importreviewsettings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_invoicedetail
    ADD CONSTRAINT costs_invoicedetail_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_invoicetotal
    ADD CONSTRAINT costs_invoicetotal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_savedview
    ADD CONSTRAINT costs_savedview_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_sourcecompleteness
    ADD CONSTRAINT costs_sourcecompleteness_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_sourcecompleteness
    ADD CONSTRAINT costs_sourcecompleteness_source_id_key UNIQUE (source_id);
ALTER TABLE ONLY public.costs_sourceoverlap
    ADD CONSTRAINT costs_sourceoverlap_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.unitcosts_customeralias
    ADD CONSTRAINT customer_alias_value_unique UNIQUE (account_id, value);
ALTER TABLE ONLY public.ingestion_customer
    ADD CONSTRAINT customer_id_unique UNIQUE (account_id, customer_id);
ALTER TABLE ONLY public.costs_dailycostsnapshot
    ADD CONSTRAINT daily_cost_snapshot_unique UNIQUE (source_id, day, currency, age);
ALTER TABLE ONLY public.dashboards_dashboard
    ADD CONSTRAINT dashboards_dashboard_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dashboards_widget
    ADD CONSTRAINT dashboards_widget_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.data_exports_dataexportmonth
    ADD CONSTRAINT data_export_month_unique UNIQUE (export_id, dataset, month);
ALTER TABLE ONLY public.data_exports_dataexport
    ADD CONSTRAINT data_exports_dataexport_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.data_exports_dataexport
    ADD CONSTRAINT data_exports_dataexport_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.data_exports_dataexportmonth
    ADD CONSTRAINT data_exports_dataexportmonth_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.data_exports_dataexportrun
    ADD CONSTRAINT data_exports_dataexportrun_execution_id_key UNIQUE (execution_id);
ALTER TABLE ONLY public.data_exports_dataexportrun
    ADD CONSTRAINT data_exports_dataexportrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts_eventfiring
    ADD CONSTRAINT event_firing_once UNIQUE (subscription_id, key);
ALTER TABLE ONLY public.change_events_eventmonth
    ADD CONSTRAINT event_month_unique UNIQUE (source_id, month);
ALTER TABLE ONLY public.alerts_eventsubscription
    ADD CONSTRAINT event_subscription_once UNIQUE (account_id, public_id);
ALTER TABLE ONLY public.exchange_rates_exchangerate
    ADD CONSTRAINT exchange_rate_unique UNIQUE (account_id, day, base, quote, source);
ALTER TABLE ONLY public.exchange_rates_exchangerate
    ADD CONSTRAINT exchange_rates_exchangerate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.exchange_rates_exchangeratetable
    ADD CONSTRAINT exchange_rates_exchangeratetable_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.exchange_rates_exchangeratetable
    ADD CONSTRAINT exchange_rates_exchangeratetable_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.exports_accountexport
    ADD CONSTRAINT exports_accountexport_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.exports_accountexport
    ADD CONSTRAINT exports_accountexport_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.sso_identityassertion
    ADD CONSTRAINT identity_assertion_used_once UNIQUE (provider_id, assertion_digest);
ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT identity_once_a_person UNIQUE (provider_id, user_id);
ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT identity_subject_unique UNIQUE (provider_id, subject);
ALTER TABLE ONLY public.insights_importedsaving
    ADD CONSTRAINT imported_saving_once_in_a_source UNIQUE (source_id, recommendation_id);
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT incident_key_unique UNIQUE (account_id, key);
ALTER TABLE ONLY public.ingestion_customer
    ADD CONSTRAINT ingestion_customer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_pushanswer
    ADD CONSTRAINT ingestion_pushanswer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_rejectedevent
    ADD CONSTRAINT ingestion_rejectedevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_rejectedline
    ADD CONSTRAINT ingestion_rejectedline_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usagebatch
    ADD CONSTRAINT ingestion_usagebatch_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usageday
    ADD CONSTRAINT ingestion_usageday_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usagedimension
    ADD CONSTRAINT ingestion_usagedimension_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usageeventid
    ADD CONSTRAINT ingestion_usageeventid_pkey PRIMARY KEY (account_id, digest);
ALTER TABLE ONLY public.ingestion_usagekey
    ADD CONSTRAINT ingestion_usagekey_lookup_key UNIQUE (lookup);
ALTER TABLE ONLY public.ingestion_usagekey
    ADD CONSTRAINT ingestion_usagekey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usagemeter
    ADD CONSTRAINT ingestion_usagemeter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usagemetric
    ADD CONSTRAINT ingestion_usagemetric_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usageretention
    ADD CONSTRAINT ingestion_usageretention_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.ingestion_usageretention
    ADD CONSTRAINT ingestion_usageretention_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usagesource
    ADD CONSTRAINT ingestion_usagesource_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usageupload
    ADD CONSTRAINT ingestion_usageupload_batch_key UNIQUE (batch);
ALTER TABLE ONLY public.ingestion_usageupload
    ADD CONSTRAINT ingestion_usageupload_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_anomaly
    ADD CONSTRAINT insights_anomaly_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_anomalyrun
    ADD CONSTRAINT insights_anomalyrun_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.insights_anomalyrun
    ADD CONSTRAINT insights_anomalyrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_anomalysettings
    ADD CONSTRAINT insights_anomalysettings_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.insights_anomalysettings
    ADD CONSTRAINT insights_anomalysettings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_derivedeventrun
    ADD CONSTRAINT insights_derivedeventrun_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.insights_derivedeventrun
    ADD CONSTRAINT insights_derivedeventrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_importedsaving
    ADD CONSTRAINT insights_importedsaving_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT insights_incident_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_recommendationrefresh
    ADD CONSTRAINT insights_recommendationrefresh_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.insights_recommendationrefresh
    ADD CONSTRAINT insights_recommendationrefresh_source_id_key UNIQUE (source_id);
ALTER TABLE ONLY public.insights_savingsdismissal
    ADD CONSTRAINT insights_savingsdismissal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.costs_invoicetotal
    ADD CONSTRAINT invoice_total_unique UNIQUE (account_id, issuer, invoice_id, billing_period, billing_account_id, currency);
ALTER TABLE ONLY public.issues_issuetracker
    ADD CONSTRAINT issues_issuetracker_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.issues_savingissue
    ADD CONSTRAINT issues_savingissue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lake_lakesegment
    ADD CONSTRAINT lake_lakesegment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lake_lakesummary
    ADD CONSTRAINT lake_lakesummary_path_key UNIQUE (path);
ALTER TABLE ONLY public.lake_lakesummary
    ADD CONSTRAINT lake_lakesummary_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lake_lakesegment
    ADD CONSTRAINT lake_segment_path_unique UNIQUE (path);
ALTER TABLE ONLY public.lake_usageflushtrouble
    ADD CONSTRAINT lake_usageflushtrouble_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.lake_usageflushtrouble
    ADD CONSTRAINT lake_usageflushtrouble_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT membership_once_per_person UNIQUE (account_id, user_id);
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notifications_notification
    ADD CONSTRAINT notification_once UNIQUE (account_id, key);
ALTER TABLE ONLY public.notifications_notificationread
    ADD CONSTRAINT notification_read_once UNIQUE (notification_id, user_id);
ALTER TABLE ONLY public.notifications_notificationreader
    ADD CONSTRAINT notification_reader_once UNIQUE (account_id, user_id);
ALTER TABLE ONLY public.notifications_notification
    ADD CONSTRAINT notifications_notification_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notifications_notificationread
    ADD CONSTRAINT notifications_notificationread_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notifications_notificationreader
    ADD CONSTRAINT notifications_notificationreader_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT oauth_refresh_token_once UNIQUE (token_checksum);
ALTER TABLE ONLY public.ingestion_pushanswer
    ADD CONSTRAINT push_answer_key_unique UNIQUE (account_id, key);
ALTER TABLE ONLY public.receipts_answerreceipt
    ADD CONSTRAINT receipts_answerreceipt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.receipts_answerstate
    ADD CONSTRAINT receipts_answerstate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.receipts_receiptretention
    ADD CONSTRAINT receipts_receiptretention_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.receipts_receiptretention
    ADD CONSTRAINT receipts_receiptretention_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT report_schedule_unique UNIQUE NULLS NOT DISTINCT (channel_id, team_id);
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedule_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.issues_savingissue
    ADD CONSTRAINT saving_issue_once_a_tracker UNIQUE (tracker_id, saving_key);
ALTER TABLE ONLY public.insights_savingsdismissal
    ADD CONSTRAINT savings_dismissal_key_unique UNIQUE (account_id, key);
ALTER TABLE ONLY public.sso_scimgroupmember
    ADD CONSTRAINT scim_group_member_once UNIQUE (group_id, member_id);
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT scim_user_once_a_person UNIQUE (provider_id, user_id);
ALTER TABLE ONLY public.costs_sourceoverlap
    ADD CONSTRAINT source_overlap_unique UNIQUE (source_id, other_id, month, currency);
ALTER TABLE ONLY public.sso_assertionclient
    ADD CONSTRAINT sso_assertionclient_application_id_key UNIQUE (application_id);
ALTER TABLE ONLY public.sso_assertionclient
    ADD CONSTRAINT sso_assertionclient_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_emaildomain
    ADD CONSTRAINT sso_domain_once_a_provider UNIQUE (provider_id, domain);
ALTER TABLE ONLY public.sso_emaildomain
    ADD CONSTRAINT sso_emaildomain_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_groupmapping
    ADD CONSTRAINT sso_groupmapping_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_identityassertion
    ADD CONSTRAINT sso_identityassertion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_identityprovider
    ADD CONSTRAINT sso_identityprovider_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_identityprovider
    ADD CONSTRAINT sso_identityprovider_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.sso_samlassertion
    ADD CONSTRAINT sso_samlassertion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_scimgroup
    ADD CONSTRAINT sso_scimgroup_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_scimgroup
    ADD CONSTRAINT sso_scimgroup_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.sso_scimgroupmember
    ADD CONSTRAINT sso_scimgroupmember_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_scimtoken
    ADD CONSTRAINT sso_scimtoken_lookup_key UNIQUE (lookup);
ALTER TABLE ONLY public.sso_scimtoken
    ADD CONSTRAINT sso_scimtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT sso_scimuser_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT sso_scimuser_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.sso_signinattempt
    ADD CONSTRAINT sso_signinattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sso_signinattempt
    ADD CONSTRAINT sso_signinattempt_token_digest_key UNIQUE (token_digest);
ALTER TABLE ONLY public.connections_syncperiod
    ADD CONSTRAINT sync_period_unique UNIQUE (connection_id, month);
ALTER TABLE ONLY public.allocation_teammember
    ADD CONSTRAINT team_member_unique UNIQUE (team_id, membership_id);
ALTER TABLE ONLY public.unitcosts_customeralias
    ADD CONSTRAINT unitcosts_customeralias_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.unitcosts_customerkey
    ADD CONSTRAINT unitcosts_customerkey_account_id_key UNIQUE (account_id);
ALTER TABLE ONLY public.unitcosts_customerkey
    ADD CONSTRAINT unitcosts_customerkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.unitcosts_unitmetric
    ADD CONSTRAINT unitcosts_unitmetric_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.unitcosts_usagedimensionmapping
    ADD CONSTRAINT unitcosts_usagedimensionmapping_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ingestion_usageday
    ADD CONSTRAINT usage_day_unique UNIQUE (source_id, day);
ALTER TABLE ONLY public.unitcosts_usagedimensionmapping
    ADD CONSTRAINT usage_dimension_mapping_unique UNIQUE (account_id, cost_dimension);
ALTER TABLE ONLY public.ingestion_usagedimension
    ADD CONSTRAINT usage_dimension_name_unique UNIQUE (source_id, name);
ALTER TABLE ONLY public.ingestion_usagemeter
    ADD CONSTRAINT usage_meter_month_unique UNIQUE (account_id, month);
ALTER TABLE ONLY public.ingestion_usagemetric
    ADD CONSTRAINT usage_metric_name_unique UNIQUE (account_id, name);
ALTER TABLE ONLY public.ingestion_usagesource
    ADD CONSTRAINT usage_source_name_unique UNIQUE (account_id, name);
ALTER TABLE ONLY public.dashboards_widget
    ADD CONSTRAINT widget_order_unique UNIQUE (dashboard_id, "order") DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_widget
    ADD CONSTRAINT widget_place_unique UNIQUE (dashboard_id, x, y) DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX account_emailaddress_email_03be32b2 ON public.account_emailaddress USING btree (email);
CREATE INDEX account_emailaddress_email_03be32b2_like ON public.account_emailaddress USING btree (email varchar_pattern_ops);
CREATE INDEX account_emailaddress_user_id_2c513194 ON public.account_emailaddress USING btree (user_id);
CREATE INDEX account_emailconfirmation_email_address_id_5b7f8c58 ON public.account_emailconfirmation USING btree (email_address_id);
CREATE INDEX account_emailconfirmation_key_f43612bd_like ON public.account_emailconfirmation USING btree (key varchar_pattern_ops);
CREATE INDEX accounts_account_delete_after_64a800b9 ON public.accounts_account USING btree (delete_after);
CREATE INDEX accounts_account_slug_30fcc553_like ON public.accounts_account USING btree (slug varchar_pattern_ops);
CREATE INDEX accounts_account_transfer_to_id_3ebe1178 ON public.accounts_account USING btree (transfer_to_id);
CREATE INDEX accounts_auditentry_account_id_95e36c79 ON public.accounts_auditentry USING btree (account_id);
CREATE INDEX accounts_auditentry_actor_user_id_479c7b23 ON public.accounts_auditentry USING btree (actor_user_id);
CREATE INDEX accounts_clientassertion_application_id_0fd4ccb9 ON public.accounts_clientassertion USING btree (application_id);
CREATE INDEX accounts_clientassertion_expires_at_f2ad53bd ON public.accounts_clientassertion USING btree (expires_at);
CREATE INDEX accounts_glossaryterm_account_id_d3370225 ON public.accounts_glossaryterm USING btree (account_id);
CREATE INDEX accounts_invitation_account_id_8e9dd036 ON public.accounts_invitation USING btree (account_id);
CREATE INDEX accounts_invitation_invited_by_id_94a21efc ON public.accounts_invitation USING btree (invited_by_id);
CREATE INDEX accounts_mcpkey_account_id_9306fc86 ON public.accounts_mcpkey USING btree (account_id);
CREATE INDEX accounts_mcpkey_created_by_id_e450a72d ON public.accounts_mcpkey USING btree (created_by_id);
CREATE INDEX accounts_mcpkey_lookup_648ffe96_like ON public.accounts_mcpkey USING btree (lookup varchar_pattern_ops);
CREATE INDEX accounts_membership_account_id_4cff857d ON public.accounts_membership USING btree (account_id);
CREATE INDEX accounts_membership_user_id_487fb39e ON public.accounts_membership USING btree (user_id);
CREATE INDEX accounts_oa_token_f_300deb_idx ON public.accounts_oauthrefreshtoken USING btree (token_family);
CREATE INDEX accounts_oauthaccesstoken_application_id_436354e4 ON public.accounts_oauthaccesstoken USING btree (application_id);
CREATE INDEX accounts_oauthaccesstoken_connection_id_313fdb84 ON public.accounts_oauthaccesstoken USING btree (connection_id);
CREATE INDEX accounts_oauthaccesstoken_token_checksum_f1222217_like ON public.accounts_oauthaccesstoken USING btree (token_checksum varchar_pattern_ops);
CREATE INDEX accounts_oauthaccesstoken_user_id_a2eadd3d ON public.accounts_oauthaccesstoken USING btree (user_id);
CREATE INDEX accounts_oauthapplication_client_id_d05a9cd2_like ON public.accounts_oauthapplication USING btree (client_id varchar_pattern_ops);
CREATE INDEX accounts_oauthapplication_client_secret_80388aa2 ON public.accounts_oauthapplication USING btree (client_secret);
CREATE INDEX accounts_oauthapplication_client_secret_80388aa2_like ON public.accounts_oauthapplication USING btree (client_secret varchar_pattern_ops);
CREATE INDEX accounts_oauthapplication_user_id_384d35ea ON public.accounts_oauthapplication USING btree (user_id);
CREATE INDEX accounts_oauthconnection_account_id_be1eb880 ON public.accounts_oauthconnection USING btree (account_id);
CREATE INDEX accounts_oauthconnection_application_id_893ec6bf ON public.accounts_oauthconnection USING btree (application_id);
CREATE INDEX accounts_oauthconnection_user_id_e27f4eb0 ON public.accounts_oauthconnection USING btree (user_id);
CREATE INDEX accounts_oauthdevicegrant_client_id_6506e70e ON public.accounts_oauthdevicegrant USING btree (client_id);
CREATE INDEX accounts_oauthdevicegrant_client_id_6506e70e_like ON public.accounts_oauthdevicegrant USING btree (client_id varchar_pattern_ops);
CREATE INDEX accounts_oauthdevicegrant_user_id_f170310b ON public.accounts_oauthdevicegrant USING btree (user_id);
CREATE INDEX accounts_oauthgrant_application_id_393bb0fd ON public.accounts_oauthgrant USING btree (application_id);
CREATE INDEX accounts_oauthgrant_code_8687493e_like ON public.accounts_oauthgrant USING btree (code varchar_pattern_ops);
CREATE INDEX accounts_oauthgrant_connection_id_cfe6c4a1 ON public.accounts_oauthgrant USING btree (connection_id);
CREATE INDEX accounts_oauthgrant_user_id_3384734b ON public.accounts_oauthgrant USING btree (user_id);
CREATE INDEX accounts_oauthidtoken_application_id_479ceb89 ON public.accounts_oauthidtoken USING btree (application_id);
CREATE INDEX accounts_oauthidtoken_user_id_95fc1d45 ON public.accounts_oauthidtoken USING btree (user_id);
CREATE INDEX accounts_oauthrefreshtoken_application_id_921cb0d5 ON public.accounts_oauthrefreshtoken USING btree (application_id);
CREATE INDEX accounts_oauthrefreshtoken_connection_id_b206dfed ON public.accounts_oauthrefreshtoken USING btree (connection_id);
CREATE INDEX accounts_oauthrefreshtoken_user_id_47d0ed87 ON public.accounts_oauthrefreshtoken USING btree (user_id);
CREATE INDEX accounts_securityevent_user_id_b711491d ON public.accounts_securityevent USING btree (user_id);
CREATE INDEX accounts_serviceaccount_account_id_6b05f4ae ON public.accounts_serviceaccount USING btree (account_id);
CREATE INDEX accounts_serviceaccount_created_by_id_ca27cdba ON public.accounts_serviceaccount USING btree (created_by_id);
CREATE INDEX accounts_session_expire_date_5bbfba7c ON public.accounts_session USING btree (expire_date);
CREATE INDEX accounts_session_session_key_b186966f_like ON public.accounts_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX accounts_session_user_id_d5aaed01 ON public.accounts_session USING btree (user_id);
CREATE INDEX accounts_unsentmail_next_attempt_at_d69938d0 ON public.accounts_unsentmail USING btree (next_attempt_at);
CREATE INDEX accounts_user_groups_group_id_bd11a704 ON public.accounts_user_groups USING btree (group_id);
CREATE INDEX accounts_user_groups_user_id_52b62117 ON public.accounts_user_groups USING btree (user_id);
CREATE INDEX accounts_user_user_permissions_permission_id_113bb443 ON public.accounts_user_user_permissions USING btree (permission_id);
CREATE INDEX accounts_user_user_permissions_user_id_e4f0a161 ON public.accounts_user_user_permissions USING btree (user_id);
CREATE INDEX activity_activityretention_account_id_9db71e3e ON public.activity_activityretention USING btree (account_id);
CREATE INDEX ai_spend_aiprice_account_id_c3670423 ON public.ai_spend_aiprice USING btree (account_id);
CREATE INDEX ai_spend_aiprice_recorded_by_id_dda91c04 ON public.ai_spend_aiprice USING btree (recorded_by_id);
CREATE UNIQUE INDEX alert_channel_name_unique ON public.alerts_alertchannel USING btree (account_id, lower((name)::text));
CREATE INDEX alert_delivery_by_time ON public.alerts_alertdelivery USING btree (account_id, created_at DESC);
CREATE INDEX alert_delivery_due ON public.alerts_alertdelivery USING btree (next_attempt_at) WHERE ((status)::text = 'waiting'::text);
CREATE INDEX alert_recipient_requests ON public.alerts_alertrecipient USING btree (address, requested_at);
CREATE INDEX alerts_alertchannel_account_id_dcb1a095 ON public.alerts_alertchannel USING btree (account_id);
CREATE INDEX alerts_alertchannel_created_by_id_d46bf2ff ON public.alerts_alertchannel USING btree (created_by_id);
CREATE INDEX alerts_alertdelivery_account_id_1ef2d8d8 ON public.alerts_alertdelivery USING btree (account_id);
CREATE INDEX alerts_alertdelivery_channel_id_288634ab ON public.alerts_alertdelivery USING btree (channel_id);
CREATE INDEX alerts_alertdelivery_event_subscription_id_0e7072d3 ON public.alerts_alertdelivery USING btree (event_subscription_id);
CREATE INDEX alerts_alertdelivery_firing_id_ed4b9ee2 ON public.alerts_alertdelivery USING btree (firing_id);
CREATE INDEX alerts_alertdelivery_resend_of_id_b73d8b30 ON public.alerts_alertdelivery USING btree (resend_of_id);
CREATE INDEX alerts_alertfiring_account_id_425a006e ON public.alerts_alertfiring USING btree (account_id);
CREATE INDEX alerts_alertfiring_subscription_id_143f223d ON public.alerts_alertfiring USING btree (subscription_id);
CREATE INDEX alerts_alertrecipient_account_id_fccaa015 ON public.alerts_alertrecipient USING btree (account_id);
CREATE INDEX alerts_alertsubscription_account_id_604b8cf6 ON public.alerts_alertsubscription USING btree (account_id);
CREATE INDEX alerts_alertsubscription_budget_id_c67801fa ON public.alerts_alertsubscription USING btree (budget_id);
CREATE INDEX alerts_alertsubscription_channel_id_98f51258 ON public.alerts_alertsubscription USING btree (channel_id);
CREATE INDEX alerts_alertsubscription_cost_source_id_46593676 ON public.alerts_alertsubscription USING btree (cost_source_id);
CREATE INDEX alerts_alertsubscription_cost_tag_id_d92898d9 ON public.alerts_alertsubscription USING btree (cost_tag_id);
CREATE INDEX alerts_alertsubscription_created_by_id_c54bb760 ON public.alerts_alertsubscription USING btree (created_by_id);
CREATE INDEX alerts_alertsubscription_saved_view_id_25991b34 ON public.alerts_alertsubscription USING btree (saved_view_id);
CREATE INDEX alerts_alertsubscription_team_id_b3b78da5 ON public.alerts_alertsubscription USING btree (team_id);
CREATE INDEX alerts_alertsubscription_unit_metric_id_14fbf702 ON public.alerts_alertsubscription USING btree (unit_metric_id);
CREATE INDEX alerts_eventfiring_account_id_eede0c32 ON public.alerts_eventfiring USING btree (account_id);
CREATE INDEX alerts_eventfiring_subscription_id_59c621b3 ON public.alerts_eventfiring USING btree (subscription_id);
CREATE INDEX alerts_eventsubscription_account_id_7dd764c4 ON public.alerts_eventsubscription USING btree (account_id);
CREATE INDEX alerts_eventsubscription_connection_id_64d090cb ON public.alerts_eventsubscription USING btree (connection_id);
CREATE INDEX alerts_eventsubscription_mcp_key_id_b5642659 ON public.alerts_eventsubscription USING btree (mcp_key_id);
CREATE INDEX allocation_costtag_account_id_ebe3a2a5 ON public.allocation_costtag USING btree (account_id);
CREATE INDEX allocation_costtag_created_by_id_62f2dbd1 ON public.allocation_costtag USING btree (created_by_id);
CREATE INDEX allocation_sharedcostsplit_account_id_a3b1ce77 ON public.allocation_sharedcostsplit USING btree (account_id);
CREATE INDEX allocation_team_account_id_c08c103a ON public.allocation_team USING btree (account_id);
CREATE INDEX allocation_teammember_account_id_4628d766 ON public.allocation_teammember USING btree (account_id);
CREATE INDEX allocation_teammember_membership_id_ec31d8fc ON public.allocation_teammember USING btree (membership_id);
CREATE INDEX allocation_teammember_team_id_46f1ecfe ON public.allocation_teammember USING btree (team_id);
CREATE INDEX allocation_teamvalue_account_id_0e1f3272 ON public.allocation_teamvalue USING btree (account_id);
CREATE INDEX allocation_teamvalue_team_id_d09890d5 ON public.allocation_teamvalue USING btree (team_id);
CREATE INDEX anomaly_by_day ON public.insights_anomaly USING btree (account_id, last_day DESC);
CREATE INDEX answer_receipt_by_age ON public.receipts_answerreceipt USING btree (account_id, at);
CREATE UNIQUE INDEX assertion_client_name_unique ON public.sso_assertionclient USING btree (provider_id, lower((name)::text));
CREATE INDEX assistant_call_of_account ON public.activity_assistantcall USING btree (account_id, at, id);
CREATE UNIQUE INDEX audit_delivery_one_at_a_time ON public.audit_webhooks_auditdelivery USING btree (webhook_id) WHERE ((status)::text = 'waiting'::text);
CREATE INDEX audit_newest_of_account ON public.accounts_auditentry USING btree (account_id, at DESC);
CREATE INDEX audit_webhooks_auditdelivery_account_id_13a003c0 ON public.audit_webhooks_auditdelivery USING btree (account_id);
CREATE INDEX audit_webhooks_auditdelivery_webhook_id_bf4f11d8 ON public.audit_webhooks_auditdelivery USING btree (webhook_id);
CREATE INDEX audit_webhooks_auditdeliveryentry_account_id_0384bc08 ON public.audit_webhooks_auditdeliveryentry USING btree (account_id);
CREATE INDEX audit_webhooks_auditdeliveryentry_delivery_id_fbcf2722 ON public.audit_webhooks_auditdeliveryentry USING btree (delivery_id);
CREATE INDEX audit_webhooks_auditdeliveryentry_entry_id_c3c0a9ef ON public.audit_webhooks_auditdeliveryentry USING btree (entry_id);
CREATE INDEX audit_webhooks_auditdeliveryentry_webhook_id_1f723780 ON public.audit_webhooks_auditdeliveryentry USING btree (webhook_id);
CREATE INDEX audit_webhooks_auditwebhook_account_id_e0df30a1 ON public.audit_webhooks_auditwebhook USING btree (account_id);
CREATE INDEX audit_webhooks_auditwebhook_created_by_id_3c6604f3 ON public.audit_webhooks_auditwebhook USING btree (created_by_id);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX backup_run_by_time ON public.backup_backuprun USING btree (started_at DESC);
CREATE INDEX billing_period_of_account ON public.costs_billingperiod USING btree (account_id, billing_period);
CREATE UNIQUE INDEX budget_name_unique ON public.budgets_budget USING btree (account_id, lower((name)::text));
CREATE INDEX budgets_budget_account_id_f168e615 ON public.budgets_budget USING btree (account_id);
CREATE INDEX budgets_budget_cost_source_id_b4e3ce05 ON public.budgets_budget USING btree (cost_source_id);
CREATE INDEX budgets_budget_cost_tag_id_d832854f ON public.budgets_budget USING btree (cost_tag_id);
CREATE INDEX budgets_budget_created_by_id_61cc51bf ON public.budgets_budget USING btree (created_by_id);
CREATE INDEX budgets_budget_team_id_df403d18 ON public.budgets_budget USING btree (team_id);
CREATE INDEX budgets_budgetamount_account_id_6981be03 ON public.budgets_budgetamount USING btree (account_id);
CREATE INDEX budgets_budgetamount_budget_id_890dda47 ON public.budgets_budgetamount USING btree (budget_id);
CREATE UNIQUE INDEX change_event_id_unique_in_account ON public.change_events_changeevent USING btree (account_id, external_id) WHERE ((source_id IS NULL) AND (NOT ((external_id)::text = ''::text)));
CREATE UNIQUE INDEX change_event_id_unique_in_source ON public.change_events_changeevent USING btree (source_id, external_id) WHERE ((source_id IS NOT NULL) AND (NOT ((external_id)::text = ''::text)));
CREATE INDEX change_event_newest ON public.change_events_changeevent USING btree (account_id, occurred_at DESC, id DESC);
CREATE INDEX change_event_of_source ON public.change_events_changeevent USING btree (source_id, occurred_at DESC);
CREATE INDEX change_events_changeevent_account_id_deff06ae ON public.change_events_changeevent USING btree (account_id);
CREATE INDEX change_events_changeevent_created_by_id_5d2b731a ON public.change_events_changeevent USING btree (created_by_id);
CREATE INDEX change_events_changeevent_source_id_08b7f51c ON public.change_events_changeevent USING btree (source_id);
CREATE INDEX change_events_changeeventretention_account_id_9185e4e0 ON public.change_events_changeeventretention USING btree (account_id);
CREATE INDEX change_events_eventkey_account_id_fa4ef636 ON public.change_events_eventkey USING btree (account_id);
CREATE INDEX change_events_eventkey_created_by_id_34f6ae83 ON public.change_events_eventkey USING btree (created_by_id);
CREATE INDEX change_events_eventkey_lookup_e79dfd18_like ON public.change_events_eventkey USING btree (lookup varchar_pattern_ops);
CREATE INDEX change_events_eventkey_source_id_cc86b166 ON public.change_events_eventkey USING btree (source_id);
CREATE INDEX change_events_eventmonth_account_id_ab576b31 ON public.change_events_eventmonth USING btree (account_id);
CREATE INDEX change_events_eventmonth_source_id_af78aff0 ON public.change_events_eventmonth USING btree (source_id);
CREATE INDEX change_events_eventsource_account_id_55efff25 ON public.change_events_eventsource USING btree (account_id);
CREATE INDEX change_events_eventsource_created_by_id_0d23e369 ON public.change_events_eventsource USING btree (created_by_id);
CREATE INDEX connections_connectionpagecache_account_id_6ab84308 ON public.connections_connectionpagecache USING btree (account_id);
CREATE INDEX connections_costconnection_account_id_021f57f5 ON public.connections_costconnection USING btree (account_id);
CREATE INDEX connections_costconnection_created_by_id_fea41a91 ON public.connections_costconnection USING btree (created_by_id);
CREATE INDEX connections_costkey_account_id_e562288b ON public.connections_costkey USING btree (account_id);
CREATE INDEX connections_costkey_created_by_id_97940fb2 ON public.connections_costkey USING btree (created_by_id);
CREATE INDEX connections_costkey_lookup_5da60175_like ON public.connections_costkey USING btree (lookup varchar_pattern_ops);
CREATE INDEX connections_costkey_source_id_9d7033d2 ON public.connections_costkey USING btree (source_id);
CREATE INDEX connections_costpush_account_id_57b3f0b3 ON public.connections_costpush USING btree (account_id);
CREATE INDEX connections_costpush_cost_import_id_2ff76388 ON public.connections_costpush USING btree (cost_import_id);
CREATE INDEX connections_costpush_source_id_3561b8c8 ON public.connections_costpush USING btree (source_id);
CREATE INDEX connections_costpushpart_account_id_9ecec776 ON public.connections_costpushpart USING btree (account_id);
CREATE INDEX connections_costpushpart_push_id_a757d519 ON public.connections_costpushpart USING btree (push_id);
CREATE INDEX connections_costsync_account_id_7e770c4c ON public.connections_costsync USING btree (account_id);
CREATE INDEX connections_costsync_actor_user_id_6a93d0d7 ON public.connections_costsync USING btree (actor_user_id);
CREATE INDEX connections_costsync_connection_id_634ab4e0 ON public.connections_costsync USING btree (connection_id);
CREATE INDEX connections_syncperiod_account_id_82e7771b ON public.connections_syncperiod USING btree (account_id);
CREATE INDEX connections_syncperiod_connection_id_eacca8b1 ON public.connections_syncperiod USING btree (connection_id);
CREATE INDEX connections_syncperiod_cost_import_id_c9f8e6d3 ON public.connections_syncperiod USING btree (cost_import_id);
CREATE INDEX contract_commitment_by_id ON public.costs_contractcommitment USING btree (account_id, commitment_id);
CREATE INDEX cost_access_costaccessassignment_account_id_747e3f4d ON public.cost_access_costaccessassignment USING btree (account_id);
CREATE INDEX cost_access_costaccessassignment_limit_id_16687f65 ON public.cost_access_costaccessassignment USING btree (limit_id);
CREATE INDEX cost_access_costaccesslimit_account_id_1e2cef71 ON public.cost_access_costaccesslimit USING btree (account_id);
CREATE INDEX cost_access_costaccesslimit_earlier_of_id_a1aee658 ON public.cost_access_costaccesslimit USING btree (earlier_of_id);
CREATE INDEX cost_access_formermemberlimit_account_id_67f61e8b ON public.cost_access_formermemberlimit USING btree (account_id);
CREATE INDEX cost_access_formermemberlimit_limit_id_acd021d6 ON public.cost_access_formermemberlimit USING btree (limit_id);
CREATE INDEX cost_access_formermemberlimit_user_id_a944d90a ON public.cost_access_formermemberlimit USING btree (user_id);
CREATE UNIQUE INDEX cost_access_limit_name_unique ON public.cost_access_costaccesslimit USING btree (account_id, lower((name)::text)) WHERE (earlier_of_id IS NULL);
CREATE INDEX cost_connection_due ON public.connections_costconnection USING btree (next_sync_at) WHERE (paused_at IS NULL);
CREATE INDEX cost_import_due ON public.costs_costimport USING btree (status, heartbeat_at) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE INDEX cost_import_newest ON public.costs_costimport USING btree (account_id, id DESC);
CREATE UNIQUE INDEX cost_key_one_living_key_a_source ON public.connections_costkey USING btree (source_id) WHERE (revoked_at IS NULL);
CREATE INDEX cost_push_due ON public.connections_costpush USING btree (committed_at, id) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE INDEX cost_push_expiring ON public.connections_costpush USING btree (expires_at) WHERE ((status)::text = 'open'::text);
CREATE INDEX cost_push_newest ON public.connections_costpush USING btree (source_id, id DESC);
CREATE INDEX cost_sync_due ON public.connections_costsync USING btree (id) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE INDEX cost_sync_newest ON public.connections_costsync USING btree (connection_id, id DESC);
CREATE UNIQUE INDEX cost_sync_one_at_a_time ON public.connections_costsync USING btree (connection_id) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE UNIQUE INDEX cost_tag_key_unique ON public.allocation_costtag USING btree (account_id, lower((key)::text));
CREATE INDEX costs_billingperiod_account_id_8359e540 ON public.costs_billingperiod USING btree (account_id);
CREATE INDEX costs_billingperiod_source_id_74ce1d1b ON public.costs_billingperiod USING btree (source_id);
CREATE INDEX costs_closedmonth_account_id_2bc1d2b6 ON public.costs_closedmonth USING btree (account_id);
CREATE INDEX costs_closedmonth_closed_by_id_56507da0 ON public.costs_closedmonth USING btree (closed_by_id);
CREATE INDEX costs_closedmonthsum_account_id_2a73bf24 ON public.costs_closedmonthsum USING btree (account_id);
CREATE INDEX costs_closedmonthsum_closed_month_id_d8cbcb10 ON public.costs_closedmonthsum USING btree (closed_month_id);
CREATE INDEX costs_columnmapping_account_id_6f853ac2 ON public.costs_columnmapping USING btree (account_id);
CREATE INDEX costs_columnmapping_changed_by_id_0dd243ef ON public.costs_columnmapping USING btree (changed_by_id);
CREATE INDEX costs_contractcommitment_account_id_ae2dca34 ON public.costs_contractcommitment USING btree (account_id);
CREATE INDEX costs_contractcommitment_source_id_4433e4da ON public.costs_contractcommitment USING btree (source_id);
CREATE INDEX costs_costimport_account_id_175ff1b3 ON public.costs_costimport USING btree (account_id);
CREATE INDEX costs_costimport_actor_user_id_e09fbe74 ON public.costs_costimport USING btree (actor_user_id);
CREATE INDEX costs_costimport_source_id_4a46745d ON public.costs_costimport USING btree (source_id);
CREATE INDEX costs_costsource_account_id_46289a6b ON public.costs_costsource USING btree (account_id);
CREATE INDEX costs_costsource_created_by_id_8424546c ON public.costs_costsource USING btree (created_by_id);
CREATE INDEX costs_dailycostsnapshot_account_id_672ae512 ON public.costs_dailycostsnapshot USING btree (account_id);
CREATE INDEX costs_dailycostsnapshot_source_id_73622142 ON public.costs_dailycostsnapshot USING btree (source_id);
CREATE INDEX costs_invoicedetail_account_id_5ec16e9b ON public.costs_invoicedetail USING btree (account_id);
CREATE INDEX costs_invoicedetail_source_id_4552954a ON public.costs_invoicedetail USING btree (source_id);
CREATE INDEX costs_invoicetotal_account_id_0041c67e ON public.costs_invoicetotal USING btree (account_id);
CREATE INDEX costs_invoicetotal_entered_by_id_09a15583 ON public.costs_invoicetotal USING btree (entered_by_id);
CREATE INDEX costs_savedview_account_id_195b3499 ON public.costs_savedview USING btree (account_id);
CREATE INDEX costs_savedview_created_by_id_3579032b ON public.costs_savedview USING btree (created_by_id);
CREATE INDEX costs_savedview_owner_id_6e128f8a ON public.costs_savedview USING btree (owner_id);
CREATE INDEX costs_sourcecompleteness_account_id_0676f8ba ON public.costs_sourcecompleteness USING btree (account_id);
CREATE INDEX costs_sourceoverlap_account_id_3d50604f ON public.costs_sourceoverlap USING btree (account_id);
CREATE INDEX costs_sourceoverlap_other_id_a5fee2f4 ON public.costs_sourceoverlap USING btree (other_id);
CREATE INDEX costs_sourceoverlap_source_id_048f2a68 ON public.costs_sourceoverlap USING btree (source_id);
CREATE UNIQUE INDEX dashboard_own_name_unique ON public.dashboards_dashboard USING btree (account_id, owner_id, lower((name)::text)) WHERE (owner_id IS NOT NULL);
CREATE UNIQUE INDEX dashboard_shared_name_unique ON public.dashboards_dashboard USING btree (account_id, lower((name)::text)) WHERE (owner_id IS NULL);
CREATE INDEX dashboards_dashboard_account_id_3222e6b4 ON public.dashboards_dashboard USING btree (account_id);
CREATE INDEX dashboards_dashboard_created_by_id_e420cd3f ON public.dashboards_dashboard USING btree (created_by_id);
CREATE INDEX dashboards_dashboard_owner_id_be824c67 ON public.dashboards_dashboard USING btree (owner_id);
CREATE INDEX dashboards_widget_account_id_786bd2ca ON public.dashboards_widget USING btree (account_id);
CREATE INDEX dashboards_widget_dashboard_id_8714b25b ON public.dashboards_widget USING btree (dashboard_id);
CREATE INDEX data_export_due ON public.data_exports_dataexport USING btree (next_run_at) WHERE (paused_at IS NULL);
CREATE UNIQUE INDEX data_export_name_unique ON public.data_exports_dataexport USING btree (account_id, lower((name)::text));
CREATE UNIQUE INDEX data_export_one_run_at_a_time ON public.data_exports_dataexportrun USING btree (export_id) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE INDEX data_export_run_due ON public.data_exports_dataexportrun USING btree (id) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE INDEX data_export_run_newest ON public.data_exports_dataexportrun USING btree (export_id, id DESC);
CREATE INDEX data_exports_dataexport_account_id_cec53076 ON public.data_exports_dataexport USING btree (account_id);
CREATE INDEX data_exports_dataexport_created_by_id_2b6903a7 ON public.data_exports_dataexport USING btree (created_by_id);
CREATE INDEX data_exports_dataexportmonth_account_id_a7d6a205 ON public.data_exports_dataexportmonth USING btree (account_id);
CREATE INDEX data_exports_dataexportmonth_export_id_dc7837ac ON public.data_exports_dataexportmonth USING btree (export_id);
CREATE INDEX data_exports_dataexportrun_account_id_fe563d52 ON public.data_exports_dataexportrun USING btree (account_id);
CREATE INDEX data_exports_dataexportrun_export_id_6af632c2 ON public.data_exports_dataexportrun USING btree (export_id);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE UNIQUE INDEX event_key_one_living_key_a_source ON public.change_events_eventkey USING btree (source_id) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX event_source_name_unique ON public.change_events_eventsource USING btree (account_id, lower((name)::text));
CREATE INDEX event_subscription_by_end ON public.alerts_eventsubscription USING btree (expires_at);
CREATE INDEX exchange_rates_exchangerate_account_id_d0613b98 ON public.exchange_rates_exchangerate USING btree (account_id);
CREATE INDEX exchange_rates_exchangerate_recorded_by_id_7080bc89 ON public.exchange_rates_exchangerate USING btree (recorded_by_id);
CREATE INDEX exports_accountexport_account_id_901dad02 ON public.exports_accountexport USING btree (account_id);
CREATE UNIQUE INDEX glossary_term_unique ON public.accounts_glossaryterm USING btree (account_id, lower((term)::text));
CREATE UNIQUE INDEX group_mapping_unique ON public.sso_groupmapping USING btree (account_id, lower(("group")::text));
CREATE UNIQUE INDEX identity_provider_name_unique ON public.sso_identityprovider USING btree (account_id, lower((name)::text)) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX identity_provider_one_enforced ON public.sso_identityprovider USING btree (account_id) WHERE is_enforced;
CREATE INDEX incident_by_state_and_day ON public.insights_incident USING btree (account_id, state, last_day DESC);
CREATE INDEX ingestion_customer_account_id_336bff62 ON public.ingestion_customer USING btree (account_id);
CREATE INDEX ingestion_pushanswer_account_id_54471eec ON public.ingestion_pushanswer USING btree (account_id);
CREATE INDEX ingestion_rejectedevent_account_id_cbdc9faf ON public.ingestion_rejectedevent USING btree (account_id);
CREATE INDEX ingestion_rejectedevent_source_id_dee69e7c ON public.ingestion_rejectedevent USING btree (source_id);
CREATE INDEX ingestion_rejectedline_account_id_c57a7267 ON public.ingestion_rejectedline USING btree (account_id);
CREATE INDEX ingestion_rejectedline_upload_id_e20620bf ON public.ingestion_rejectedline USING btree (upload_id);
CREATE INDEX ingestion_usagebatch_account_id_9c7404fc ON public.ingestion_usagebatch USING btree (account_id);
CREATE INDEX ingestion_usagebatch_source_id_25494e4e ON public.ingestion_usagebatch USING btree (source_id);
CREATE INDEX ingestion_usageday_account_id_94bde837 ON public.ingestion_usageday USING btree (account_id);
CREATE INDEX ingestion_usageday_source_id_333c7f0a ON public.ingestion_usageday USING btree (source_id);
CREATE INDEX ingestion_usagedimension_account_id_d56903cf ON public.ingestion_usagedimension USING btree (account_id);
CREATE INDEX ingestion_usagedimension_source_id_3f0dfe4f ON public.ingestion_usagedimension USING btree (source_id);
CREATE INDEX ingestion_usagekey_account_id_3f8b9f95 ON public.ingestion_usagekey USING btree (account_id);
CREATE INDEX ingestion_usagekey_created_by_id_80710d11 ON public.ingestion_usagekey USING btree (created_by_id);
CREATE INDEX ingestion_usagekey_lookup_5048338e_like ON public.ingestion_usagekey USING btree (lookup varchar_pattern_ops);
CREATE INDEX ingestion_usagekey_source_id_4923ec74 ON public.ingestion_usagekey USING btree (source_id);
CREATE INDEX ingestion_usagemeter_account_id_5c19727c ON public.ingestion_usagemeter USING btree (account_id);
CREATE INDEX ingestion_usagemetric_account_id_055c64b9 ON public.ingestion_usagemetric USING btree (account_id);
CREATE INDEX ingestion_usagesource_account_id_29db5192 ON public.ingestion_usagesource USING btree (account_id);
CREATE INDEX ingestion_usagesource_created_by_id_5294569c ON public.ingestion_usagesource USING btree (created_by_id);
CREATE INDEX ingestion_usageupload_account_id_878fc895 ON public.ingestion_usageupload USING btree (account_id);
CREATE INDEX ingestion_usageupload_actor_user_id_d583db36 ON public.ingestion_usageupload USING btree (actor_user_id);
CREATE INDEX ingestion_usageupload_source_id_ff298f88 ON public.ingestion_usageupload USING btree (source_id);
CREATE INDEX insights_anomaly_account_id_c3e50fed ON public.insights_anomaly USING btree (account_id);
CREATE INDEX insights_anomaly_incident_id_12337628 ON public.insights_anomaly USING btree (incident_id);
CREATE INDEX insights_anomaly_source_id_5d9c8d69 ON public.insights_anomaly USING btree (source_id);
CREATE INDEX insights_importedsaving_account_id_19b15f95 ON public.insights_importedsaving USING btree (account_id);
CREATE INDEX insights_importedsaving_source_id_a343ce69 ON public.insights_importedsaving USING btree (source_id);
CREATE INDEX insights_incident_account_id_cf9bc698 ON public.insights_incident USING btree (account_id);
CREATE INDEX insights_incident_headline_id_9a1b7be7 ON public.insights_incident USING btree (headline_id);
CREATE INDEX insights_incident_marked_by_id_78f3e187 ON public.insights_incident USING btree (marked_by_id);
CREATE INDEX insights_incident_source_id_c9ef32d3 ON public.insights_incident USING btree (source_id);
CREATE INDEX insights_recommendationrefresh_account_id_dd500eef ON public.insights_recommendationrefresh USING btree (account_id);
CREATE INDEX insights_savingsdismissal_account_id_67db70d6 ON public.insights_savingsdismissal USING btree (account_id);
CREATE INDEX insights_savingsdismissal_marked_by_id_6e5c0d47 ON public.insights_savingsdismissal USING btree (marked_by_id);
CREATE UNIQUE INDEX invitation_open_once_an_address ON public.accounts_invitation USING btree (account_id, email) WHERE ((accepted_at IS NULL) AND (declined_at IS NULL) AND (withdrawn_at IS NULL));
CREATE INDEX invitation_to_send ON public.accounts_invitation USING btree (send_after) WHERE ((accepted_at IS NULL) AND (declined_at IS NULL) AND (withdrawn_at IS NULL) AND (sent_at IS NULL));
CREATE INDEX invoice_detail_by_period ON public.costs_invoicedetail USING btree (account_id, billing_period);
CREATE INDEX invoice_detail_of_source ON public.costs_invoicedetail USING btree (source_id, billing_period);
CREATE INDEX issue_tracker_due ON public.issues_issuetracker USING btree (next_poll_at);
CREATE UNIQUE INDEX issue_tracker_name_unique ON public.issues_issuetracker USING btree (account_id, lower((name)::text));
CREATE INDEX issues_issuetracker_account_id_b6d8322f ON public.issues_issuetracker USING btree (account_id);
CREATE INDEX issues_issuetracker_created_by_id_cca099e8 ON public.issues_issuetracker USING btree (created_by_id);
CREATE INDEX issues_savingissue_account_id_8db96650 ON public.issues_savingissue USING btree (account_id);
CREATE INDEX issues_savingissue_created_by_id_b2bec620 ON public.issues_savingissue USING btree (created_by_id);
CREATE INDEX issues_savingissue_tracker_id_4c014efd ON public.issues_savingissue USING btree (tracker_id);
CREATE INDEX lake_lakesegment_account_id_d35783ee ON public.lake_lakesegment USING btree (account_id);
CREATE INDEX lake_lakesummary_account_id_f9bafe25 ON public.lake_lakesummary USING btree (account_id);
CREATE INDEX lake_lakesummary_path_dc23b483_like ON public.lake_lakesummary USING btree (path varchar_pattern_ops);
CREATE INDEX lake_lakesummary_segment_id_08461540 ON public.lake_lakesummary USING btree (segment_id);
CREATE INDEX lake_segment_live_days ON public.lake_lakesegment USING btree (account_id, kind, last_day, first_day) WHERE (retired_at IS NULL);
CREATE INDEX lake_segment_live_months ON public.lake_lakesegment USING btree (account_id, kind, source_id, month) WHERE (retired_at IS NULL);
CREATE INDEX lake_segment_retired ON public.lake_lakesegment USING btree (retired_at) WHERE (retired_at IS NOT NULL);
CREATE INDEX lake_segment_to_summarise ON public.lake_lakesegment USING btree (account_id) WHERE (((kind)::text = 'cost'::text) AND (retired_at IS NULL) AND (summarised_at IS NULL));
CREATE UNIQUE INDEX membership_one_owner ON public.accounts_membership USING btree (account_id) WHERE ((role)::text = 'owner'::text);
CREATE INDEX mfa_authenticator_user_id_0c3a50c0 ON public.mfa_authenticator USING btree (user_id);
CREATE INDEX notification_by_age ON public.notifications_notification USING btree (created_at);
CREATE INDEX notification_by_time ON public.notifications_notification USING btree (account_id, created_at DESC);
CREATE INDEX notifications_notification_account_id_e2a0bb0c ON public.notifications_notification USING btree (account_id);
CREATE INDEX notifications_notificationread_account_id_4507dd6e ON public.notifications_notificationread USING btree (account_id);
CREATE INDEX notifications_notificationread_notification_id_bbc9b829 ON public.notifications_notificationread USING btree (notification_id);
CREATE INDEX notifications_notificationread_user_id_bb9e5cef ON public.notifications_notificationread USING btree (user_id);
CREATE INDEX notifications_notificationreader_account_id_56819af3 ON public.notifications_notificationreader USING btree (account_id);
CREATE INDEX notifications_notificationreader_user_id_cf239b35 ON public.notifications_notificationreader USING btree (user_id);
CREATE INDEX oauth_connection_of_member ON public.accounts_oauthconnection USING btree (account_id, user_id);
CREATE UNIQUE INDEX oauth_registration_once ON public.accounts_oauthapplication USING btree (fingerprint) WHERE (NOT ((fingerprint)::text = ''::text));
CREATE INDEX push_answer_by_age ON public.ingestion_pushanswer USING btree (created_at);
CREATE INDEX receipts_answerreceipt_state_id_2d8a7f46 ON public.receipts_answerreceipt USING btree (state_id);
CREATE INDEX rejected_event_of_source ON public.ingestion_rejectedevent USING btree (source_id, received_at DESC);
CREATE INDEX rejected_line_of_upload ON public.ingestion_rejectedline USING btree (upload_id, line);
CREATE INDEX reports_reportschedule_account_id_6e3ac047 ON public.reports_reportschedule USING btree (account_id);
CREATE INDEX reports_reportschedule_channel_id_beadbc73 ON public.reports_reportschedule USING btree (channel_id);
CREATE INDEX reports_reportschedule_created_by_id_7146245b ON public.reports_reportschedule USING btree (created_by_id);
CREATE INDEX reports_reportschedule_delivery_id_dfe39b3b ON public.reports_reportschedule USING btree (delivery_id);
CREATE INDEX reports_reportschedule_team_id_b5079343 ON public.reports_reportschedule USING btree (team_id);
CREATE UNIQUE INDEX saved_view_own_name_unique ON public.costs_savedview USING btree (account_id, owner_id, lower((name)::text)) WHERE (owner_id IS NOT NULL);
CREATE UNIQUE INDEX saved_view_shared_name_unique ON public.costs_savedview USING btree (account_id, lower((name)::text)) WHERE (owner_id IS NULL);
CREATE INDEX saving_issue_due ON public.issues_savingissue USING btree (next_attempt_at) WHERE ((state)::text = 'creating'::text);
CREATE INDEX saving_issue_of_saving ON public.issues_savingissue USING btree (account_id, saving_key);
CREATE UNIQUE INDEX scim_group_name_unique ON public.sso_scimgroup USING btree (provider_id, lower((display_name)::text));
CREATE INDEX scim_user_external_id ON public.sso_scimuser USING btree (provider_id, external_id);
CREATE UNIQUE INDEX scim_user_name_unique ON public.sso_scimuser USING btree (provider_id, lower((user_name)::text));
CREATE INDEX security_newest_of_user ON public.accounts_securityevent USING btree (user_id, at DESC);
CREATE UNIQUE INDEX service_account_name_unique ON public.accounts_serviceaccount USING btree (account_id, lower((name)::text));
CREATE UNIQUE INDEX split_name_unique ON public.allocation_sharedcostsplit USING btree (account_id, lower((name)::text));
CREATE INDEX sso_assertionclient_account_id_ecf78703 ON public.sso_assertionclient USING btree (account_id);
CREATE INDEX sso_assertionclient_provider_id_14487915 ON public.sso_assertionclient USING btree (provider_id);
CREATE UNIQUE INDEX sso_domain_has_one_owner ON public.sso_emaildomain USING btree (domain) WHERE (verified_at IS NOT NULL);
CREATE INDEX sso_emaildomain_provider_id_36faee15 ON public.sso_emaildomain USING btree (provider_id);
CREATE INDEX sso_groupmapping_account_id_b7d83d83 ON public.sso_groupmapping USING btree (account_id);
CREATE INDEX sso_identity_provider_id_cb55f757 ON public.sso_identity USING btree (provider_id);
CREATE INDEX sso_identity_user_id_ad51fd12 ON public.sso_identity USING btree (user_id);
CREATE INDEX sso_identityassertion_expires_at_8268318e ON public.sso_identityassertion USING btree (expires_at);
CREATE INDEX sso_identityassertion_provider_id_36196b89 ON public.sso_identityassertion USING btree (provider_id);
CREATE INDEX sso_identityprovider_account_id_45e93bc0 ON public.sso_identityprovider USING btree (account_id);
CREATE INDEX sso_identityprovider_created_by_id_3bf2056b ON public.sso_identityprovider USING btree (created_by_id);
CREATE INDEX sso_samlassertion_expires_at_42f8cd0f ON public.sso_samlassertion USING btree (expires_at);
CREATE INDEX sso_samlassertion_provider_id_0a84733f ON public.sso_samlassertion USING btree (provider_id);
CREATE INDEX sso_scimgroup_account_id_c481a5a8 ON public.sso_scimgroup USING btree (account_id);
CREATE INDEX sso_scimgroup_provider_id_9d6026cb ON public.sso_scimgroup USING btree (provider_id);
CREATE INDEX sso_scimgroupmember_account_id_2dd39f06 ON public.sso_scimgroupmember USING btree (account_id);
CREATE INDEX sso_scimgroupmember_group_id_aa31bc94 ON public.sso_scimgroupmember USING btree (group_id);
CREATE INDEX sso_scimgroupmember_member_id_9c6fc9d3 ON public.sso_scimgroupmember USING btree (member_id);
CREATE INDEX sso_scimtoken_account_id_27aea251 ON public.sso_scimtoken USING btree (account_id);
CREATE INDEX sso_scimtoken_created_by_id_da6bc519 ON public.sso_scimtoken USING btree (created_by_id);
CREATE INDEX sso_scimtoken_lookup_7107db6f_like ON public.sso_scimtoken USING btree (lookup varchar_pattern_ops);
CREATE INDEX sso_scimtoken_provider_id_981148fd ON public.sso_scimtoken USING btree (provider_id);
CREATE INDEX sso_scimuser_account_id_f939e2a8 ON public.sso_scimuser USING btree (account_id);
CREATE INDEX sso_scimuser_provider_id_1608a1e4 ON public.sso_scimuser USING btree (provider_id);
CREATE INDEX sso_scimuser_user_id_fdf86680 ON public.sso_scimuser USING btree (user_id);
CREATE INDEX sso_signinattempt_expires_at_ba0a385a ON public.sso_signinattempt USING btree (expires_at);
CREATE INDEX sso_signinattempt_provider_id_8a7dfc13 ON public.sso_signinattempt USING btree (provider_id);
CREATE UNIQUE INDEX team_name_unique ON public.allocation_team USING btree (account_id, lower((name)::text));
CREATE UNIQUE INDEX team_value_has_one_team ON public.allocation_teamvalue USING btree (account_id, lower((value)::text));
CREATE UNIQUE INDEX unique_authenticator_type ON public.mfa_authenticator USING btree (user_id, type) WHERE ((type)::text = ANY (ARRAY[('totp'::character varying)::text, ('recovery_codes'::character varying)::text]));
CREATE UNIQUE INDEX unique_primary_email ON public.account_emailaddress USING btree (user_id, "primary") WHERE "primary";
CREATE UNIQUE INDEX unique_verified_email ON public.account_emailaddress USING btree (email) WHERE verified;
CREATE UNIQUE INDEX unit_metric_name_unique ON public.unitcosts_unitmetric USING btree (account_id, lower((name)::text));
CREATE INDEX unitcosts_customeralias_account_id_58e83939 ON public.unitcosts_customeralias USING btree (account_id);
CREATE INDEX unitcosts_unitmetric_account_id_bb8fdd26 ON public.unitcosts_unitmetric USING btree (account_id);
CREATE INDEX unitcosts_usagedimensionmapping_account_id_3b7a1b4f ON public.unitcosts_usagedimensionmapping USING btree (account_id);
CREATE INDEX usage_batch_newest ON public.ingestion_usagebatch USING btree (account_id, received_at DESC);
CREATE INDEX usage_batch_of_source ON public.ingestion_usagebatch USING btree (source_id, received_at DESC);
CREATE INDEX usage_batch_void_asked ON public.ingestion_usagebatch USING btree (account_id) WHERE ((void_asked_at IS NOT NULL) AND (voided_at IS NULL));
CREATE INDEX usage_batch_with_remarks ON public.ingestion_usagebatch USING btree (source_id, received_at DESC) WHERE ((unlikely_times > 0) OR (ignored_fields IS NOT NULL));
CREATE UNIQUE INDEX usage_key_one_living_key_a_source ON public.ingestion_usagekey USING btree (source_id) WHERE (revoked_at IS NULL);
CREATE INDEX usage_upload_due ON public.ingestion_usageupload USING btree (status) WHERE ((status)::text = ANY (ARRAY[('queued'::character varying)::text, ('running'::character varying)::text]));
CREATE UNIQUE INDEX usage_upload_file_once ON public.ingestion_usageupload USING btree (account_id, digest) WHERE (NOT ((status)::text = 'voided'::text));
CREATE INDEX usage_upload_newest ON public.ingestion_usageupload USING btree (source_id, id DESC);
CREATE UNIQUE INDEX user_email_unique ON public.accounts_user USING btree (lower((email)::text));
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_2c513194_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirm_email_address_id_5b7f8c58_fk_account_e FOREIGN KEY (email_address_id) REFERENCES public.account_emailaddress(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_transfer_to_id_3ebe1178_fk_accounts_user_id FOREIGN KEY (transfer_to_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_auditentry
    ADD CONSTRAINT accounts_auditentry_account_id_95e36c79_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_auditentry
    ADD CONSTRAINT accounts_auditentry_actor_user_id_479c7b23_fk_accounts_user_id FOREIGN KEY (actor_user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_clientassertion
    ADD CONSTRAINT accounts_clientasser_application_id_0fd4ccb9_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_glossaryterm
    ADD CONSTRAINT accounts_glossaryter_account_id_d3370225_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_account_id_8e9dd036_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_invited_by_id_94a21efc_fk_accounts_user_id FOREIGN KEY (invited_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_mcpkey
    ADD CONSTRAINT accounts_mcpkey_account_id_9306fc86_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_mcpkey
    ADD CONSTRAINT accounts_mcpkey_created_by_id_e450a72d_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_account_id_4cff857d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_user_id_487fb39e_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_application_id_436354e4_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_connection_id_313fdb84_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_id_token_id_23e98bf5_fk_accounts_ FOREIGN KEY (id_token_id) REFERENCES public.accounts_oauthidtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_source_refresh_token_e41992bc_fk_accounts_ FOREIGN KEY (source_refresh_token_id) REFERENCES public.accounts_oauthrefreshtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_user_id_a2eadd3d_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthapplication
    ADD CONSTRAINT accounts_oauthapplication_user_id_384d35ea_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthconnection
    ADD CONSTRAINT accounts_oauthconnec_account_id_be1eb880_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthconnection
    ADD CONSTRAINT accounts_oauthconnec_application_id_893ec6bf_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthconnection
    ADD CONSTRAINT accounts_oauthconnection_user_id_e27f4eb0_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthdevicegrant
    ADD CONSTRAINT accounts_oauthdevicegrant_user_id_f170310b_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_application_id_393bb0fd_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_connection_id_cfe6c4a1_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_user_id_3384734b_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoke_application_id_479ceb89_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_user_id_95fc1d45_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefres_access_token_id_87f867f7_fk_accounts_ FOREIGN KEY (access_token_id) REFERENCES public.accounts_oauthaccesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefres_application_id_921cb0d5_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefres_connection_id_b206dfed_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_user_id_47d0ed87_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_securityevent
    ADD CONSTRAINT accounts_securityevent_user_id_b711491d_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_serviceaccount
    ADD CONSTRAINT accounts_serviceacco_account_id_6b05f4ae_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_serviceaccount
    ADD CONSTRAINT accounts_serviceacco_connection_id_4bb0b7f7_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_serviceaccount
    ADD CONSTRAINT accounts_serviceacco_created_by_id_ca27cdba_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT accounts_session_user_id_d5aaed01_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_group_id_bd11a704_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_52b62117_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_permission_id_113bb443_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_user_id_e4f0a161_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.activity_activityretention
    ADD CONSTRAINT activity_activityret_account_id_9db71e3e_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.activity_assistantcallcount
    ADD CONSTRAINT activity_assistantca_account_id_24b9616e_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.activity_assistantcall
    ADD CONSTRAINT activity_assistantca_account_id_c8a2312f_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ai_spend_aiprice
    ADD CONSTRAINT ai_spend_aiprice_account_id_c3670423_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ai_spend_aiprice
    ADD CONSTRAINT ai_spend_aiprice_recorded_by_id_dda91c04_fk_accounts_user_id FOREIGN KEY (recorded_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertchannel
    ADD CONSTRAINT alerts_alertchannel_account_id_dcb1a095_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertchannel
    ADD CONSTRAINT alerts_alertchannel_created_by_id_d46bf2ff_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_account_id_1ef2d8d8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_channel_id_288634ab_fk_alerts_al FOREIGN KEY (channel_id) REFERENCES public.alerts_alertchannel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_event_subscription_i_0e7072d3_fk_alerts_ev FOREIGN KEY (event_subscription_id) REFERENCES public.alerts_eventsubscription(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_firing_id_ed4b9ee2_fk_alerts_al FOREIGN KEY (firing_id) REFERENCES public.alerts_alertfiring(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertdelivery
    ADD CONSTRAINT alerts_alertdelivery_resend_of_id_b73d8b30_fk_alerts_al FOREIGN KEY (resend_of_id) REFERENCES public.alerts_alertdelivery(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertevaluation
    ADD CONSTRAINT alerts_alertevaluati_account_id_5ec06516_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertfiring
    ADD CONSTRAINT alerts_alertfiring_account_id_425a006e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertfiring
    ADD CONSTRAINT alerts_alertfiring_subscription_id_143f223d_fk_alerts_al FOREIGN KEY (subscription_id) REFERENCES public.alerts_alertsubscription(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertrecipient
    ADD CONSTRAINT alerts_alertrecipien_account_id_fccaa015_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_account_id_604b8cf6_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_budget_id_c67801fa_fk_budgets_b FOREIGN KEY (budget_id) REFERENCES public.budgets_budget(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_channel_id_98f51258_fk_alerts_al FOREIGN KEY (channel_id) REFERENCES public.alerts_alertchannel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_cost_source_id_46593676_fk_costs_cos FOREIGN KEY (cost_source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_cost_tag_id_d92898d9_fk_allocatio FOREIGN KEY (cost_tag_id) REFERENCES public.allocation_costtag(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_created_by_id_c54bb760_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_saved_view_id_25991b34_fk_costs_sav FOREIGN KEY (saved_view_id) REFERENCES public.costs_savedview(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscrip_unit_metric_id_14fbf702_fk_unitcosts FOREIGN KEY (unit_metric_id) REFERENCES public.unitcosts_unitmetric(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_alertsubscription
    ADD CONSTRAINT alerts_alertsubscription_team_id_b3b78da5_fk_allocation_team_id FOREIGN KEY (team_id) REFERENCES public.allocation_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_eventfiring
    ADD CONSTRAINT alerts_eventfiring_account_id_eede0c32_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_eventfiring
    ADD CONSTRAINT alerts_eventfiring_subscription_id_59c621b3_fk_alerts_ev FOREIGN KEY (subscription_id) REFERENCES public.alerts_eventsubscription(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_eventsubscription
    ADD CONSTRAINT alerts_eventsubscrip_account_id_7dd764c4_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_eventsubscription
    ADD CONSTRAINT alerts_eventsubscrip_connection_id_64d090cb_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.alerts_eventsubscription
    ADD CONSTRAINT alerts_eventsubscrip_mcp_key_id_b5642659_fk_accounts_ FOREIGN KEY (mcp_key_id) REFERENCES public.accounts_mcpkey(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_costtag
    ADD CONSTRAINT allocation_costtag_account_id_ebe3a2a5_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_costtag
    ADD CONSTRAINT allocation_costtag_created_by_id_62f2dbd1_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_sharedcostsplit
    ADD CONSTRAINT allocation_sharedcos_account_id_a3b1ce77_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_team
    ADD CONSTRAINT allocation_team_account_id_c08c103a_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teamkey
    ADD CONSTRAINT allocation_teamkey_account_id_c7ae8447_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teammember
    ADD CONSTRAINT allocation_teammembe_account_id_4628d766_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teammember
    ADD CONSTRAINT allocation_teammembe_membership_id_ec31d8fc_fk_accounts_ FOREIGN KEY (membership_id) REFERENCES public.accounts_membership(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teammember
    ADD CONSTRAINT allocation_teammember_team_id_46f1ecfe_fk_allocation_team_id FOREIGN KEY (team_id) REFERENCES public.allocation_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teamvalue
    ADD CONSTRAINT allocation_teamvalue_account_id_0e1f3272_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.allocation_teamvalue
    ADD CONSTRAINT allocation_teamvalue_team_id_d09890d5_fk_allocation_team_id FOREIGN KEY (team_id) REFERENCES public.allocation_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_webhooks_audit_account_id_0384bc08_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdelivery
    ADD CONSTRAINT audit_webhooks_audit_account_id_13a003c0_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditwebhook
    ADD CONSTRAINT audit_webhooks_audit_account_id_e0df30a1_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditwebhook
    ADD CONSTRAINT audit_webhooks_audit_created_by_id_3c6604f3_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_webhooks_audit_delivery_id_fbcf2722_fk_audit_web FOREIGN KEY (delivery_id) REFERENCES public.audit_webhooks_auditdelivery(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_webhooks_audit_entry_id_c3c0a9ef_fk_accounts_ FOREIGN KEY (entry_id) REFERENCES public.accounts_auditentry(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdeliveryentry
    ADD CONSTRAINT audit_webhooks_audit_webhook_id_1f723780_fk_audit_web FOREIGN KEY (webhook_id) REFERENCES public.audit_webhooks_auditwebhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.audit_webhooks_auditdelivery
    ADD CONSTRAINT audit_webhooks_audit_webhook_id_bf4f11d8_fk_audit_web FOREIGN KEY (webhook_id) REFERENCES public.audit_webhooks_auditwebhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_account_id_f168e615_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_cost_source_id_b4e3ce05_fk_costs_costsource_id FOREIGN KEY (cost_source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_cost_tag_id_d832854f_fk_allocation_costtag_id FOREIGN KEY (cost_tag_id) REFERENCES public.allocation_costtag(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_created_by_id_61cc51bf_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budget
    ADD CONSTRAINT budgets_budget_team_id_df403d18_fk_allocation_team_id FOREIGN KEY (team_id) REFERENCES public.allocation_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budgetamount
    ADD CONSTRAINT budgets_budgetamount_account_id_6981be03_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.budgets_budgetamount
    ADD CONSTRAINT budgets_budgetamount_budget_id_890dda47_fk_budgets_budget_id FOREIGN KEY (budget_id) REFERENCES public.budgets_budget(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_changeeventretention
    ADD CONSTRAINT change_events_change_account_id_9185e4e0_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_changeevent
    ADD CONSTRAINT change_events_change_account_id_deff06ae_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_changeevent
    ADD CONSTRAINT change_events_change_created_by_id_5d2b731a_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_changeevent
    ADD CONSTRAINT change_events_change_source_id_08b7f51c_fk_change_ev FOREIGN KEY (source_id) REFERENCES public.change_events_eventsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventkey
    ADD CONSTRAINT change_events_eventk_account_id_fa4ef636_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventkey
    ADD CONSTRAINT change_events_eventk_created_by_id_34f6ae83_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventkey
    ADD CONSTRAINT change_events_eventk_source_id_cc86b166_fk_change_ev FOREIGN KEY (source_id) REFERENCES public.change_events_eventsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventmonth
    ADD CONSTRAINT change_events_eventm_account_id_ab576b31_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventmonth
    ADD CONSTRAINT change_events_eventm_source_id_af78aff0_fk_change_ev FOREIGN KEY (source_id) REFERENCES public.change_events_eventsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventsource
    ADD CONSTRAINT change_events_events_account_id_55efff25_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.change_events_eventsource
    ADD CONSTRAINT change_events_events_created_by_id_0d23e369_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_connectionpagecache
    ADD CONSTRAINT connections_connecti_account_id_6ab84308_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_connectionpagecache
    ADD CONSTRAINT connections_connecti_connection_id_836f232e_fk_connectio FOREIGN KEY (connection_id) REFERENCES public.connections_costconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconn_account_id_021f57f5_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconn_created_by_id_fea41a91_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconn_event_source_id_77f95cfd_fk_change_ev FOREIGN KEY (event_source_id) REFERENCES public.change_events_eventsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconn_source_id_5991c379_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costconnection
    ADD CONSTRAINT connections_costconn_usage_source_id_31a9ccab_fk_ingestion FOREIGN KEY (usage_source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costkey
    ADD CONSTRAINT connections_costkey_account_id_e562288b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costkey
    ADD CONSTRAINT connections_costkey_created_by_id_97940fb2_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costkey
    ADD CONSTRAINT connections_costkey_source_id_9d7033d2_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costpush
    ADD CONSTRAINT connections_costpush_account_id_57b3f0b3_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costpushpart
    ADD CONSTRAINT connections_costpush_account_id_9ecec776_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costpush
    ADD CONSTRAINT connections_costpush_cost_import_id_2ff76388_fk_costs_cos FOREIGN KEY (cost_import_id) REFERENCES public.costs_costimport(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costpushpart
    ADD CONSTRAINT connections_costpush_push_id_a757d519_fk_connectio FOREIGN KEY (push_id) REFERENCES public.connections_costpush(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costpush
    ADD CONSTRAINT connections_costpush_source_id_3561b8c8_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costsync
    ADD CONSTRAINT connections_costsync_account_id_7e770c4c_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costsync
    ADD CONSTRAINT connections_costsync_actor_user_id_6a93d0d7_fk_accounts_user_id FOREIGN KEY (actor_user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_costsync
    ADD CONSTRAINT connections_costsync_connection_id_634ab4e0_fk_connectio FOREIGN KEY (connection_id) REFERENCES public.connections_costconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_syncperiod
    ADD CONSTRAINT connections_syncperi_account_id_82e7771b_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_syncperiod
    ADD CONSTRAINT connections_syncperi_connection_id_eacca8b1_fk_connectio FOREIGN KEY (connection_id) REFERENCES public.connections_costconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.connections_syncperiod
    ADD CONSTRAINT connections_syncperi_cost_import_id_c9f8e6d3_fk_costs_cos FOREIGN KEY (cost_import_id) REFERENCES public.costs_costimport(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccesslimit
    ADD CONSTRAINT cost_access_costacce_account_id_1e2cef71_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_account_id_747e3f4d_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_alert_channel_id_7533b2cf_fk_alerts_al FOREIGN KEY (alert_channel_id) REFERENCES public.alerts_alertchannel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_alert_subscription_i_2c7e7a14_fk_alerts_al FOREIGN KEY (alert_subscription_id) REFERENCES public.alerts_alertsubscription(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_connection_id_b0e330e0_fk_accounts_ FOREIGN KEY (connection_id) REFERENCES public.accounts_oauthconnection(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_data_export_id_cc439041_fk_data_expo FOREIGN KEY (data_export_id) REFERENCES public.data_exports_dataexport(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccesslimit
    ADD CONSTRAINT cost_access_costacce_earlier_of_id_a1aee658_fk_cost_acce FOREIGN KEY (earlier_of_id) REFERENCES public.cost_access_costaccesslimit(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_invitation_id_c2a14b71_fk_accounts_ FOREIGN KEY (invitation_id) REFERENCES public.accounts_invitation(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_key_id_adab4595_fk_accounts_ FOREIGN KEY (key_id) REFERENCES public.accounts_mcpkey(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_limit_id_16687f65_fk_cost_acce FOREIGN KEY (limit_id) REFERENCES public.cost_access_costaccesslimit(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_membership_id_eb77334e_fk_accounts_ FOREIGN KEY (membership_id) REFERENCES public.accounts_membership(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_provider_id_ef859108_fk_sso_ident FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_costaccessassignment
    ADD CONSTRAINT cost_access_costacce_report_schedule_id_190dbf6f_fk_reports_r FOREIGN KEY (report_schedule_id) REFERENCES public.reports_reportschedule(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_formermemberlimit
    ADD CONSTRAINT cost_access_formerme_account_id_67f61e8b_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_formermemberlimit
    ADD CONSTRAINT cost_access_formerme_limit_id_acd021d6_fk_cost_acce FOREIGN KEY (limit_id) REFERENCES public.cost_access_costaccesslimit(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.cost_access_formermemberlimit
    ADD CONSTRAINT cost_access_formerme_user_id_a944d90a_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_billingperiod
    ADD CONSTRAINT costs_billingperiod_account_id_8359e540_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_billingperiod
    ADD CONSTRAINT costs_billingperiod_source_id_74ce1d1b_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_closedmonth
    ADD CONSTRAINT costs_closedmonth_account_id_2bc1d2b6_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_closedmonth
    ADD CONSTRAINT costs_closedmonth_closed_by_id_56507da0_fk_accounts_user_id FOREIGN KEY (closed_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_closedmonthsum
    ADD CONSTRAINT costs_closedmonthsum_account_id_2a73bf24_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_closedmonthsum
    ADD CONSTRAINT costs_closedmonthsum_closed_month_id_d8cbcb10_fk_costs_clo FOREIGN KEY (closed_month_id) REFERENCES public.costs_closedmonth(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_columnmapping
    ADD CONSTRAINT costs_columnmapping_account_id_6f853ac2_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_columnmapping
    ADD CONSTRAINT costs_columnmapping_changed_by_id_0dd243ef_fk_accounts_user_id FOREIGN KEY (changed_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_columnmapping
    ADD CONSTRAINT costs_columnmapping_source_id_363c3e0e_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_contractcommitment
    ADD CONSTRAINT costs_contractcommit_account_id_ae2dca34_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_contractcommitment
    ADD CONSTRAINT costs_contractcommit_source_id_4433e4da_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costimport
    ADD CONSTRAINT costs_costimport_account_id_175ff1b3_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costimport
    ADD CONSTRAINT costs_costimport_actor_user_id_e09fbe74_fk_accounts_user_id FOREIGN KEY (actor_user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costimport
    ADD CONSTRAINT costs_costimport_source_id_4a46745d_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costsource
    ADD CONSTRAINT costs_costsource_account_id_46289a6b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costsource
    ADD CONSTRAINT costs_costsource_created_by_id_8424546c_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_costview
    ADD CONSTRAINT costs_costview_account_id_122a8a22_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_dailycostsnapshot
    ADD CONSTRAINT costs_dailycostsnaps_account_id_672ae512_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_dailycostsnapshot
    ADD CONSTRAINT costs_dailycostsnaps_source_id_73622142_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_importreviewsettings
    ADD CONSTRAINT costs_importreviewse_account_id_17051f8b_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_invoicedetail
    ADD CONSTRAINT costs_invoicedetail_account_id_5ec16e9b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_invoicedetail
    ADD CONSTRAINT costs_invoicedetail_source_id_4552954a_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_invoicetotal
    ADD CONSTRAINT costs_invoicetotal_account_id_0041c67e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_invoicetotal
    ADD CONSTRAINT costs_invoicetotal_entered_by_id_09a15583_fk_accounts_user_id FOREIGN KEY (entered_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_savedview
    ADD CONSTRAINT costs_savedview_account_id_195b3499_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_savedview
    ADD CONSTRAINT costs_savedview_created_by_id_3579032b_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_savedview
    ADD CONSTRAINT costs_savedview_owner_id_6e128f8a_fk_accounts_user_id FOREIGN KEY (owner_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_sourcecompleteness
    ADD CONSTRAINT costs_sourcecomplete_account_id_0676f8ba_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_sourcecompleteness
    ADD CONSTRAINT costs_sourcecomplete_source_id_1df4b4cd_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_sourceoverlap
    ADD CONSTRAINT costs_sourceoverlap_account_id_3d50604f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_sourceoverlap
    ADD CONSTRAINT costs_sourceoverlap_other_id_a5fee2f4_fk_costs_costsource_id FOREIGN KEY (other_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.costs_sourceoverlap
    ADD CONSTRAINT costs_sourceoverlap_source_id_048f2a68_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_dashboard
    ADD CONSTRAINT dashboards_dashboard_account_id_3222e6b4_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_dashboard
    ADD CONSTRAINT dashboards_dashboard_created_by_id_e420cd3f_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_dashboard
    ADD CONSTRAINT dashboards_dashboard_owner_id_be824c67_fk_accounts_user_id FOREIGN KEY (owner_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_widget
    ADD CONSTRAINT dashboards_widget_account_id_786bd2ca_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.dashboards_widget
    ADD CONSTRAINT dashboards_widget_dashboard_id_8714b25b_fk_dashboard FOREIGN KEY (dashboard_id) REFERENCES public.dashboards_dashboard(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexportmonth
    ADD CONSTRAINT data_exports_dataexp_account_id_a7d6a205_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexport
    ADD CONSTRAINT data_exports_dataexp_account_id_cec53076_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexportrun
    ADD CONSTRAINT data_exports_dataexp_account_id_fe563d52_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexport
    ADD CONSTRAINT data_exports_dataexp_created_by_id_2b6903a7_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexportrun
    ADD CONSTRAINT data_exports_dataexp_export_id_6af632c2_fk_data_expo FOREIGN KEY (export_id) REFERENCES public.data_exports_dataexport(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.data_exports_dataexportmonth
    ADD CONSTRAINT data_exports_dataexp_export_id_dc7837ac_fk_data_expo FOREIGN KEY (export_id) REFERENCES public.data_exports_dataexport(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.exchange_rates_exchangeratetable
    ADD CONSTRAINT exchange_rates_excha_account_id_a45f9791_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.exchange_rates_exchangerate
    ADD CONSTRAINT exchange_rates_excha_account_id_d0613b98_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.exchange_rates_exchangerate
    ADD CONSTRAINT exchange_rates_excha_recorded_by_id_7080bc89_fk_accounts_ FOREIGN KEY (recorded_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.exports_accountexport
    ADD CONSTRAINT exports_accountexpor_account_id_901dad02_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_customer
    ADD CONSTRAINT ingestion_customer_account_id_336bff62_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_pushanswer
    ADD CONSTRAINT ingestion_pushanswer_account_id_54471eec_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_rejectedevent
    ADD CONSTRAINT ingestion_rejectedev_account_id_cbdc9faf_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_rejectedevent
    ADD CONSTRAINT ingestion_rejectedev_source_id_dee69e7c_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_rejectedline
    ADD CONSTRAINT ingestion_rejectedli_account_id_c57a7267_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_rejectedline
    ADD CONSTRAINT ingestion_rejectedli_upload_id_e20620bf_fk_ingestion FOREIGN KEY (upload_id) REFERENCES public.ingestion_usageupload(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagebatch
    ADD CONSTRAINT ingestion_usagebatch_account_id_9c7404fc_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagebatch
    ADD CONSTRAINT ingestion_usagebatch_source_id_25494e4e_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageday
    ADD CONSTRAINT ingestion_usageday_account_id_94bde837_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageday
    ADD CONSTRAINT ingestion_usageday_source_id_333c7f0a_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagedimension
    ADD CONSTRAINT ingestion_usagedimen_account_id_d56903cf_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagedimension
    ADD CONSTRAINT ingestion_usagedimen_source_id_3f0dfe4f_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagekey
    ADD CONSTRAINT ingestion_usagekey_account_id_3f8b9f95_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagekey
    ADD CONSTRAINT ingestion_usagekey_created_by_id_80710d11_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagekey
    ADD CONSTRAINT ingestion_usagekey_source_id_4923ec74_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagemeter
    ADD CONSTRAINT ingestion_usagemeter_account_id_5c19727c_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagemetric
    ADD CONSTRAINT ingestion_usagemetri_account_id_055c64b9_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageretention
    ADD CONSTRAINT ingestion_usagereten_account_id_3842a9d8_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagesource
    ADD CONSTRAINT ingestion_usagesourc_account_id_29db5192_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usagesource
    ADD CONSTRAINT ingestion_usagesourc_created_by_id_5294569c_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageupload
    ADD CONSTRAINT ingestion_usageuploa_account_id_878fc895_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageupload
    ADD CONSTRAINT ingestion_usageuploa_actor_user_id_d583db36_fk_accounts_ FOREIGN KEY (actor_user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.ingestion_usageupload
    ADD CONSTRAINT ingestion_usageuploa_source_id_ff298f88_fk_ingestion FOREIGN KEY (source_id) REFERENCES public.ingestion_usagesource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_anomaly
    ADD CONSTRAINT insights_anomaly_account_id_c3e50fed_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_anomaly
    ADD CONSTRAINT insights_anomaly_incident_id_12337628_fk_insights_incident_id FOREIGN KEY (incident_id) REFERENCES public.insights_incident(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_anomaly
    ADD CONSTRAINT insights_anomaly_source_id_5d9c8d69_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_anomalyrun
    ADD CONSTRAINT insights_anomalyrun_account_id_b06d6783_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_anomalysettings
    ADD CONSTRAINT insights_anomalysett_account_id_aadd8e48_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_derivedeventrun
    ADD CONSTRAINT insights_derivedeven_account_id_b2f9551c_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_importedsaving
    ADD CONSTRAINT insights_importedsav_account_id_19b15f95_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_importedsaving
    ADD CONSTRAINT insights_importedsav_source_id_a343ce69_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT insights_incident_account_id_cf9bc698_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT insights_incident_headline_id_9a1b7be7_fk_insights_anomaly_id FOREIGN KEY (headline_id) REFERENCES public.insights_anomaly(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT insights_incident_marked_by_id_78f3e187_fk_accounts_user_id FOREIGN KEY (marked_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_incident
    ADD CONSTRAINT insights_incident_source_id_c9ef32d3_fk_costs_costsource_id FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_recommendationrefresh
    ADD CONSTRAINT insights_recommendat_account_id_dd500eef_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_recommendationrefresh
    ADD CONSTRAINT insights_recommendat_source_id_387e45c0_fk_costs_cos FOREIGN KEY (source_id) REFERENCES public.costs_costsource(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_savingsdismissal
    ADD CONSTRAINT insights_savingsdism_account_id_67db70d6_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.insights_savingsdismissal
    ADD CONSTRAINT insights_savingsdism_marked_by_id_6e5c0d47_fk_accounts_ FOREIGN KEY (marked_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.issues_issuetracker
    ADD CONSTRAINT issues_issuetracker_account_id_b6d8322f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.issues_issuetracker
    ADD CONSTRAINT issues_issuetracker_created_by_id_cca099e8_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.issues_savingissue
    ADD CONSTRAINT issues_savingissue_account_id_8db96650_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.issues_savingissue
    ADD CONSTRAINT issues_savingissue_created_by_id_b2bec620_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.issues_savingissue
    ADD CONSTRAINT issues_savingissue_tracker_id_4c014efd_fk_issues_is FOREIGN KEY (tracker_id) REFERENCES public.issues_issuetracker(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.lake_lakesegment
    ADD CONSTRAINT lake_lakesegment_account_id_d35783ee_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.lake_lakesummary
    ADD CONSTRAINT lake_lakesummary_account_id_f9bafe25_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.lake_lakesummary
    ADD CONSTRAINT lake_lakesummary_segment_id_08461540_fk_lake_lakesegment_id FOREIGN KEY (segment_id) REFERENCES public.lake_lakesegment(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.lake_usageflushtrouble
    ADD CONSTRAINT lake_usageflushtroub_account_id_2c272b96_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_user_id_0c3a50c0_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notificationread
    ADD CONSTRAINT notifications_notifi_account_id_4507dd6e_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notificationreader
    ADD CONSTRAINT notifications_notifi_account_id_56819af3_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notification
    ADD CONSTRAINT notifications_notifi_account_id_e2a0bb0c_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notificationread
    ADD CONSTRAINT notifications_notifi_notification_id_bbc9b829_fk_notificat FOREIGN KEY (notification_id) REFERENCES public.notifications_notification(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notificationread
    ADD CONSTRAINT notifications_notifi_user_id_bb9e5cef_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.notifications_notificationreader
    ADD CONSTRAINT notifications_notifi_user_id_cf239b35_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.receipts_answerreceipt
    ADD CONSTRAINT receipts_answerrecei_account_id_990931e6_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.receipts_answerreceipt
    ADD CONSTRAINT receipts_answerrecei_state_id_2d8a7f46_fk_receipts_ FOREIGN KEY (state_id) REFERENCES public.receipts_answerstate(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.receipts_answerstate
    ADD CONSTRAINT receipts_answerstate_account_id_b776f2b5_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.receipts_receiptretention
    ADD CONSTRAINT receipts_receiptrete_account_id_cac4e805_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedu_account_id_6e3ac047_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedu_channel_id_beadbc73_fk_alerts_al FOREIGN KEY (channel_id) REFERENCES public.alerts_alertchannel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedu_created_by_id_7146245b_fk_accounts_ FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedu_delivery_id_dfe39b3b_fk_alerts_al FOREIGN KEY (delivery_id) REFERENCES public.alerts_alertdelivery(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.reports_reportschedule
    ADD CONSTRAINT reports_reportschedule_team_id_b5079343_fk_allocation_team_id FOREIGN KEY (team_id) REFERENCES public.allocation_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_assertionclient
    ADD CONSTRAINT sso_assertionclient_account_id_ecf78703_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_assertionclient
    ADD CONSTRAINT sso_assertionclient_application_id_2257bd00_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthapplication(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_assertionclient
    ADD CONSTRAINT sso_assertionclient_provider_id_14487915_fk_sso_ident FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_emaildomain
    ADD CONSTRAINT sso_emaildomain_provider_id_36faee15_fk_sso_identityprovider_id FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_groupmapping
    ADD CONSTRAINT sso_groupmapping_account_id_b7d83d83_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_provider_id_cb55f757_fk_sso_identityprovider_id FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_user_id_ad51fd12_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_identityassertion
    ADD CONSTRAINT sso_identityassertio_provider_id_36196b89_fk_sso_ident FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_identityprovider
    ADD CONSTRAINT sso_identityprovider_account_id_45e93bc0_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_identityprovider
    ADD CONSTRAINT sso_identityprovider_created_by_id_3bf2056b_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_samlassertion
    ADD CONSTRAINT sso_samlassertion_provider_id_0a84733f_fk_sso_ident FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimgroup
    ADD CONSTRAINT sso_scimgroup_account_id_c481a5a8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimgroup
    ADD CONSTRAINT sso_scimgroup_provider_id_9d6026cb_fk_sso_identityprovider_id FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimgroupmember
    ADD CONSTRAINT sso_scimgroupmember_account_id_2dd39f06_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimgroupmember
    ADD CONSTRAINT sso_scimgroupmember_group_id_aa31bc94_fk_sso_scimgroup_id FOREIGN KEY (group_id) REFERENCES public.sso_scimgroup(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimgroupmember
    ADD CONSTRAINT sso_scimgroupmember_member_id_9c6fc9d3_fk_sso_scimuser_id FOREIGN KEY (member_id) REFERENCES public.sso_scimuser(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimtoken
    ADD CONSTRAINT sso_scimtoken_account_id_27aea251_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimtoken
    ADD CONSTRAINT sso_scimtoken_created_by_id_da6bc519_fk_accounts_user_id FOREIGN KEY (created_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimtoken
    ADD CONSTRAINT sso_scimtoken_provider_id_981148fd_fk_sso_identityprovider_id FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT sso_scimuser_account_id_f939e2a8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT sso_scimuser_provider_id_1608a1e4_fk_sso_identityprovider_id FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_scimuser
    ADD CONSTRAINT sso_scimuser_user_id_fdf86680_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sso_signinattempt
    ADD CONSTRAINT sso_signinattempt_provider_id_8a7dfc13_fk_sso_ident FOREIGN KEY (provider_id) REFERENCES public.sso_identityprovider(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.unitcosts_customeralias
    ADD CONSTRAINT unitcosts_customeral_account_id_58e83939_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.unitcosts_customerkey
    ADD CONSTRAINT unitcosts_customerke_account_id_95760e68_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.unitcosts_unitmetric
    ADD CONSTRAINT unitcosts_unitmetric_account_id_bb8fdd26_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.unitcosts_usagedimensionmapping
    ADD CONSTRAINT unitcosts_usagedimen_account_id_3b7a1b4f_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
