-- name: count
SELECT count(*) FROM skill_text WHERE skill_text MATCH :every

-- name: has_any
SELECT EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every)

-- name: first_ranked
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY page.id), '') || ']' FROM (
  SELECT rowid AS id FROM skill_text WHERE skill_text MATCH :every
  ORDER BY rowid LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: best_fitting
-- For answers with few skills in them: first who is called so, then whose name begins so, then whose
-- name has all of the words. Between those of the same degree BM25 decides, then the rank. Marks
-- weigh nothing.
WITH page (id, degree, score) AS MATERIALIZED (
  SELECT skill.id,
    CASE
      WHEN name_key = :whole THEN 0
      WHEN substr(name_key, 1, length(:whole)) = :whole THEN 1
      WHEN NOT EXISTS (
        SELECT 1 FROM json_each(:words) WHERE instr(:joint || name_key, :joint || value) = 0
      ) THEN 2
      ELSE 3
    END AS degree,
    bm25(skill_text, 10.0, 4.0, 1.0, 0.0) AS score
  FROM skill_text CROSS JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every
  ORDER BY degree, score, skill.id LIMIT :limit OFFSET :offset
)
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY degree, score, page.id), '') || ']'
FROM page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: fitting_by_rank
-- For answers with many skills in them: the same degrees, but between those of one the rank decides.
-- No more are read than could be shown, and of a lesser degree none if there are enough of better.
WITH exact (id) AS MATERIALIZED (
  SELECT rowid FROM skill_text WHERE skill_text MATCH :exact ORDER BY rowid LIMIT :end
),
begins (id, degree) AS MATERIALIZED (
  SELECT id, 0 FROM exact
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 1 FROM skill_text WHERE skill_text MATCH :begins ORDER BY rowid
    LIMIT iif((SELECT count(*) FROM exact) < :end, :end, 0))
),
named (id, degree) AS MATERIALIZED (
  SELECT id, degree FROM begins
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 2 FROM skill_text WHERE skill_text MATCH :named ORDER BY rowid
    LIMIT iif((SELECT count(DISTINCT id) FROM begins) < :end, :end, 0))
),
every (id, degree) AS MATERIALIZED (
  SELECT id, degree FROM named
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 3 FROM skill_text WHERE skill_text MATCH :every ORDER BY rowid
    LIMIT iif((SELECT count(DISTINCT id) FROM named) < :end, :end, 0))
),
page (id, degree) AS MATERIALIZED (
  SELECT id, min(degree) FROM every GROUP BY id ORDER BY 2, id LIMIT :limit OFFSET :offset
)
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY degree, page.id), '') || ']'
FROM page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: sorted
-- For answers with few skills in them: all are looked at.
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY sort_key, page.id), '') || ']' FROM (
  SELECT skill.id,
    CASE :sort
      WHEN 'newest' THEN -published_at
      WHEN 'updated' THEN -updated_at
      WHEN 'trust' THEN -trust_score
      WHEN 'installs' THEN -installs
      ELSE name_key
    END AS sort_key
  FROM skill_text CROSS JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every ORDER BY sort_key, skill.id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- For answers that hold a good part of all skills: in the wanted order, for each it is asked whether
-- it fits, until there are enough. Which order, search_skills.py says.

-- name: walk_one_by_one
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY {order}, page.id), '') || ']' FROM (
  SELECT id, {column} FROM skill INDEXED BY {index}
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY {order}, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_all_at_once
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY {order}, page.id), '') || ']' FROM (
  SELECT id, {column} FROM skill INDEXED BY {index}
  WHERE id IN (SELECT rowid FROM skill_text WHERE skill_text MATCH :every)
  ORDER BY {order}, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: count_skills
SELECT coalesce(sum(count), 0) FROM facet_count
WHERE facet = 'tier' AND (is_private = 0 OR :is_all)

-- name: count_value
SELECT coalesce(sum(count), 0) FROM facet_count
WHERE facet = :facet AND value IN (SELECT value FROM json_each(:any_of))
  AND (is_private = 0 OR :is_all)

-- name: facet_of_all
-- What facet_tier and the others say where nothing is asked for, without looking at any skill.
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT value, sum(count) + iif(:facet = 'agent', (
      SELECT coalesce(sum(count), 0) FROM facet_count
      WHERE facet = 'agent' AND value = '' AND (is_private = 0 OR :is_all)
    ), 0) AS count
  FROM facet_count WHERE facet = :facet AND value != '' AND (is_private = 0 OR :is_all)
  GROUP BY value HAVING sum(count) > 0 ORDER BY count DESC, value LIMIT :values
)

-- name: facet_namespace
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT namespace AS value, count(*) AS count
  FROM skill_text CROSS JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY namespace ORDER BY count DESC, value LIMIT :values
)

-- name: facet_tier
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT tier AS value, count(*) AS count
  FROM skill_text CROSS JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY tier ORDER BY count DESC, value LIMIT :values
)

-- name: facet_tag
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT tag AS value, count(*) AS count
  FROM skill_text CROSS JOIN skill_tag ON skill_tag.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY tag ORDER BY count DESC, value LIMIT :values
)

-- name: facet_agent
-- Who names no agent works with all: they count for each that anybody names.
WITH fitting (id) AS MATERIALIZED (
  SELECT rowid FROM skill_text WHERE skill_text MATCH :every
),
open (count) AS (
  SELECT count(*) FROM fitting CROSS JOIN skill ON skill.id = fitting.id WHERE names_agents = 0
)
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT agent AS value, count(*) + (SELECT count FROM open) AS count
  FROM fitting CROSS JOIN skill_agent ON skill_agent.id = fitting.id
  GROUP BY agent ORDER BY count DESC, value LIMIT :values
)

-- name: list_down
SELECT '[' || coalesce(group_concat(shown, ',' ORDER BY at DESC, slug), '') || ']' FROM (
  SELECT shown, at, slug FROM skill_down
  WHERE is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces))
  ORDER BY at DESC, slug LIMIT :limit OFFSET :offset
)

-- name: count_down
SELECT count(*) FROM skill_down
WHERE is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces))

-- name: count_listed
SELECT json_array(count(DISTINCT namespace), count(*), coalesce(sum(installs), 0)) FROM skill
WHERE is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces))
