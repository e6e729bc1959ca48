-- Moments are whole microseconds since 1970, UTC.

CREATE TABLE kv (
  key        TEXT    NOT NULL,
  value      BLOB    NOT NULL,
  revision   INTEGER NOT NULL,
  due        INTEGER,            -- NULL: nobody knows, so it is always listed
  expires_at INTEGER,
  written_at INTEGER NOT NULL    -- only to notice that the clock went back
) STRICT;
CREATE UNIQUE INDEX kv_key ON kv (key);
CREATE INDEX kv_revision ON kv (revision, key);
-- 253402300799999999 is `never`: finished records cost the two due indexes nothing.
CREATE INDEX kv_undated ON kv (key) WHERE due IS NULL;
CREATE INDEX kv_due ON kv (due, key) WHERE due IS NOT NULL AND due < 253402300799999999;
CREATE INDEX kv_expiring ON kv (expires_at, key) WHERE expires_at IS NOT NULL;

-- What was deleted, so that the change feed can tell; pruned after a while.
CREATE TABLE tombstone (
  key        TEXT    NOT NULL PRIMARY KEY,
  revision   INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstone_revision ON tombstone (revision, key);

-- A leased message is one whose ready_at is the end of its lease: when nobody finishes it,
-- it becomes ready by itself. AUTOINCREMENT, so that an id never means two messages.
CREATE TABLE message (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  key      TEXT,
  body     BLOB    NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  token    INTEGER NOT NULL DEFAULT 0,  -- which delivery is the latest; never counted down
  leased   INTEGER NOT NULL DEFAULT 0,
  ready_at INTEGER NOT NULL,
  set_at   INTEGER NOT NULL             -- only to notice that the clock went back
) STRICT;
CREATE UNIQUE INDEX message_key ON message (key) WHERE key IS NOT NULL;
CREATE INDEX message_ready ON message (ready_at);

CREATE TABLE dead_letter (
  id        INTEGER NOT NULL PRIMARY KEY,
  key       TEXT,
  body      BLOB    NOT NULL,
  attempts  INTEGER NOT NULL,
  reason    TEXT    NOT NULL,
  buried_at INTEGER NOT NULL
) STRICT;

CREATE TABLE delivered (
  second INTEGER NOT NULL PRIMARY KEY,
  count  INTEGER NOT NULL
) STRICT;

CREATE TABLE state (
  id              INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  revision        INTEGER NOT NULL,
  latest_at       INTEGER NOT NULL,  -- the latest moment at which anything was written
  trimmed_through INTEGER NOT NULL,  -- the change feed begins behind this revision
  paused_at       INTEGER NOT NULL,
  paused_until    INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0);
