-- Fair order between groups, and counts that are kept with the messages.
--
-- A message is either in line (is_ready = 1, ordered by rank) or waits for ready_at: the end of its
-- delay or of its lease. What was due before this migration gets its rank when the next message is
-- sent or received.
ALTER TABLE message ADD COLUMN is_ready INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN message_group TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN resource TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN is_retry INTEGER NOT NULL DEFAULT 0;  -- it is in its group's retry lane
ALTER TABLE message ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dead_letter ADD COLUMN message_group TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN resource TEXT NOT NULL DEFAULT '';

DROP INDEX message_ready;
-- With the columns that receive looks at, so that it passes over a message without reading it.
CREATE INDEX message_in_line ON message (rank, id, resource, message_group) WHERE is_ready = 1;
CREATE INDEX message_ready_since ON message (ready_at) WHERE is_ready = 1;
CREATE INDEX message_waiting ON message (ready_at, id, leased) WHERE is_ready = 0;

-- The rank of the last message of each group, fresh and retried ones apart. A row is deleted once
-- the virtual time has passed it.
CREATE TABLE lane (
  message_group TEXT    NOT NULL,
  is_retry      INTEGER NOT NULL,
  last_rank     INTEGER NOT NULL,
  PRIMARY KEY (message_group, is_retry)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_last_rank ON lane (last_rank);

-- How many messages of a group wait or are leased; no row: none.
CREATE TABLE group_size (
  message_group TEXT    NOT NULL PRIMARY KEY,
  pending       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_state (
  id           INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  virtual_time INTEGER NOT NULL,  -- the highest rank that was handed out
  pending      INTEGER NOT NULL,  -- all messages
  ready        INTEGER NOT NULL,
  leased       INTEGER NOT NULL,
  dead         INTEGER NOT NULL
) STRICT;
INSERT INTO queue_state VALUES (
  1, 0,
  (SELECT count(*) FROM message), 0, (SELECT count(*) FROM message WHERE leased),
  (SELECT count(*) FROM dead_letter)
);
INSERT INTO group_size SELECT '', count(*) FROM message HAVING count(*) > 0;

CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
  UPDATE queue_state SET
    pending = pending + 1, ready = ready + NEW.is_ready,
    leased = leased + (NEW.leased AND NOT NEW.is_ready);
  INSERT INTO group_size VALUES (NEW.message_group, 1)
  ON CONFLICT (message_group) DO UPDATE SET pending = pending + 1;
END;
CREATE TRIGGER message_moved AFTER UPDATE OF is_ready, leased ON message
WHEN OLD.is_ready <> NEW.is_ready OR OLD.leased <> NEW.leased BEGIN
  UPDATE queue_state SET
    ready = ready + NEW.is_ready - OLD.is_ready,
    leased = leased + (NEW.leased AND NOT NEW.is_ready) - (OLD.leased AND NOT OLD.is_ready);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
  UPDATE queue_state SET
    pending = pending - 1, ready = ready - OLD.is_ready,
    leased = leased - (OLD.leased AND NOT OLD.is_ready);
  UPDATE group_size SET pending = pending - 1 WHERE message_group = OLD.message_group;
  DELETE FROM group_size WHERE message_group = OLD.message_group AND pending <= 0;
END;
CREATE TRIGGER dead_letter_added AFTER INSERT ON dead_letter BEGIN
  UPDATE queue_state SET dead = dead + 1;
END;
CREATE TRIGGER dead_letter_removed AFTER DELETE ON dead_letter BEGIN
  UPDATE queue_state SET dead = dead - 1;
END;

-- Submissions that need review are found by a mark from now on, and no longer by reading all that
-- are pending. The one place where a migration looks into a value: later nobody would know which
-- records were written without their mark.
UPDATE kv SET
  marks = '["submission:NEEDS_REVIEW"]',
  rank = CAST(round(unixepoch(json_extract(CAST(value AS TEXT), '$.updated_at'), 'subsec') * 1e6) AS INTEGER)
WHERE key >= 'sub:' AND key < 'sub;' AND due IS NOT NULL AND due < 253402300799999999
  AND CASE WHEN json_valid(CAST(value AS TEXT))
      THEN json_extract(CAST(value AS TEXT), '$.state') = 'NEEDS_REVIEW'
        AND unixepoch(json_extract(CAST(value AS TEXT), '$.updated_at')) IS NOT NULL END;
INSERT INTO mark (word, rank, record)
SELECT 'submission:NEEDS_REVIEW', rank, id FROM kv WHERE marks = '["submission:NEEDS_REVIEW"]';
