-- name: read_state
SELECT revision, latest_at, trimmed_through, paused_at, paused_until FROM state

-- name: write_state
UPDATE state SET revision = :revision, latest_at = max(latest_at, :now)

-- name: add_commit_mark
INSERT INTO commit_mark (revision, mark) VALUES (:revision, random())

-- name: read_checkpoint
-- The transaction of this revision; none if the database has not reached it.
SELECT history_id, (SELECT mark FROM commit_mark WHERE revision >= :revision ORDER BY revision LIMIT 1)
FROM state

-- name: forget_commit_marks
DELETE FROM commit_mark WHERE revision < :revision

-- name: read_history_id
SELECT history_id FROM state

-- name: touch
-- Always another value, because SQLite does not write an unchanged page.
UPDATE state SET latest_at = max(latest_at + 1, :now)

-- name: begin_new_history
UPDATE state SET history_id = lower(hex(randomblob(16)))

-- name: count_records
SELECT CASE instr(key, ':') WHEN 0 THEN '(other)' ELSE substr(key, 1, instr(key, ':') - 1) END AS kind,
  count(*)
FROM kv GROUP BY kind ORDER BY kind

-- name: count_messages
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM dead_letter)

-- name: get_many
-- One row for each wanted key, in order: the left side of a LEFT JOIN is the outer loop.
SELECT kv.value, kv.revision FROM carray(:keys) AS wanted
LEFT JOIN kv ON kv.key = wanted.value AND (kv.expires_at IS NULL OR kv.expires_at > :now)

-- name: list
SELECT key FROM kv
WHERE key >= :first AND key < :end
  AND key NOT IN (SELECT key FROM kv WHERE expires_at <= :now)
ORDER BY key LIMIT :limit

-- name: list_newest_first
SELECT key FROM kv
WHERE key >= :first AND key < :end
  AND key NOT IN (SELECT key FROM kv WHERE expires_at <= :now)
ORDER BY key DESC LIMIT :limit

-- name: list_undated
SELECT key FROM kv
WHERE due IS NULL AND key >= :first AND key < :end
  AND key NOT IN (SELECT key FROM kv WHERE expires_at <= :now)
ORDER BY key LIMIT :limit

-- name: list_due
-- The order of the two upper bounds of `due` matters: SQLite ends its search at the first one.
-- With the second one first, it would also read everything that is not due yet.
SELECT due, key FROM kv
WHERE due <= :due_before AND (due, key) > (:after_due, :after)
  AND due IS NOT NULL AND due < 253402300799999999 AND key >= :first AND key < :end
  AND key NOT IN (SELECT key FROM kv WHERE expires_at <= :now)
ORDER BY due, key LIMIT :limit

-- name: find_marked
-- All words in one row, because after each row and each query the thread waits for the GIL.
SELECT json_group_array(json((
  SELECT json_group_array(key) FROM (
    SELECT kv.key FROM mark JOIN kv ON kv.id = mark.record
    WHERE mark.word = wanted.value AND (kv.expires_at IS NULL OR kv.expires_at > :now)
    ORDER BY mark.rank, mark.record LIMIT :limit
  )
))) FROM carray(:words) AS wanted

-- name: find_marked_last_first
SELECT json_group_array(json((
  SELECT json_group_array(key) FROM (
    SELECT kv.key FROM mark JOIN kv ON kv.id = mark.record
    WHERE mark.word = wanted.value AND (kv.expires_at IS NULL OR kv.expires_at > :now)
    ORDER BY mark.rank DESC, mark.record DESC LIMIT :limit
  )
))) FROM carray(:words) AS wanted

-- name: look
-- The revision of each wanted key, in order and in one row; 0 if there is no record.
SELECT json_group_array(coalesce(kv.revision, 0)),
  max(EXISTS (SELECT 1 FROM tombstone WHERE tombstone.key = looked.value))
FROM carray(:keys) AS looked
LEFT JOIN kv ON kv.key = looked.value AND (kv.expires_at IS NULL OR kv.expires_at > :now)

-- name: put
-- Writes one row; operations.py repeats the row of values to write several at once.
INSERT INTO kv (key, value, revision, due, expires_at, written_at, marks, rank)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
  value = excluded.value, revision = excluded.revision, due = excluded.due,
  expires_at = excluded.expires_at, written_at = excluded.written_at,
  marks = excluded.marks, rank = excluded.rank

-- name: add_marks
INSERT INTO mark (word, rank, record)
SELECT DISTINCT word.value, :rank, kv.id FROM carray(:words) AS word JOIN kv ON kv.key = :key

-- name: forget_tombstones
DELETE FROM tombstone WHERE key IN carray(:keys)

-- name: delete
DELETE FROM kv WHERE key = :key

-- name: add_tombstone
INSERT OR REPLACE INTO tombstone (key, revision, deleted_at) VALUES (:key, :revision, :now)

-- name: changes
SELECT revision, key FROM kv WHERE revision > :after
UNION ALL
SELECT revision, key FROM tombstone WHERE revision > :after
ORDER BY revision, key LIMIT :limit

-- name: changes_at
SELECT revision, key FROM kv WHERE revision = :revision
UNION ALL
SELECT revision, key FROM tombstone WHERE revision = :revision
ORDER BY key

-- name: expired
SELECT key FROM kv WHERE expires_at <= :now LIMIT :limit

-- name: trim_feed
DELETE FROM tombstone WHERE key IN (
  SELECT key FROM tombstone WHERE deleted_at < :deleted_before ORDER BY revision LIMIT :limit
) RETURNING revision

-- name: write_trimmed
UPDATE state SET trimmed_through = max(trimmed_through, :revision)

-- name: next_rank
SELECT max(virtual_time + :penalty, coalesce(
  (SELECT last_rank FROM lane WHERE message_group = :group AND is_retry = :is_retry), 0
)) + 1 FROM queue_state

-- name: next_background_rank
SELECT max(:first, coalesce(
  (SELECT last_rank FROM lane WHERE message_group = :group AND is_retry = 0), 0
)) + 1

-- name: write_last_rank
INSERT INTO lane (message_group, is_retry, last_rank) VALUES (:group, :is_retry, :rank)
ON CONFLICT (message_group, is_retry) DO UPDATE SET last_rank = excluded.last_rank

-- name: send
INSERT INTO message (key, body, is_ready, ready_at, set_at, message_group, resource, rank)
VALUES (:key, :body, :is_ready, :ready_at, :now, :group, :resource, :rank)
ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
RETURNING id

-- name: due_messages
SELECT id, message_group, is_retry OR leased FROM message
WHERE is_ready = 0 AND ready_at <= :now ORDER BY ready_at, id LIMIT :limit

-- name: put_in_line
UPDATE message SET is_ready = 1, is_retry = :is_retry, rank = :rank WHERE id = :id

-- name: receive
-- The lease: one worker gets the message until the lease ends, and the new token fences off an
-- earlier worker.
UPDATE message
SET attempts = attempts + 1, token = token + 1, leased = 1, is_ready = 0,
  ready_at = :lease_end, set_at = :now
WHERE id IN (
  SELECT id FROM message WHERE is_ready = 1 AND rank < 1099511627776 ORDER BY rank, id LIMIT :limit
)
RETURNING rank, id, token, body, key, attempts, message_group, resource

-- name: receive_background
UPDATE message
SET attempts = attempts + 1, token = token + 1, leased = 1, is_ready = 0,
  ready_at = :lease_end, set_at = :now
WHERE id IN (
  SELECT id FROM message WHERE is_ready = 1 AND rank >= 1099511627776 ORDER BY rank, id LIMIT :limit
)
RETURNING rank, id, token, body, key, attempts, message_group, resource

-- name: receive_around
-- Examines a bounded number of messages, because the first ones include those of other groups.
UPDATE message
SET attempts = attempts + 1, token = token + 1, leased = 1, is_ready = 0,
  ready_at = :lease_end, set_at = :now
WHERE id IN (
  SELECT id FROM (
    SELECT rank, id, resource, message_group FROM message
    WHERE is_ready = 1 AND rank < 1099511627776 ORDER BY rank, id LIMIT :look_ahead
  )
  WHERE resource = '' OR (
    NOT :all_resources
    AND resource NOT IN (SELECT value FROM json_each(:resources))
    AND message_group NOT IN (SELECT value FROM json_each(:groups))
  )
  ORDER BY rank, id LIMIT :limit
)
RETURNING rank, id, token, body, key, attempts, message_group, resource

-- name: write_virtual_time
UPDATE queue_state SET virtual_time = max(virtual_time, :rank)

-- name: forget_lanes
DELETE FROM lane WHERE last_rank <= (SELECT virtual_time FROM queue_state)

-- name: add_delivered
INSERT INTO delivered (second, count) VALUES (:second, :count)
ON CONFLICT (second) DO UPDATE SET count = count + excluded.count

-- name: forget_delivered
DELETE FROM delivered WHERE second < :second

-- name: next_ready
SELECT min(ready_at) FROM message WHERE is_ready = 0

-- name: pending
SELECT key FROM message WHERE key IN carray(:keys)

-- name: group_size
SELECT pending FROM group_size WHERE message_group = :group

-- name: find_message
SELECT id, rank, ready_at, is_ready, leased FROM message WHERE key = :key

-- name: count_in_line_through
SELECT count(*) FROM (
  SELECT 1 FROM message WHERE is_ready = 1 AND (rank, id) <= (:rank, :id) LIMIT :limit
)

-- name: count_waiting_through
-- A message that a worker holds is not in the queue; one whose lease has expired is.
SELECT count(*) FROM (
  SELECT 1 FROM message
  WHERE is_ready = 0 AND (ready_at, id) <= (:ready_at, :id)
    AND NOT (leased AND ready_at > :now) AND message_group <> '(background)'
  LIMIT :limit
)

-- name: acknowledge
DELETE FROM message WHERE id = :id AND token = :token AND leased = 1
RETURNING key, body, attempts, message_group, resource

-- name: retry
UPDATE message SET leased = 0, is_ready = 0, is_retry = 1, ready_at = :ready_at, set_at = :now
WHERE id = :id AND token = :token AND leased = 1 RETURNING id

-- name: release
-- It keeps its rank, and therefore its position.
UPDATE message
SET leased = 0, is_ready = 1, attempts = attempts - 1, ready_at = :now, set_at = :now
WHERE id = :id AND token = :token AND leased = 1 RETURNING id

-- name: extend
UPDATE message SET is_ready = 0, ready_at = :lease_end, set_at = :now
WHERE id = :id AND token = :token AND leased = 1 RETURNING id

-- name: bury
INSERT INTO dead_letter (id, key, body, attempts, reason, buried_at, message_group, resource)
VALUES (:id, :key, :body, :attempts, :reason, :now, :group, :resource)

-- name: unbury
DELETE FROM dead_letter WHERE id = :id RETURNING key, body, message_group, resource

-- name: dead_letters
SELECT id, body, key, attempts, reason, buried_at FROM dead_letter
WHERE id > :after ORDER BY id LIMIT :limit

-- name: queue_counts
SELECT pending, ready, leased, dead FROM queue_state

-- name: background_counts
SELECT background_pending, background_ready, background_leased FROM queue_state

-- name: ready_since
SELECT min(ready_at) FROM message WHERE is_ready = 1 AND rank < 1099511627776

-- name: count_due
-- Ready by now, but without a rank yet, because nothing was sent or received since.
SELECT count(*) FILTER (WHERE NOT is_background),
  count(*) FILTER (WHERE leased AND NOT is_background),
  min(ready_at) FILTER (WHERE NOT is_background),
  count(*) FILTER (WHERE is_background), count(*) FILTER (WHERE leased AND is_background)
FROM (
  SELECT leased, ready_at, message_group = '(background)' AS is_background FROM message
  WHERE is_ready = 0 AND ready_at <= :now ORDER BY ready_at LIMIT :limit
)

-- name: count_delivered
SELECT coalesce(sum(count), 0) FROM delivered WHERE second > :until - 60 AND second <= :until

-- name: pause
UPDATE state SET paused_at = :now, paused_until = :until

-- name: heal_messages
UPDATE message SET ready_at = :now, set_at = :now WHERE set_at > :now

-- name: heal_due
UPDATE kv SET due = NULL
WHERE due IS NOT NULL AND due < 253402300799999999 AND written_at > :now

-- name: heal_pause
UPDATE state SET paused_at = 0, paused_until = 0 WHERE paused_at > :now

-- name: heal_latest
UPDATE state SET latest_at = :now

-- name: export_summary
SELECT history_id, revision,
  (SELECT count(*) FROM kv) + (SELECT count(*) FROM message) + (SELECT count(*) FROM dead_letter),
  (SELECT virtual_time FROM queue_state)
FROM state

-- name: export_records
SELECT value, key, due, expires_at, marks, rank FROM kv ORDER BY key

-- name: export_messages
SELECT body, key, message_group, resource, attempts, ready_at, is_ready, is_retry, rank, leased
FROM message ORDER BY id

-- name: export_letters
SELECT body, key, message_group, resource, attempts, reason, buried_at FROM dead_letter ORDER BY id

-- name: virtual_time
SELECT virtual_time FROM queue_state

-- name: load_message
INSERT INTO message (key, body, attempts, token, is_ready, is_retry, ready_at, set_at,
  message_group, resource, rank)
VALUES (:key, :body, :attempts, :token, :is_ready, :is_retry, :ready_at, :now,
  :group, :resource, :rank)

-- name: raise_last_rank
INSERT INTO lane (message_group, is_retry, last_rank) VALUES (:group, :is_retry, :rank)
ON CONFLICT (message_group, is_retry) DO UPDATE SET last_rank = max(last_rank, excluded.last_rank)

-- name: take_message_id
INSERT INTO message (body, ready_at, set_at) VALUES (x'', :now, :now) RETURNING id

-- name: drop_message
DELETE FROM message WHERE id = :id

-- name: clear_messages
DELETE FROM message

-- name: clear_letters
DELETE FROM dead_letter

-- name: clear_lanes
DELETE FROM lane

-- name: clear_records
DELETE FROM kv

-- name: clear_tombstones
DELETE FROM tombstone
