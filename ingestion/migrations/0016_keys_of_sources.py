from __future__ import annotations

from django.db import migrations

# An Idempotency-Key is stored with its source since (ingestion/services/idempotency.py). A copy of the last day's keys under
# their new names, so that a push that is retried across the upgrade counts once; the older web nodes read the old names.
COPY = """
INSERT INTO ingestion_pushanswer (account_id, key, body_digest, status, answer, headers, created_at)
SELECT push.account_id,
       'usage ' || batch.source_id || ' ' || encode(sha256(convert_to(push.key, 'UTF8')), 'hex'),
       push.body_digest, push.status, push.answer, push.headers, push.created_at
  FROM ingestion_pushanswer push
  JOIN ingestion_usagebatch batch
    ON batch.id = (push.headers ->> 'Usage-Batch-Id')::uuid AND batch.account_id = push.account_id
 WHERE push.key NOT LIKE '% %' AND batch.source_id IS NOT NULL
    ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0015_claim_new_ids")]

    operations = [migrations.RunSQL(COPY, migrations.RunSQL.noop)]
