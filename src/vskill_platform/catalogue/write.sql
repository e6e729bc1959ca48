-- name: write_state
UPDATE state
SET revision = :revision, current_at = :current_at, checkpoint = :checkpoint, is_built = :is_built

-- name: read_state
SELECT revision, current_at, checkpoint, is_built FROM state

-- name: skill_rows_of
SELECT slug, id, found_by FROM skill WHERE slug IN (SELECT value FROM json_each(:wanted))

-- name: skill_rows_at
SELECT id, slug FROM skill WHERE id IN (SELECT value FROM json_each(:wanted))

-- name: put_skill
INSERT INTO skill (
  id, slug, name_key, namespace, tier, trust_score, installs, published_at, updated_at,
  is_private, names_agents, submission_key, found_by
) VALUES (
  :id, :slug, :name_key, :namespace, :tier, :trust_score, :installs, :published_at, :updated_at,
  :is_private, :names_agents, :submission_key, :found_by
)
ON CONFLICT (id) DO UPDATE SET
  trust_score = excluded.trust_score, installs = excluded.installs,
  published_at = excluded.published_at, updated_at = excluded.updated_at,
  submission_key = excluded.submission_key

-- One statement writes many rows, because after each statement a thread waits for the GIL.

-- name: put_skill_hits
INSERT OR REPLACE INTO skill_hit (id, hit)
SELECT value ->> 0, value ->> 1 FROM json_each(:rows) WHERE TRUE

-- name: add_skill_tags
INSERT OR IGNORE INTO skill_tag (id, tag, is_private)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows) WHERE TRUE

-- name: add_skill_agents
INSERT OR IGNORE INTO skill_agent (id, agent, is_private)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows) WHERE TRUE

-- name: add_skill_capabilities
INSERT OR IGNORE INTO skill_capability (id, capability, is_private)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows) WHERE TRUE

-- name: hit_at
SELECT hit FROM skill_hit WHERE id = :id

-- name: count_words
INSERT INTO word (word, count, letters)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows) WHERE TRUE
ON CONFLICT DO UPDATE SET count = count + excluded.count

-- name: unused_words
SELECT word FROM word WHERE count <= 0 AND word IN (SELECT value FROM json_each(:words))

-- name: delete_words
DELETE FROM word WHERE word IN (SELECT value FROM json_each(:words))

-- name: add_word_keys
INSERT OR IGNORE INTO word_key (key, word)
SELECT value ->> 0, value ->> 1 FROM json_each(:rows) WHERE TRUE

-- name: delete_word_keys
DELETE FROM word_key WHERE (key, word) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:rows))

-- name: add_skill_text
INSERT INTO skill_text (rowid, words) SELECT value ->> 0, value ->> 1 FROM json_each(:rows)

-- name: add_skill_part
INSERT INTO skill_part (rowid, parts) SELECT value ->> 0, value ->> 1 FROM json_each(:rows)

-- name: delete_skill
DELETE FROM skill WHERE id = :id

-- name: delete_skill_hit
DELETE FROM skill_hit WHERE id = :id

-- name: delete_skill_tag
DELETE FROM skill_tag WHERE id = :id

-- name: delete_skill_agent
DELETE FROM skill_agent WHERE id = :id

-- name: delete_skill_capability
DELETE FROM skill_capability WHERE id = :id

-- name: delete_skill_text
DELETE FROM skill_text WHERE rowid = :id

-- name: delete_skill_part
DELETE FROM skill_part WHERE rowid = :id

-- name: put_down
INSERT OR REPLACE INTO skill_down (slug, namespace, is_private, at, shown)
VALUES (:slug, :namespace, :is_private, :at, :shown)

-- name: delete_down
DELETE FROM skill_down WHERE slug IN (SELECT value FROM json_each(:slugs))

-- name: slugs_of_submissions
SELECT slug FROM skill WHERE submission_key IN (SELECT value FROM json_each(:keys))

-- name: slugs_between
SELECT slug FROM skill WHERE slug > :after AND (:through IS NULL OR slug <= :through)
UNION ALL
SELECT slug FROM skill_down WHERE slug > :after AND (:through IS NULL OR slug <= :through)

-- name: some_slugs
SELECT slug FROM skill WHERE slug > :after ORDER BY slug LIMIT :limit

-- name: submission_rows_of
SELECT submission_id, id, found_by FROM submission
WHERE submission_id IN (SELECT value FROM json_each(:wanted))

-- name: submission_rows_at
SELECT id, submission_id FROM submission WHERE id IN (SELECT value FROM json_each(:wanted))

-- name: put_submission
INSERT INTO submission (
  id, submission_id, key, state, name_key, score, submitter, set_id, namespace, is_private,
  created_at, updated_at, attempts, skill_name, repo_url, path, slug, reason, found_by
) VALUES (
  :id, :submission_id, :key, :state, :name_key, :score, :submitter, :set_id, :namespace, :is_private,
  :created_at, :updated_at, :attempts, :skill_name, :repo_url, :path, :slug, :reason, :found_by
)
ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, name_key = excluded.name_key, score = excluded.score,
  submitter = excluded.submitter, set_id = excluded.set_id, namespace = excluded.namespace,
  is_private = excluded.is_private, created_at = excluded.created_at,
  updated_at = excluded.updated_at, attempts = excluded.attempts,
  skill_name = excluded.skill_name, repo_url = excluded.repo_url, path = excluded.path,
  slug = excluded.slug, reason = excluded.reason, found_by = excluded.found_by

-- name: delete_submission
DELETE FROM submission WHERE id = :id

-- name: add_submission_text
INSERT INTO submission_text (rowid, words) SELECT value ->> 0, value ->> 1 FROM json_each(:rows)

-- name: delete_submission_text
DELETE FROM submission_text WHERE rowid = :id

-- name: submissions_between
SELECT submission_id FROM submission
WHERE submission_id > :after AND (:through IS NULL OR submission_id <= :through)

-- name: put_events
INSERT OR REPLACE INTO event (submission_key, number, at, state, scan_micros)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
FROM json_each(:rows) WHERE TRUE

-- name: remove_events
DELETE FROM event
WHERE (submission_key, number) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:rows))

-- name: delete_events
DELETE FROM event

-- name: gather
-- During the first fill the full-text indexes do not merge: large segments are written, and merged
-- once at the end.
INSERT INTO skill_text (skill_text, rank)
VALUES ('automerge', 0), ('crisismerge', 2000), ('hashsize', 16777216);
INSERT INTO skill_part (skill_part, rank)
VALUES ('automerge', 0), ('crisismerge', 2000), ('hashsize', 16777216);
INSERT INTO submission_text (submission_text, rank)
VALUES ('automerge', 0), ('crisismerge', 2000), ('hashsize', 16777216)

-- name: join
INSERT INTO skill_text (skill_text, rank)
VALUES ('automerge', 4), ('crisismerge', 16), ('hashsize', 1048576);
INSERT INTO skill_part (skill_part, rank)
VALUES ('automerge', 4), ('crisismerge', 16), ('hashsize', 1048576);
INSERT INTO submission_text (submission_text, rank)
VALUES ('automerge', 4), ('crisismerge', 16), ('hashsize', 1048576);
INSERT INTO skill_text (skill_text) VALUES ('optimize');
INSERT INTO skill_part (skill_part) VALUES ('optimize');
INSERT INTO submission_text (submission_text) VALUES ('optimize')
