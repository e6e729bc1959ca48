-- usable from 2
-- Functions that keep their plans. The server plans a function in SQL whenever a statement calls it,
-- which took three times as long as the rest of a send; one in PL/pgSQL once in a session.

CREATE OR REPLACE FUNCTION vskill.last_rank(grp text, again boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN greatest(
    CASE WHEN grp = '(background)' THEN 1099511627776
      ELSE (SELECT last_value FROM vskill.virtual_time) + CASE WHEN again THEN 10 ELSE 0 END END,
    (SELECT max(rank) FROM vskill.message WHERE is_ready AND message_group = grp AND is_retry = again),
    CASE WHEN grp = '(background)' THEN (
      SELECT max(rank) FROM vskill.message
      WHERE is_ready AND message_group = grp AND is_retry = NOT again
    ) END
  );
END $$;

CREATE OR REPLACE FUNCTION vskill.checkpoint(through bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT history_id || ':' || coalesce((
      SELECT mark::text FROM vskill.commit_mark WHERE revision >= through ORDER BY revision LIMIT 1
    ), 'none') FROM vskill.state
  );
END $$;

-- As before, except for the first statement.
CREATE OR REPLACE FUNCTION vskill.begin_write(wanted bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint := coalesce(wanted, vskill.now_micros());
  current_timeline int := vskill.read_timeline();
  latest bigint;
  known_timeline int;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    -- The setting of a role or a database. What is acknowledged must outlive a crash of the server.
    PERFORM set_config('synchronous_commit', 'local', true);
  END IF;
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

-- As before, except for sends of one group, which need no window and no lanes.
CREATE OR REPLACE FUNCTION vskill.commit_group(
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
  last bigint;
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
    -- Usually all are of one group and at once.
    IF s_group = array_fill(s_group[1], ARRAY[cardinality(s_group)]) AND 0 >= ALL (s_delay) THEN
      last := vskill.last_rank(s_group[1], false);
      INSERT INTO vskill.message
        (key, body, is_ready, ready_at, set_at, message_group, resource, rank)
      SELECT s.key, s.body, true, moment, moment, s.grp, s.resource, last + row_number() OVER ()
      FROM unnest(s_commit, s_key, s_body, s_group, s_resource) AS s (c, key, body, grp, resource)
      WHERE NOT s.c = ANY (failed)
        AND (s.key IS NULL OR NOT EXISTS (SELECT 1 FROM vskill.message WHERE message.key = s.key))
      ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING;
    ELSE
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
  END IF;
  INSERT INTO vskill.outcome VALUES (group_id, moment, revisions);
  RETURN revisions;
END $$;
