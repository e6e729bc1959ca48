-- The search index is derived from records and can be rebuilt. Times are whole microseconds since
-- 1970, UTC.

CREATE TABLE state (
  id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  revision   INTEGER NOT NULL,  -- the last revision read from the change feed
  current_at INTEGER NOT NULL,  -- when that was known to be the latest
  checkpoint TEXT    NOT NULL,  -- the feed's checkpoint at that revision
  is_built   INTEGER NOT NULL,  -- 0 until all records were read once
  kept_from  INTEGER NOT NULL   -- since this revision, skill_move has every move
) STRICT;
INSERT INTO state VALUES (1, 0, 0, '', 0, 0);
CREATE TRIGGER state_built AFTER UPDATE OF is_built ON state WHEN NEW.is_built > OLD.is_built BEGIN
  UPDATE state SET kept_from = NEW.revision;
END;

-- The id is the rank, so a list by id has the best skills first, and the first page costs the same
-- for a million matches as for a hundred.
CREATE TABLE skill (
  id            INTEGER NOT NULL PRIMARY KEY,
  slug          TEXT    NOT NULL UNIQUE,
  name_key      TEXT    NOT NULL,
  namespace     TEXT    NOT NULL,
  tier          TEXT    NOT NULL,
  trust_score   INTEGER NOT NULL,
  installs      INTEGER NOT NULL,
  published_at  INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  is_private    INTEGER NOT NULL,
  names_agents  INTEGER NOT NULL,
  found_by      BLOB    NOT NULL, -- digest of its full-text entries
  submission_key INTEGER NOT NULL
) STRICT;
CREATE INDEX skill_submission ON skill (submission_key);
-- With is_private, a list of all skills reads only these indexes.
CREATE INDEX skill_newest ON skill (published_at DESC, id, is_private);
CREATE INDEX skill_updated ON skill (updated_at DESC, id, is_private);
CREATE INDEX skill_name ON skill (name_key, id, is_private);
CREATE INDEX skill_trust ON skill (trust_score DESC, id, is_private);
CREATE INDEX skill_installs ON skill (installs DESC, id, is_private);

-- The earlier positions of skills in each order, for readers of several pages (next_page.sql). A
-- skill had this position until it was written after the revision `through`. Only the latest moves
-- are kept.
CREATE TABLE skill_move (
  number       INTEGER NOT NULL PRIMARY KEY,
  slug         TEXT    NOT NULL,
  through      INTEGER NOT NULL,
  old_id       INTEGER NOT NULL,
  name_key     TEXT    NOT NULL,
  trust_score  INTEGER NOT NULL,
  installs     INTEGER NOT NULL,
  published_at INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (through, slug)
) STRICT;
CREATE TRIGGER skill_moved
AFTER UPDATE OF trust_score, installs, published_at, updated_at ON skill
WHEN (OLD.trust_score, OLD.installs, OLD.published_at, OLD.updated_at)
  IS NOT (NEW.trust_score, NEW.installs, NEW.published_at, NEW.updated_at)
BEGIN
  INSERT INTO skill_move (
    slug, through, old_id, name_key, trust_score, installs, published_at, updated_at
  )
  SELECT OLD.slug, revision, OLD.id, OLD.name_key, OLD.trust_score, OLD.installs,
    OLD.published_at, OLD.updated_at
  FROM state WHERE is_built
  ON CONFLICT DO NOTHING;
END;
-- A skill with another rank is deleted and added again.
CREATE TRIGGER skill_moved_away AFTER DELETE ON skill BEGIN
  INSERT INTO skill_move (
    slug, through, old_id, name_key, trust_score, installs, published_at, updated_at
  )
  SELECT OLD.slug, revision, OLD.id, OLD.name_key, OLD.trust_score, OLD.installs,
    OLD.published_at, OLD.updated_at
  FROM state WHERE is_built
  ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER skill_move_came AFTER INSERT ON skill_move BEGIN
  DELETE FROM skill_move WHERE number <= NEW.number - 50000;
END;
CREATE TRIGGER skill_move_went AFTER DELETE ON skill_move BEGIN
  UPDATE state SET kept_from = OLD.through + 1;
END;

-- The data for lists, as JSON; in its own table, so that sorting and counting read narrow rows.
CREATE TABLE skill_hit (
  id  INTEGER NOT NULL PRIMARY KEY,
  hit TEXT    NOT NULL
) STRICT;

CREATE TABLE skill_tag (
  id         INTEGER NOT NULL,
  tag        TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  PRIMARY KEY (id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_agent (
  id         INTEGER NOT NULL,
  agent      TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  PRIMARY KEY (id, agent)
) STRICT, WITHOUT ROWID;

-- What its latest version can do, and `no-…` for what it cannot; nothing if that was not recorded.
CREATE TABLE skill_capability (
  id         INTEGER NOT NULL,
  capability TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  PRIMARY KEY (id, capability)
) STRICT, WITHOUT ROWID;

-- The number of skills for each value of each filter, maintained by triggers, so that the first page
-- without filters counts no skills. The agent '' stands for skills that work with all agents.
CREATE TABLE facet_count (
  facet      TEXT    NOT NULL,
  value      TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (facet, value, is_private)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER skill_came AFTER INSERT ON skill BEGIN
  INSERT INTO facet_count
  SELECT 'namespace', NEW.namespace, NEW.is_private, 1
  UNION ALL SELECT 'tier', NEW.tier, NEW.is_private, 1
  UNION ALL SELECT 'agent', '', NEW.is_private, 1 WHERE NOT NEW.names_agents
  ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER skill_went AFTER DELETE ON skill BEGIN
  UPDATE facet_count SET count = count - 1
  WHERE is_private = OLD.is_private AND (facet, value) IN (
    VALUES ('namespace', OLD.namespace), ('tier', OLD.tier),
      ('agent', iif(OLD.names_agents, NULL, ''))
  );
END;
CREATE TRIGGER skill_tag_came AFTER INSERT ON skill_tag BEGIN
  INSERT INTO facet_count VALUES ('tag', NEW.tag, NEW.is_private, 1)
  ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER skill_tag_went AFTER DELETE ON skill_tag BEGIN
  UPDATE facet_count SET count = count - 1
  WHERE facet = 'tag' AND value = OLD.tag AND is_private = OLD.is_private;
END;
CREATE TRIGGER skill_agent_came AFTER INSERT ON skill_agent BEGIN
  INSERT INTO facet_count VALUES ('agent', NEW.agent, NEW.is_private, 1)
  ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER skill_agent_went AFTER DELETE ON skill_agent BEGIN
  UPDATE facet_count SET count = count - 1
  WHERE facet = 'agent' AND value = OLD.agent AND is_private = OLD.is_private;
END;

CREATE TRIGGER skill_capability_came AFTER INSERT ON skill_capability BEGIN
  INSERT INTO facet_count VALUES ('capability', NEW.capability, NEW.is_private, 1)
  ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER skill_capability_went AFTER DELETE ON skill_capability BEGIN
  UPDATE facet_count SET count = count - 1
  WHERE facet = 'capability' AND value = OLD.capability AND is_private = OLD.is_private;
END;

-- The words of public skills, to correct typos. Words of private skills are never stored here.
CREATE TABLE word (
  word    TEXT    NOT NULL PRIMARY KEY,
  count   INTEGER NOT NULL, -- of skills
  letters INTEGER NOT NULL  -- its letters, as bits
) STRICT, WITHOUT ROWID;
-- The middle and the ending of each word, and more keys of short words (similar_words.py).
CREATE TABLE word_key (
  key  TEXT NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (key, word)
) STRICT, WITHOUT ROWID;

-- The full-text indexes contain only words separated by spaces (words.py) and marks (match.py).
CREATE VIRTUAL TABLE skill_text USING fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none
);
CREATE VIRTUAL TABLE skill_part USING fts5 (
  parts, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none
);

CREATE TABLE skill_down (
  slug       TEXT    NOT NULL PRIMARY KEY,
  namespace  TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  shown      TEXT    NOT NULL  -- as JSON
) STRICT;
CREATE INDEX skill_down_latest ON skill_down (at DESC, slug);

-- The id sorts newest first.
CREATE TABLE submission (
  id            INTEGER NOT NULL PRIMARY KEY,
  submission_id TEXT    NOT NULL UNIQUE,
  key           INTEGER NOT NULL,  -- the id in events
  state         TEXT    NOT NULL,
  name_key      TEXT    NOT NULL,
  score         INTEGER NOT NULL,  -- -1 without a report
  submitter     TEXT    NOT NULL,
  set_id        TEXT    NOT NULL,
  namespace     TEXT    NOT NULL,
  is_private    INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  attempts      INTEGER NOT NULL,
  skill_name    TEXT    NOT NULL,
  repo_url      TEXT    NOT NULL,
  path          TEXT    NOT NULL,
  slug          TEXT,
  reason        TEXT    NOT NULL,
  found_by      BLOB    NOT NULL
) STRICT;
CREATE INDEX submission_state ON submission (state, id);
CREATE INDEX submission_submitter ON submission (submitter, id);
CREATE INDEX submission_set ON submission (set_id, id) WHERE set_id != '';
CREATE INDEX submission_namespace ON submission (namespace, id);
CREATE INDEX submission_private ON submission (namespace, state) WHERE is_private = 1;
CREATE INDEX submission_updated ON submission (updated_at DESC, id);

CREATE VIRTUAL TABLE submission_text USING fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none
);

-- Maintained by triggers, so that a count does not read all rows.
CREATE TABLE submission_count (
  state      TEXT    NOT NULL,
  is_private INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (state, is_private)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER submission_came AFTER INSERT ON submission BEGIN
  INSERT INTO submission_count VALUES (NEW.state, NEW.is_private, 1)
  ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER submission_went AFTER DELETE ON submission BEGIN
  UPDATE submission_count SET count = count - 1
  WHERE state = OLD.state AND is_private = OLD.is_private;
END;
CREATE TRIGGER submission_moved AFTER UPDATE OF state, is_private ON submission BEGIN
  UPDATE submission_count SET count = count - 1
  WHERE state = OLD.state AND is_private = OLD.is_private;
  INSERT INTO submission_count VALUES (NEW.state, NEW.is_private, 1)
  ON CONFLICT DO UPDATE SET count = count + 1;
END;

-- When processing started and finished. Old events are removed by reading all, which is seldom, rather
-- than with another index, which would be as large as the table.
CREATE TABLE event (
  submission_key INTEGER NOT NULL,
  number         INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  state          TEXT    NOT NULL,  -- '' if only its scan counts
  scan_micros    INTEGER,
  PRIMARY KEY (at, submission_key, number)
) STRICT, WITHOUT ROWID;
