-- Each is one call of a node: locks are taken, used and released without a round trip in between.
-- In a VOLATILE function every statement sees what was committed before it began, so a check after
-- a lock sees everything that the lock waited for.

CREATE FUNCTION vskill.now_micros() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- The timeline of this server. A failover and a point-in-time recovery begin a new one. A server that
-- does not show it always has the same.
CREATE FUNCTION vskill.read_timeline() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
  RETURN 0;
END $$;

-- On a new timeline, the latest commits of the old one may be missing. Their revisions and message ids
-- are not used again, because nodes may still hold them, and readers have to read everything again.
CREATE FUNCTION vskill.begin_timeline(current int) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM vskill.clock WHERE timeline <> current FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;  -- another node was faster
  END IF;
  UPDATE vskill.clock SET timeline = current;
  UPDATE vskill.state SET revision = revision + 1000000,
    history_id = replace(gen_random_uuid()::text, '-', '');
  INSERT INTO vskill.commit_mark SELECT revision, (random() * 9007199254740991)::bigint FROM vskill.state;
  PERFORM setval(
    pg_get_serial_sequence('vskill.message', 'id'),
    nextval(pg_get_serial_sequence('vskill.message', 'id')) + 1000000
  );
END $$;

-- *wanted* is the time of a test; NULL is the time of this server.
CREATE FUNCTION vskill.begin_write(wanted bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint := coalesce(wanted, vskill.now_micros());
  current_timeline int := vskill.read_timeline();
  latest bigint;
  known_timeline int;
BEGIN
  SELECT latest_at, timeline INTO latest, known_timeline FROM vskill.clock;
  IF known_timeline <> current_timeline THEN
    PERFORM vskill.begin_timeline(current_timeline);
  END IF;
  IF moment < latest - 5000000 THEN
    -- The clock went back: nothing may wait for a time that was computed from the one before.
    PERFORM 1 FROM vskill.clock FOR UPDATE;
    UPDATE vskill.message SET ready_at = moment, set_at = moment WHERE set_at > moment;
    UPDATE vskill.kv SET due = NULL WHERE due < 253402300799999999 AND written_at > moment;
    UPDATE vskill.clock SET latest_at = moment,
      paused_until = CASE WHEN paused_at > moment THEN 0 ELSE paused_until END,
      paused_at = CASE WHEN paused_at > moment THEN 0 ELSE paused_at END;
  ELSIF moment > latest + 1000000 THEN
    -- If it is locked, another transaction is writing it.
    UPDATE vskill.clock SET latest_at = moment
    WHERE id = (SELECT id FROM vskill.clock WHERE latest_at < moment FOR UPDATE SKIP LOCKED);
  END IF;
  RETURN moment;
END $$;

-- Start-time fair queueing, see decision 19: the rank after the last one of a lane in line, and
-- after the virtual time. Two nodes may give the same rank to two messages of a group.
CREATE FUNCTION vskill.last_rank(grp text, again boolean) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT greatest(
    (SELECT last_value FROM vskill.virtual_time) + CASE WHEN again THEN 10 ELSE 0 END,
    (SELECT max(rank) FROM vskill.message WHERE is_ready AND message_group = grp AND is_retry = again)
  )
$$;

CREATE FUNCTION vskill.put_due_in_line(moment bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM vskill.message WHERE NOT is_ready AND ready_at <= moment) THEN
    RETURN;
  END IF;
  WITH due AS MATERIALIZED (
    SELECT id, message_group, is_retry OR leased AS again, ready_at FROM vskill.message
    WHERE NOT is_ready AND ready_at <= moment
    ORDER BY ready_at, id LIMIT 500 FOR UPDATE SKIP LOCKED
  ), lane AS MATERIALIZED (
    SELECT message_group, again, vskill.last_rank(message_group, again) AS last
    FROM due GROUP BY message_group, again
  ), ranked AS (
    SELECT id, again,
      last + row_number() OVER (PARTITION BY message_group, again ORDER BY ready_at, id) AS rank
    FROM due JOIN lane USING (message_group, again)
  )
  UPDATE vskill.message AS m SET is_ready = true, is_retry = ranked.again, rank = ranked.rank
  FROM ranked WHERE m.id = ranked.id;
END $$;

-- Decide and apply a group of commits that have no key, delivery or dead letter in common.
-- Operations are columns; `*_commit` says to which commit a row belongs, from 1.
-- Record kinds: 0 expect, 1 put, 2 delete. Delivery kinds: 1 acknowledge, 2 retry, 3 release,
-- 4 extend, 5 bury. Dead letter kinds: 1 revive, 2 drop.
CREATE FUNCTION vskill.commit_group(
  group_id uuid, wanted_now bigint, commits int,
  r_commit int[], r_kind int[], r_key text[], r_expected bigint[], r_value bytea[], r_due bigint[],
  r_expires bigint[], r_marks text[], r_rank bigint[],
  d_commit int[], d_kind int[], d_id bigint[], d_token bigint[], d_micros bigint[], d_reason text[],
  l_commit int[], l_kind int[], l_id bigint[],
  s_commit int[], s_key text[], s_body bytea[], s_delay bigint[], s_group text[], s_resource text[]
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint;
  latest bigint := 253402300799999999;
  current_revision bigint;
  new_revision bigint;
  failed int[] := '{}';
  revisions bigint[];
  put_keys text[];
  delete_keys text[];
BEGIN
  moment := vskill.begin_write(wanted_now);
  -- Each part is decided by its own statement, and only if there is one: most commits have one part.
  IF cardinality(r_commit) > 0 THEN
    SELECT revision INTO current_revision FROM vskill.state FOR UPDATE;
    SELECT coalesce(array_agg(DISTINCT r.c), '{}') INTO failed
    FROM unnest(r_commit, r_key, r_expected) AS r (c, key, expected)
    LEFT JOIN vskill.kv ON kv.key = r.key AND (kv.expires_at IS NULL OR kv.expires_at > moment)
    WHERE r.expected IS NOT NULL AND coalesce(kv.revision, 0) <> r.expected;
  ELSE
    SELECT revision INTO current_revision FROM vskill.state;
  END IF;
  -- Locked in the order of their ids, so that two groups cannot wait for each other.
  IF cardinality(d_id) > 0 THEN
    PERFORM 1 FROM vskill.message WHERE id = ANY (d_id) ORDER BY id FOR UPDATE;
    SELECT failed || coalesce(array_agg(d.c), '{}') INTO failed
    FROM unnest(d_commit, d_id, d_token) AS d (c, id, token)
    LEFT JOIN vskill.message AS m ON m.id = d.id AND m.token = d.token AND m.leased
    WHERE m.id IS NULL;
  END IF;
  IF cardinality(l_id) > 0 THEN
    PERFORM 1 FROM vskill.dead_letter WHERE id = ANY (l_id) ORDER BY id FOR UPDATE;
    SELECT failed || coalesce(array_agg(l.c), '{}') INTO failed
    FROM unnest(l_commit, l_id) AS l (c, id)
    LEFT JOIN vskill.dead_letter AS letter ON letter.id = l.id
    WHERE letter.id IS NULL;
  END IF;

  new_revision := current_revision;
  IF cardinality(r_commit) = 0 AND failed = '{}' THEN
    revisions := array_fill(greatest(current_revision, 1), ARRAY[commits]);
  ELSE
    SELECT array_agg(
        CASE WHEN n.c = ANY (failed) THEN NULL
          WHEN w.c IS NULL THEN greatest(current_revision, 1)
          ELSE current_revision + w.place END ORDER BY n.c),
      current_revision + count(w.c)
    INTO revisions, new_revision
    FROM generate_series(1, commits) AS n (c)
    LEFT JOIN (
      SELECT r.c, row_number() OVER (ORDER BY r.c) AS place
      FROM unnest(r_commit, r_kind) AS r (c, kind)
      WHERE r.kind > 0 AND NOT r.c = ANY (failed) GROUP BY r.c
    ) AS w ON w.c = n.c;
  END IF;

  IF cardinality(r_commit) > 0 THEN
    SELECT array_agg(r.key) FILTER (WHERE r.kind = 1), array_agg(r.key) FILTER (WHERE r.kind = 2)
    INTO put_keys, delete_keys
    FROM unnest(r_commit, r_kind, r_key) AS r (c, kind, key) WHERE NOT r.c = ANY (failed);
    DELETE FROM vskill.mark AS m USING vskill.kv AS k
    WHERE k.key = ANY (put_keys || delete_keys) AND k.marks IS NOT NULL
      AND m.word = ANY (k.marks) AND m.rank = k.rank AND m.record = k.id;
  END IF;
  IF put_keys IS NOT NULL THEN
    INSERT INTO vskill.kv (key, value, revision, due, expires_at, written_at, marks, rank)
    SELECT r.key, r.value, revisions[r.c], r.due, r.expires, moment,
      CASE WHEN r.marks IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(r.marks::jsonb)) END,
      CASE WHEN r.marks IS NOT NULL THEN r.rank END
    FROM unnest(r_commit, r_kind, r_key, r_value, r_due, r_expires, r_marks, r_rank)
      AS r (c, kind, key, value, due, expires, marks, rank)
    WHERE r.kind = 1 AND NOT r.c = ANY (failed)
    ON CONFLICT (key) DO UPDATE SET
      value = excluded.value, revision = excluded.revision, due = excluded.due,
      expires_at = excluded.expires_at, written_at = excluded.written_at,
      marks = excluded.marks, rank = excluded.rank;
    INSERT INTO vskill.mark (word, rank, record)
    SELECT DISTINCT word, k.rank, k.id FROM vskill.kv AS k, unnest(k.marks) AS word
    WHERE k.key = ANY (put_keys) AND k.marks IS NOT NULL;
    DELETE FROM vskill.tombstone WHERE key = ANY (put_keys);
  END IF;
  IF delete_keys IS NOT NULL THEN
    DELETE FROM vskill.kv WHERE key = ANY (delete_keys);
    INSERT INTO vskill.tombstone (key, revision, deleted_at)
    SELECT r.key, revisions[r.c], moment
    FROM unnest(r_commit, r_kind, r_key) AS r (c, kind, key)
    WHERE r.kind = 2 AND NOT r.c = ANY (failed)
    ON CONFLICT (key) DO UPDATE SET
      revision = excluded.revision, deleted_at = excluded.deleted_at;
  END IF;
  IF new_revision > current_revision THEN
    UPDATE vskill.state SET revision = new_revision;
    INSERT INTO vskill.commit_mark VALUES (new_revision, (random() * 9007199254740991)::bigint);
  END IF;

  IF cardinality(d_id) > 0 THEN
    WITH gone AS (
      DELETE FROM vskill.message AS m
      USING unnest(d_commit, d_kind, d_id, d_reason) AS d (c, kind, id, reason)
      WHERE m.id = d.id AND d.kind IN (1, 5) AND NOT d.c = ANY (failed)
      RETURNING m.*, d.kind AS kind, d.reason AS reason
    )
    INSERT INTO vskill.dead_letter
    SELECT id, key, body, attempts, reason, moment, message_group, resource FROM gone
    WHERE kind = 5;
    UPDATE vskill.message AS m SET
      leased = d.kind = 4,
      is_ready = d.kind = 3,
      is_retry = m.is_retry OR d.kind = 2,
      attempts = m.attempts - CASE WHEN d.kind = 3 THEN 1 ELSE 0 END,
      ready_at = least(moment + greatest(d.micros, 0), latest),
      set_at = moment
    FROM unnest(d_commit, d_kind, d_id, d_micros) AS d (c, kind, id, micros)
    WHERE m.id = d.id AND d.kind IN (2, 3, 4) AND NOT d.c = ANY (failed);
  END IF;
  IF cardinality(l_id) > 0 THEN
    WITH gone AS (
      DELETE FROM vskill.dead_letter AS letter
      USING unnest(l_commit, l_kind, l_id) AS l (c, kind, id)
      WHERE letter.id = l.id AND NOT l.c = ANY (failed)
      RETURNING l.c, l.kind, letter.*
    )
    SELECT s_commit || coalesce(array_agg(c), '{}'), s_key || coalesce(array_agg(key), '{}'),
      s_body || coalesce(array_agg(body), '{}'), s_delay || coalesce(array_agg(0::bigint), '{}'),
      s_group || coalesce(array_agg(message_group), '{}'),
      s_resource || coalesce(array_agg(resource), '{}')
    INTO s_commit, s_key, s_body, s_delay, s_group, s_resource
    FROM gone WHERE kind = 1;
  END IF;
  IF cardinality(s_commit) > 0 THEN
    PERFORM vskill.put_due_in_line(moment);  -- they were ready before
    WITH sent AS MATERIALIZED (
      SELECT s.place, s.key, s.body, s.grp, s.resource,
        least(moment + greatest(s.delay, 0), latest) AS ready_at, s.delay <= 0 AS is_ready
      FROM unnest(s_commit, s_key, s_body, s_delay, s_group, s_resource)
        WITH ORDINALITY AS s (c, key, body, delay, grp, resource, place)
      WHERE NOT s.c = ANY (failed)
        AND (s.key IS NULL OR NOT EXISTS (SELECT 1 FROM vskill.message WHERE message.key = s.key))
    ), lane AS MATERIALIZED (
      SELECT grp, vskill.last_rank(grp, false) AS last FROM sent WHERE is_ready GROUP BY grp
    )
    INSERT INTO vskill.message
      (key, body, is_ready, ready_at, set_at, message_group, resource, rank)
    SELECT sent.key, sent.body, sent.is_ready, sent.ready_at, moment, sent.grp, sent.resource,
      CASE WHEN sent.is_ready
        THEN lane.last + row_number() OVER (PARTITION BY sent.grp, sent.is_ready ORDER BY sent.place)
        ELSE 0 END
    FROM sent LEFT JOIN lane ON lane.grp = sent.grp
    ORDER BY sent.place
    ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING;
  END IF;
  INSERT INTO vskill.outcome VALUES (group_id, moment, revisions);
  RETURN revisions;
END $$;

-- Lease messages, outside of the lock of those who write records. `retry_at` is set in a row without
-- an id if there are none: when there may be one, NULL if nobody knows.
CREATE FUNCTION vskill.receive(
  wanted_now bigint, most int, lease bigint, busy_groups text[], busy_resources text[],
  all_resources boolean, is_anything_busy boolean
) RETURNS TABLE (
  id bigint, token bigint, body bytea, key text, attempts int, message_group text, resource text,
  retry_at bigint, now_micros bigint
) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  moment bigint := vskill.begin_write(wanted_now);
  until bigint;
  chosen bigint[];
  highest bigint;
BEGIN
  SELECT c.paused_until INTO until FROM vskill.clock AS c
  WHERE c.paused_at <= moment AND moment < c.paused_until;
  IF until IS NOT NULL THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::bytea, NULL, NULL::int, NULL, NULL, until, moment;
    RETURN;
  END IF;
  PERFORM vskill.put_due_in_line(moment);
  IF is_anything_busy THEN
    SELECT array_agg(picked.id), max(picked.rank) INTO chosen, highest FROM (
      SELECT m.id, m.rank FROM vskill.message AS m
      WHERE m.id = ANY (ARRAY(
          SELECT front.id FROM vskill.message AS front
          WHERE front.is_ready ORDER BY front.rank, front.id LIMIT 1000
        ))
        AND m.is_ready AND (m.resource = '' OR (
          NOT all_resources AND NOT m.resource = ANY (busy_resources)
          AND NOT m.message_group = ANY (busy_groups)
        ))
      ORDER BY m.rank, m.id LIMIT most FOR UPDATE SKIP LOCKED
    ) AS picked;
  ELSE
    SELECT array_agg(picked.id), max(picked.rank) INTO chosen, highest FROM (
      SELECT m.id, m.rank FROM vskill.message AS m
      WHERE m.is_ready ORDER BY m.rank, m.id LIMIT most FOR UPDATE SKIP LOCKED
    ) AS picked;
  END IF;
  IF chosen IS NULL THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::bytea, NULL, NULL::int, NULL, NULL,
      (SELECT min(ready_at) FROM vskill.message WHERE NOT is_ready), moment;
    RETURN;
  END IF;
  IF highest > (SELECT last_value FROM vskill.virtual_time) THEN
    PERFORM setval('vskill.virtual_time', highest);
  END IF;
  INSERT INTO vskill.delivered VALUES (moment / 1000000, cardinality(chosen));
  RETURN QUERY
  WITH leased AS (
    UPDATE vskill.message AS m SET
      attempts = m.attempts + 1, token = m.token + 1, leased = true, is_ready = false,
      ready_at = least(moment + greatest(lease, 0), 253402300799999999), set_at = moment
    WHERE m.id = ANY (chosen)
    RETURNING m.rank, m.id, m.token, m.body, m.key, m.attempts, m.message_group, m.resource
  )
  SELECT leased.id, leased.token, leased.body, leased.key, leased.attempts, leased.message_group,
    leased.resource, NULL::bigint, moment
  FROM leased ORDER BY leased.rank, leased.id;
END $$;

CREATE FUNCTION vskill.pause(wanted_now bigint, span bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint := vskill.begin_write(wanted_now);
BEGIN
  UPDATE vskill.clock SET paused_at = moment, paused_until = least(moment + span, 253402300799999999);
END $$;

CREATE FUNCTION vskill.checkpoint(through bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT history_id || ':' || coalesce((
    SELECT mark::text FROM vskill.commit_mark WHERE revision >= through ORDER BY revision LIMIT 1
  ), 'none') FROM vskill.state
$$;

CREATE FUNCTION vskill.prune_expired(wanted_now bigint, most int) RETURNS int
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint := vskill.begin_write(wanted_now);
  next_revision bigint;
  keys text[];
BEGIN
  SELECT revision + 1 INTO next_revision FROM vskill.state FOR UPDATE;
  SELECT array_agg(expired.key) INTO keys FROM (
    SELECT key FROM vskill.kv WHERE expires_at <= moment LIMIT most
  ) AS expired;
  IF keys IS NULL THEN
    RETURN 0;
  END IF;
  DELETE FROM vskill.mark AS m USING vskill.kv AS k
  WHERE k.key = ANY (keys) AND k.marks IS NOT NULL
    AND m.word = ANY (k.marks) AND m.rank = k.rank AND m.record = k.id;
  DELETE FROM vskill.kv WHERE key = ANY (keys);
  INSERT INTO vskill.tombstone SELECT key, next_revision, moment FROM unnest(keys) AS key
  ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, deleted_at = excluded.deleted_at;
  UPDATE vskill.state SET revision = next_revision;
  INSERT INTO vskill.commit_mark VALUES (next_revision, (random() * 9007199254740991)::bigint);
  RETURN cardinality(keys);
END $$;

CREATE FUNCTION vskill.trim_feed(before bigint, most int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  trimmed bigint;
  total int;
BEGIN
  PERFORM 1 FROM vskill.state FOR UPDATE;
  WITH gone AS (
    DELETE FROM vskill.tombstone WHERE key IN (
      SELECT key FROM vskill.tombstone WHERE deleted_at < before ORDER BY revision LIMIT most
    ) RETURNING revision
  ) SELECT max(revision), count(*) INTO trimmed, total FROM gone;
  IF total > 0 THEN
    UPDATE vskill.state SET trimmed_through = greatest(trimmed_through, trimmed);
  END IF;
  RETURN total;
END $$;

-- Replace the counters of each group by their sum. Rows that another node is summing up are left.
CREATE FUNCTION vskill.sum_up_counts() RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH gone AS (
    DELETE FROM vskill.queue_count WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM vskill.queue_count FOR UPDATE SKIP LOCKED
    )) RETURNING *
  )
  INSERT INTO vskill.queue_count
  SELECT message_group, sum(pending), sum(ready), sum(leased), sum(dead) FROM gone
  GROUP BY message_group
  HAVING sum(pending) <> 0 OR sum(ready) <> 0 OR sum(leased) <> 0 OR sum(dead) <> 0
$$;

UPDATE vskill.clock SET timeline = vskill.read_timeline();
