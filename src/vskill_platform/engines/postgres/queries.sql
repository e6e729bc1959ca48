-- name: get_many
SELECT kv.value, kv.revision FROM unnest($1::text[]) WITH ORDINALITY AS wanted (key, place)
LEFT JOIN vskill.kv ON kv.key = wanted.key AND (kv.expires_at IS NULL OR kv.expires_at > coalesce($2, vskill.now_micros()))
ORDER BY wanted.place

-- name: list
SELECT key FROM vskill.kv
WHERE key >= $1 AND key > $2 AND key < $3 AND (expires_at IS NULL OR expires_at > coalesce($4, vskill.now_micros()))
ORDER BY key LIMIT $5

-- name: list_newest_first
SELECT key FROM vskill.kv
WHERE key >= $1 AND key > $2 AND key < $3 AND (expires_at IS NULL OR expires_at > coalesce($4, vskill.now_micros()))
ORDER BY key DESC LIMIT $5

-- name: list_undated
SELECT key FROM vskill.kv
WHERE due IS NULL AND key >= $1 AND key > $2 AND key < $3
  AND (expires_at IS NULL OR expires_at > coalesce($4, vskill.now_micros()))
ORDER BY key LIMIT $5

-- name: list_due
SELECT due, key FROM vskill.kv
WHERE due <= $1 AND (due, key) > ($2, $3::text) AND due < 253402300799999999
  AND key >= $4 AND key < $5 AND (expires_at IS NULL OR expires_at > coalesce($6, vskill.now_micros()))
ORDER BY due, key LIMIT $7

-- name: find_marked
SELECT ARRAY(
  SELECT kv.key FROM vskill.mark JOIN vskill.kv ON kv.id = mark.record
  WHERE mark.word = wanted.word AND (kv.expires_at IS NULL OR kv.expires_at > coalesce($2, vskill.now_micros()))
  ORDER BY mark.rank, mark.record LIMIT $3
) FROM unnest($1::text[]) WITH ORDINALITY AS wanted (word, place) ORDER BY wanted.place

-- name: find_marked_last_first
SELECT ARRAY(
  SELECT kv.key FROM vskill.mark JOIN vskill.kv ON kv.id = mark.record
  WHERE mark.word = wanted.word AND (kv.expires_at IS NULL OR kv.expires_at > coalesce($2, vskill.now_micros()))
  ORDER BY mark.rank DESC, mark.record DESC LIMIT $3
) FROM unnest($1::text[]) WITH ORDINALITY AS wanted (word, place) ORDER BY wanted.place

-- name: commit_group
SELECT vskill.commit_group(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
  $22, $23, $24, $25, $26, $27
)

-- name: claim_outcome
-- Waits for a transaction that is about to write the same id. Then the outcome is certain.
INSERT INTO vskill.outcome VALUES ($1, vskill.now_micros(), NULL) ON CONFLICT (id) DO NOTHING

-- name: read_outcome
SELECT done FROM vskill.outcome WHERE id = $1

-- name: receive
SELECT * FROM vskill.receive($1, $2, $3, $4, $5, $6, $7, $8)

-- name: pending
SELECT key FROM vskill.message WHERE key = ANY ($1::text[])

-- name: group_size
SELECT coalesce(sum(pending), 0)::bigint FROM vskill.queue_count WHERE message_group = $1

-- name: position
WITH moment AS MATERIALIZED (SELECT coalesce($2, vskill.now_micros()) AS at),
found AS MATERIALIZED (SELECT * FROM vskill.message WHERE key = $1)
SELECT CASE
  WHEN found.is_ready THEN (
    SELECT count(*) FROM (
      SELECT 1 FROM vskill.message AS m
      WHERE m.is_ready AND (m.rank, m.id) <= (found.rank, found.id) LIMIT $3
    ) AS before
  )
  WHEN found.leased AND found.ready_at > moment.at THEN 0
  ELSE least($3, (
    SELECT sum(ready) FROM vskill.queue_count WHERE message_group IS NULL
  ) + (
    SELECT count(*) FROM (
      SELECT 1 FROM vskill.message AS m
      WHERE NOT m.is_ready AND (m.ready_at, m.id) <= (found.ready_at, found.id)
        AND NOT (m.leased AND m.ready_at > moment.at) AND m.message_group <> '(background)' LIMIT $3
    ) AS before
  )) END::bigint
FROM found, moment

-- name: stats
WITH moment AS MATERIALIZED (SELECT coalesce($1, vskill.now_micros()) AS at),
due AS MATERIALIZED (
  SELECT leased, ready_at, message_group = '(background)' AS behind FROM vskill.message, moment
  WHERE NOT is_ready AND ready_at <= moment.at ORDER BY ready_at LIMIT $2
),
background AS MATERIALIZED (
  SELECT coalesce(sum(pending), 0)::bigint AS pending, coalesce(sum(ready), 0)::bigint AS ready,
    coalesce(sum(leased), 0)::bigint AS leased
  FROM vskill.queue_count WHERE message_group = '(background)'
)
SELECT
  coalesce(sum(pending), 0)::bigint AS pending, coalesce(sum(ready), 0)::bigint AS in_line,
  coalesce(sum(leased), 0)::bigint AS leased, coalesce(sum(dead), 0)::bigint AS dead,
  (SELECT count(*) FROM due WHERE NOT behind) AS due,
  (SELECT count(*) FROM due WHERE leased AND NOT behind) AS was_leased,
  (SELECT pending FROM background) AS behind_pending,
  (SELECT ready FROM background) AS behind_in_line,
  (SELECT leased FROM background) AS behind_leased,
  (SELECT count(*) FROM due WHERE behind) AS behind_due,
  (SELECT count(*) FROM due WHERE leased AND behind) AS behind_lost,
  least(
    (SELECT min(ready_at) FROM due WHERE NOT behind),
    (SELECT min(ready_at) FROM vskill.message WHERE is_ready AND rank < 1099511627776)
  ) AS oldest,
  (SELECT coalesce(sum(count), 0)::bigint FROM vskill.delivered, moment
   WHERE second > moment.at / 1000000 - 60 AND second <= moment.at / 1000000) AS delivered,
  (SELECT CASE WHEN paused_at <= moment.at AND moment.at < paused_until THEN paused_until END
   FROM vskill.clock, moment) AS paused_until,
  (SELECT at FROM moment) AS now
FROM vskill.queue_count WHERE message_group IS NULL

-- name: pause
SELECT vskill.pause($1, $2)

-- name: resume
UPDATE vskill.clock SET paused_at = 0, paused_until = 0

-- name: dead_letters
SELECT id, body, key, attempts, reason, buried_at FROM vskill.dead_letter
WHERE id > $1 ORDER BY id LIMIT $2

-- name: read_state
SELECT revision, trimmed_through, history_id FROM vskill.state

-- name: read_changes
-- One statement, so one snapshot: later commits belong to the next page.
SELECT state.revision, state.trimmed_through, vskill.checkpoint($1) AS before,
  ARRAY(
    SELECT page.revision FROM (
      SELECT revision FROM vskill.kv WHERE revision > $1
      UNION ALL SELECT revision FROM vskill.tombstone WHERE revision > $1
      ORDER BY revision LIMIT $2
    ) AS page
  ) AS revisions
FROM vskill.state

-- name: changes_through
SELECT revision, key FROM (
  SELECT revision, key FROM vskill.kv WHERE revision > $1 AND revision <= $2
  UNION ALL
  SELECT revision, key FROM vskill.tombstone WHERE revision > $1 AND revision <= $2
) AS changed
WHERE $3::text[] = '{}' OR EXISTS (SELECT 1 FROM unnest($3::text[]) AS prefix WHERE starts_with(key, prefix))
ORDER BY revision, key

-- name: checkpoint
SELECT vskill.checkpoint($1)

-- name: prune_expired
SELECT vskill.prune_expired($1, $2)

-- name: trim_feed
SELECT vskill.trim_feed($1, $2)

-- name: forget
WITH old AS (SELECT coalesce($1, vskill.now_micros()) AS moment),
gone_seconds AS (DELETE FROM vskill.delivered USING old WHERE second < old.moment / 1000000 - 3600),
gone_outcomes AS (DELETE FROM vskill.outcome USING old WHERE at < old.moment - 3600000000),
gone_marks AS (
  DELETE FROM vskill.commit_mark WHERE revision < (SELECT revision FROM vskill.state) - $2
)
SELECT vskill.sum_up_counts()

-- name: touch
UPDATE vskill.clock SET latest_at = latest_at

-- name: now
SELECT vskill.now_micros()

-- name: size
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'vskill'::regnamespace AND relkind = 'r'

-- name: export_summary
SELECT history_id, revision,
  (SELECT count(*) FROM vskill.kv) + (SELECT count(*) FROM vskill.message)
  + (SELECT count(*) FROM vskill.dead_letter),
  (SELECT last_value FROM vskill.virtual_time)
FROM vskill.state

-- name: export_records
-- Sizes first, because a page is bounded in bytes.
WITH page AS MATERIALIZED (
  SELECT id, sum(octet_length(value)) OVER (ORDER BY key) - octet_length(value) AS before
  FROM (SELECT id, key, value FROM vskill.kv WHERE key > $1 ORDER BY key LIMIT $2) AS next
)
SELECT key, key, value, due, expires_at, marks, rank
FROM vskill.kv JOIN page USING (id) WHERE before < $3 ORDER BY key

-- name: export_messages
WITH page AS MATERIALIZED (
  SELECT id, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
  FROM (SELECT id, body FROM vskill.message WHERE id > $1 ORDER BY id LIMIT $2) AS next
)
SELECT id, body, key, message_group, resource, attempts, ready_at, is_ready,
  is_retry OR (leased AND NOT is_ready) AS is_retry, rank
FROM vskill.message JOIN page USING (id) WHERE before < $3 ORDER BY id

-- name: export_letters
WITH page AS MATERIALIZED (
  SELECT id, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
  FROM (SELECT id, body FROM vskill.dead_letter WHERE id > $1 ORDER BY id LIMIT $2) AS next
)
SELECT id, body, key, message_group, resource, attempts, reason, buried_at
FROM vskill.dead_letter JOIN page USING (id) WHERE before < $3 ORDER BY id

-- name: load_messages
INSERT INTO vskill.message (key, body, attempts, token, is_ready, is_retry, ready_at, set_at,
  message_group, resource, rank)
SELECT key, body, attempts, token, turn IS NOT NULL, is_retry, ready_at,
  coalesce($10, vskill.now_micros()), grp, resource,
  CASE WHEN turn IS NULL THEN 0 WHEN grp = '(background)' THEN 1099511627776 + turn
    ELSE (SELECT last_value FROM vskill.virtual_time) + turn END
FROM unnest(
  $1::bytea[], $2::text[], $3::text[], $4::text[], $5::int[], $6::bigint[], $7::bigint[],
  $8::boolean[], $9::bigint[]
) WITH ORDINALITY
  AS loaded (body, key, grp, resource, attempts, ready_at, turn, is_retry, token, place)
ORDER BY place

-- name: load_letters
INSERT INTO vskill.dead_letter (id, key, body, attempts, reason, buried_at, message_group, resource)
SELECT nextval(pg_get_serial_sequence('vskill.message', 'id')), key, body, attempts, reason,
  buried_at, grp, resource
FROM (
  SELECT * FROM unnest(
    $1::bytea[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::bigint[]
  ) WITH ORDINALITY AS loaded (body, key, grp, resource, attempts, reason, buried_at, place)
  ORDER BY place
) AS ordered

-- name: clear_queue
TRUNCATE vskill.message, vskill.dead_letter, vskill.queue_count

-- name: clear_records
TRUNCATE vskill.kv, vskill.mark, vskill.tombstone;
UPDATE vskill.state SET trimmed_through = revision,
  history_id = replace(gen_random_uuid()::text, '-', '')
