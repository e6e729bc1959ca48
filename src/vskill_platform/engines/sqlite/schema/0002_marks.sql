-- Records get an id, so that a mark leads to one in a few bytes. It is declared, because SQLite may
-- give other rows new numbers when a file is vacuumed.
DROP INDEX kv_key;
DROP INDEX kv_revision;
DROP INDEX kv_undated;
DROP INDEX kv_due;
DROP INDEX kv_expiring;
ALTER TABLE kv RENAME TO old_kv;

CREATE TABLE kv (
  id         INTEGER PRIMARY KEY,
  key        TEXT    NOT NULL,
  value      BLOB    NOT NULL,
  revision   INTEGER NOT NULL,
  due        INTEGER,            -- NULL: nobody knows, so it is always listed
  expires_at INTEGER,
  written_at INTEGER NOT NULL,   -- only to notice that the clock went back
  marks      TEXT,               -- a JSON array, to find them in `mark`; NULL: none
  rank       INTEGER
) STRICT;
INSERT INTO kv (key, value, revision, due, expires_at, written_at)
SELECT key, value, revision, due, expires_at, written_at FROM old_kv ORDER BY rowid;
DROP TABLE old_kv;

CREATE UNIQUE INDEX kv_key ON kv (key);
-- Without the keys: they are a third of all bytes, and a feed reads few of them.
CREATE INDEX kv_revision ON kv (revision);
-- 253402300799999999 is `never`: finished records cost the two due indexes nothing.
CREATE INDEX kv_undated ON kv (key) WHERE due IS NULL;
CREATE INDEX kv_due ON kv (due, key) WHERE due IS NOT NULL AND due < 253402300799999999;
CREATE INDEX kv_expiring ON kv (expires_at, key) WHERE expires_at IS NOT NULL;

CREATE TABLE mark (
  word   TEXT    NOT NULL,
  rank   INTEGER NOT NULL,
  record INTEGER NOT NULL,       -- the id in kv
  PRIMARY KEY (word, rank, record)
) STRICT, WITHOUT ROWID;

-- Whoever writes or deletes a record, its old marks go with what it was.
CREATE TRIGGER kv_marked_anew AFTER UPDATE OF marks ON kv WHEN OLD.marks IS NOT NULL BEGIN
  DELETE FROM mark
  WHERE word IN (SELECT value FROM json_each(OLD.marks)) AND rank = OLD.rank AND record = OLD.id;
END;
CREATE TRIGGER kv_deleted AFTER DELETE ON kv WHEN OLD.marks IS NOT NULL BEGIN
  DELETE FROM mark
  WHERE word IN (SELECT value FROM json_each(OLD.marks)) AND rank = OLD.rank AND record = OLD.id;
END;
