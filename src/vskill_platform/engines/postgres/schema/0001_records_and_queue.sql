-- Moments are whole microseconds since 1970, UTC. `vskill` stands for the schema of the registry.
-- Keys sort by code point, as in every engine: COLLATE "C" on UTF8.

CREATE TABLE vskill.kv (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key        text COLLATE "C" NOT NULL,
  value      bytea  NOT NULL,
  revision   bigint NOT NULL,
  due        bigint,            -- NULL: unknown, so it is always listed
  expires_at bigint,
  written_at bigint NOT NULL,   -- only to notice that the clock went back
  marks      text[] COLLATE "C",
  rank       bigint
);
CREATE UNIQUE INDEX kv_key ON vskill.kv (key);
CREATE INDEX kv_revision ON vskill.kv (revision);
-- 253402300799999999 is `never`: finished records cost the two due indexes nothing.
CREATE INDEX kv_undated ON vskill.kv (key) WHERE due IS NULL;
CREATE INDEX kv_due ON vskill.kv (due, key) WHERE due < 253402300799999999;
CREATE INDEX kv_expiring ON vskill.kv (expires_at) WHERE expires_at IS NOT NULL;
-- Values are mostly compressed archives and small JSON: do not try to compress them again.
ALTER TABLE vskill.kv ALTER COLUMN value SET STORAGE EXTERNAL;

CREATE TABLE vskill.mark (
  word   text COLLATE "C" NOT NULL,
  rank   bigint NOT NULL,
  record bigint NOT NULL,
  PRIMARY KEY (word, rank, record)
);

-- What was deleted, so that the change feed can tell; pruned after a while.
CREATE TABLE vskill.tombstone (
  key        text COLLATE "C" NOT NULL PRIMARY KEY,
  revision   bigint NOT NULL,
  deleted_at bigint NOT NULL
);
CREATE INDEX tombstone_revision ON vskill.tombstone (revision);

-- One row. A transaction that writes records locks it until its end, so revisions become visible in order.
CREATE TABLE vskill.state (
  id              int PRIMARY KEY CHECK (id = 1),
  revision        bigint NOT NULL,
  trimmed_through bigint NOT NULL,  -- the change feed begins behind this revision
  history_id      text   NOT NULL
);
INSERT INTO vskill.state VALUES (1, 0, 0, replace(gen_random_uuid()::text, '-', ''));

-- A random number for each transaction that made revisions, under the last of them: see docs/engines.md.
CREATE TABLE vskill.commit_mark (
  revision bigint PRIMARY KEY,
  mark     bigint NOT NULL
);
INSERT INTO vskill.commit_mark VALUES (0, (random() * 9007199254740991)::bigint);

-- The result of each group of commits by the id that its node chose: a node that lost the
-- connection during COMMIT looks here, or writes its id first, and then the group is not applied.
CREATE TABLE vskill.outcome (
  id   uuid PRIMARY KEY,
  at   bigint NOT NULL,
  done bigint[]               -- a revision or NULL for each commit; NULL: it was not applied
);
CREATE INDEX outcome_at ON vskill.outcome (at);

-- Apart from `state`, so that nobody waits for a writer of records.
CREATE TABLE vskill.clock (
  id           int PRIMARY KEY CHECK (id = 1),
  latest_at    bigint NOT NULL,  -- the latest moment at which anything was written, to a second
  paused_at    bigint NOT NULL,
  paused_until bigint NOT NULL,
  timeline     int    NOT NULL   -- of the server when anything was written, to notice a failover
);
INSERT INTO vskill.clock VALUES (1, 0, 0, 0, 0);

-- A message is either in line (is_ready, ordered by rank) or waits for ready_at: the end of its
-- delay or of its lease.
CREATE TABLE vskill.message (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key           text COLLATE "C",
  body          bytea   NOT NULL,
  attempts      int     NOT NULL DEFAULT 0,
  token         bigint  NOT NULL DEFAULT 0,  -- which delivery is the latest; never counted down
  leased        boolean NOT NULL DEFAULT false,
  is_ready      boolean NOT NULL,
  is_retry      boolean NOT NULL DEFAULT false,
  ready_at      bigint  NOT NULL,
  set_at        bigint  NOT NULL,            -- only to notice that the clock went back
  message_group text COLLATE "C" NOT NULL,
  resource      text COLLATE "C" NOT NULL,
  rank          bigint  NOT NULL
) WITH (
  fillfactor = 70,  -- room for new versions of a row on its page
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);
CREATE UNIQUE INDEX message_key ON vskill.message (key) WHERE key IS NOT NULL;
CREATE INDEX message_in_line ON vskill.message (rank, id) WHERE is_ready;
CREATE INDEX message_lane ON vskill.message (message_group, is_retry, rank) WHERE is_ready;
CREATE INDEX message_ready_since ON vskill.message (ready_at) WHERE is_ready;
CREATE INDEX message_waiting ON vskill.message (ready_at, id) WHERE NOT is_ready;

CREATE TABLE vskill.dead_letter (
  id            bigint PRIMARY KEY,
  key           text COLLATE "C",
  body          bytea  NOT NULL,
  attempts      int    NOT NULL,
  reason        text   NOT NULL,
  buried_at     bigint NOT NULL,
  message_group text COLLATE "C" NOT NULL,
  resource      text COLLATE "C" NOT NULL
);

-- Counters as changes to be summed up: one row that everybody updates would be a queue of its own.
-- Pruning replaces the rows of a group by their sum. The group NULL is all of them.
CREATE TABLE vskill.queue_count (
  message_group text COLLATE "C",
  pending       bigint NOT NULL,
  ready         bigint NOT NULL,
  leased        bigint NOT NULL,
  dead          bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX queue_count_group ON vskill.queue_count (message_group);

CREATE TABLE vskill.delivered (
  second bigint NOT NULL,
  count  int    NOT NULL
);
CREATE INDEX delivered_second ON vskill.delivered (second);

-- The highest rank that was delivered. A sequence, because nobody has to wait for another one that
-- raises it; if two race, the order between groups is off by a turn.
CREATE SEQUENCE vskill.virtual_time MINVALUE 0 START 0;
SELECT setval('vskill.virtual_time', 0);

CREATE FUNCTION vskill.count_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO vskill.queue_count
    SELECT message_group, count(*), count(*) FILTER (WHERE is_ready),
      count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM added GROUP BY GROUPING SETS ((message_group), ()) HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO vskill.queue_count
    SELECT message_group, -count(*), -count(*) FILTER (WHERE is_ready),
      -count(*) FILTER (WHERE leased AND NOT is_ready), 0
    FROM removed GROUP BY GROUPING SETS ((message_group), ()) HAVING count(*) > 0;
  ELSE
    INSERT INTO vskill.queue_count
    SELECT NULL, 0, sum(ready), sum(leased), 0 FROM (
      SELECT count(*) FILTER (WHERE is_ready) AS ready,
        count(*) FILTER (WHERE leased AND NOT is_ready) AS leased FROM added
      UNION ALL
      SELECT -count(*) FILTER (WHERE is_ready),
        -count(*) FILTER (WHERE leased AND NOT is_ready) FROM removed
    ) AS difference
    HAVING sum(ready) <> 0 OR sum(leased) <> 0;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER message_added AFTER INSERT ON vskill.message
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION vskill.count_messages();
CREATE TRIGGER message_removed AFTER DELETE ON vskill.message
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION vskill.count_messages();
CREATE TRIGGER message_moved AFTER UPDATE ON vskill.message
REFERENCING OLD TABLE AS removed NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION vskill.count_messages();

CREATE FUNCTION vskill.count_dead_letters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO vskill.queue_count SELECT NULL, 0, 0, 0, count(*) FROM added HAVING count(*) > 0;
  ELSE
    INSERT INTO vskill.queue_count SELECT NULL, 0, 0, 0, -count(*) FROM removed HAVING count(*) > 0;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER dead_letter_added AFTER INSERT ON vskill.dead_letter
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION vskill.count_dead_letters();
CREATE TRIGGER dead_letter_removed AFTER DELETE ON vskill.dead_letter
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION vskill.count_dead_letters();
