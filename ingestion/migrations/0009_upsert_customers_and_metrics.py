from __future__ import annotations

from django.db import migrations

# Rows that would not change are not touched, so most pushes lock none. The rest go in one order, customers first, so
# that two pushes naming the same wait for each other and never both. The conflict is with a push that came first by a
# moment: it must not win over a name of ours, nor lose its own to our having none.
#
# A function, because only its SET clauses hold whenever PostgreSQL plans anew. Each name is looked up in an index, 0.7
# microseconds each. Without them a plan reads the whole table, 0.1 a row, or, made while the tables were small, compares
# every name with every row: 0.9 s for 1,000 names beside 25,000 rows, until the tables are analysed.
CREATE = """
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
DROP = "DROP FUNCTION ingestion_upsert_customers_and_metrics(bigint, json, text[], timestamptz)"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0008_cancel_requested")]

    operations = [migrations.RunSQL(CREATE, DROP)]
