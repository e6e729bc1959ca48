-- usable from 2
-- A line of its own for background messages: they have the group '(background)', and in line ranks
-- from 1099511627776, behind all others. Nodes of the release before receive none of them.

DROP INDEX vskill.message_ready_since;
CREATE INDEX message_ready_since ON vskill.message (ready_at) WHERE is_ready AND rank < 1099511627776;

-- The group NULL is all messages except those of the background, which are counted by their group.
CREATE OR REPLACE FUNCTION vskill.count_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO vskill.queue_count
    SELECT message_group, count(*), count(*) FILTER (WHERE is_ready),
      count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM added GROUP BY message_group
    UNION ALL
    SELECT NULL, count(*), count(*) FILTER (WHERE is_ready),
      count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM added WHERE message_group <> '(background)' HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO vskill.queue_count
    SELECT message_group, -count(*), -count(*) FILTER (WHERE is_ready),
      -count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM removed GROUP BY message_group
    UNION ALL
    SELECT NULL, -count(*), -count(*) FILTER (WHERE is_ready),
      -count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM removed WHERE message_group <> '(background)' HAVING count(*) > 0;
  ELSE
    INSERT INTO vskill.queue_count
    SELECT line, 0, sum(ready), sum(leased), 0 FROM (
      SELECT CASE WHEN message_group = '(background)' THEN message_group END AS line,
        is_ready::int AS ready, (leased AND NOT is_ready)::int AS leased FROM added
      UNION ALL
      SELECT CASE WHEN message_group = '(background)' THEN message_group END,
        -is_ready::int, -(leased AND NOT is_ready)::int FROM removed
    ) AS difference
    GROUP BY line HAVING sum(ready) <> 0 OR sum(leased) <> 0;
  END IF;
  RETURN NULL;
END $$;

-- As before, except for the background: it has one lane, and the virtual time says nothing about it.
CREATE OR REPLACE FUNCTION vskill.last_rank(grp text, again boolean) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
  SELECT greatest(
    CASE WHEN grp = '(background)' THEN 1099511627776
      ELSE (SELECT last_value FROM vskill.virtual_time) + CASE WHEN again THEN 10 ELSE 0 END END,
    (SELECT max(rank) FROM vskill.message WHERE is_ready AND message_group = grp AND is_retry = again),
    CASE WHEN grp = '(background)' THEN (
      SELECT max(rank) FROM vskill.message
      WHERE is_ready AND message_group = grp AND is_retry = NOT again
    ) END
  )
$$;

-- Lease messages, outside of the lock of those who write records. `retry_at` is set in a row without
-- an id if there are none: when there may be one, NULL if nobody knows.
CREATE FUNCTION vskill.receive(
  wanted_now bigint, most int, lease bigint, busy_groups text[], busy_resources text[],
  all_resources boolean, is_anything_busy boolean, background boolean
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
  IF background THEN
    SELECT array_agg(picked.id) INTO chosen FROM (
      SELECT m.id FROM vskill.message AS m
      WHERE m.is_ready AND m.rank >= 1099511627776
      ORDER BY m.rank, m.id LIMIT most FOR UPDATE SKIP LOCKED
    ) AS picked;
  ELSIF is_anything_busy THEN
    SELECT array_agg(picked.id), max(picked.rank) INTO chosen, highest FROM (
      SELECT m.id, m.rank FROM vskill.message AS m
      WHERE m.id = ANY (ARRAY(
          SELECT front.id FROM vskill.message AS front
          WHERE front.is_ready AND front.rank < 1099511627776
          ORDER BY front.rank, front.id LIMIT 1000
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
      WHERE m.is_ready AND m.rank < 1099511627776
      ORDER BY m.rank, m.id LIMIT most FOR UPDATE SKIP LOCKED
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
  IF NOT background THEN
    INSERT INTO vskill.delivered VALUES (moment / 1000000, cardinality(chosen));
  END IF;
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

-- For nodes of the release before.
CREATE OR REPLACE FUNCTION vskill.receive(
  wanted_now bigint, most int, lease bigint, busy_groups text[], busy_resources text[],
  all_resources boolean, is_anything_busy boolean
) RETURNS TABLE (
  id bigint, token bigint, body bytea, key text, attempts int, message_group text, resource text,
  retry_at bigint, now_micros bigint
) LANGUAGE sql VOLATILE AS $$
  SELECT * FROM vskill.receive(
    wanted_now, most, lease, busy_groups, busy_resources, all_resources, is_anything_busy, false
  )
$$;
