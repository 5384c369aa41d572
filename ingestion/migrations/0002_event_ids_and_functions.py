"""The event ids of the last 35 days, a table without a model, and the functions that store a push."""

from __future__ import annotations

from django.db import migrations

# About 100 bytes a row with its index. `batch` is the one that brought an id: those of a voided batch can be forgotten and
# sent again.
EVENT_IDS = """
CREATE TABLE ingestion_usageeventid (
    account_id bigint NOT NULL,
    digest uuid NOT NULL,
    content uuid NOT NULL,
    received_on date NOT NULL,
    batch uuid NOT NULL,
    PRIMARY KEY (account_id, digest)
)
"""

# Rows that would not change are not touched, so most pushes lock none. The rest go in one order, customers first, so
# that two pushes naming the same wait for each other and never both. The conflict is with a push that came first by a
# moment: it must not win over a name of ours, nor lose its own to our having none.
#
# A function, because only its SET clauses hold whenever PostgreSQL plans anew. Each name is looked up in an index, 0.7
# microseconds each. Without them a plan reads the whole table, 0.1 a row, or, made while the tables were small, compares
# every name with every row: 0.9 s for 1,000 names beside 25,000 rows, until the tables are analysed.
UPSERT_CUSTOMERS_AND_METRICS = """
CREATE FUNCTION ingestion_upsert_customers_and_metrics(
    of_account bigint, customer_names json, metric_names text[], seen_at timestamptz)
RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_material = off
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
$$
"""

# Almost every push has new ids only, and a plain INSERT of a thousand takes PostgreSQL 1.5 ms less than one with
# ON CONFLICT, which searches the index before each row, locks and confirms it. The block of the plain INSERT is a
# subtransaction; after a conflict, with its rows before the conflict undone, the second INSERT does the work.
#
# The arrays come sorted by digest, so that two pushes with the same ids wait for each other and never both.
STORE_EVENT_IDS = """
CREATE FUNCTION ingestion_store_event_ids(
    of_account bigint, digests uuid[], contents uuid[], of_batch uuid, today date)
RETURNS bigint LANGUAGE plpgsql
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
$$
"""

# For a push that is one statement (docs/adr/0121-a-push-is-one-statement.md): its Idempotency-Key with the answer, and all
# of its event ids are new and stored; or nothing is, and the push begins again in a transaction. No ON CONFLICT, for the
# reason above. In the order of that transaction, so that two pushes wait for each other and never both.
CLAIM_NEW_IDS = """
CREATE FUNCTION ingestion_claim_new_ids(
    of_account bigint, of_batch uuid, digests uuid[], contents uuid[],
    idempotency_key text, body_digest bytea, answer bytea, headers jsonb, received_at timestamptz)
RETURNS boolean LANGUAGE plpgsql
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
$$
"""

DROP = [
    "DROP FUNCTION ingestion_claim_new_ids(bigint, uuid, uuid[], uuid[], text, bytea, bytea, jsonb, timestamptz)",
    "DROP FUNCTION ingestion_store_event_ids(bigint, uuid[], uuid[], uuid, date)",
    "DROP FUNCTION ingestion_upsert_customers_and_metrics(bigint, json, text[], timestamptz)",
    "DROP TABLE ingestion_usageeventid",
]


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0001_initial")]

    operations = [
        migrations.RunSQL([EVENT_IDS, UPSERT_CUSTOMERS_AND_METRICS, STORE_EVENT_IDS, CLAIM_NEW_IDS], DROP)
    ]
