from __future__ import annotations

from django.db import migrations

# For a push that is one statement (docs/adr/0121-a-push-is-one-statement.md): its Idempotency-Key with the answer, and all
# of its event ids are new and stored; or nothing is, and the push begins again in a transaction. No ON CONFLICT, for the
# reason in migration 0014. In the order of that transaction, so that two pushes wait for each other and never both.
CREATE = """
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
DROP = "DROP FUNCTION ingestion_claim_new_ids(bigint, uuid, uuid[], uuid[], text, bytea, bytea, jsonb, timestamptz)"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0014_store_event_ids")]

    operations = [migrations.RunSQL(CREATE, DROP)]
