-- name: count
SELECT count(*) FROM skill_text WHERE skill_text MATCH :every

-- name: first_ranked
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY page.id), '') || ']' FROM (
  SELECT rowid AS id FROM skill_text WHERE skill_text MATCH :every
  ORDER BY rowid LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: best_fitting
-- Of each degree of fit the best ranked come into the pool. There BM25 decides between those of the
-- same degree; behind the pool the rank alone does. The marks weigh nothing.
WITH pool (id, degree, score) AS MATERIALIZED (
  SELECT * FROM (
    SELECT rowid, 0, 0.0 FROM skill_text WHERE skill_text MATCH :exact ORDER BY rowid LIMIT :pool)
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 1, 0.0 FROM skill_text WHERE skill_text MATCH :begins ORDER BY rowid LIMIT :pool)
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 2, bm25(skill_text, 10.0, 4.0, 1.0, 0.0) FROM skill_text
    WHERE skill_text MATCH :named ORDER BY rowid LIMIT :pool)
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 3, bm25(skill_text, 10.0, 4.0, 1.0, 0.0) FROM skill_text
    WHERE skill_text MATCH :every ORDER BY rowid LIMIT :pool)
  UNION ALL
  SELECT * FROM (
    SELECT rowid, 4, 0.0 FROM skill_text WHERE skill_text MATCH :every ORDER BY rowid LIMIT :deep)
),
page (id, degree, score) AS MATERIALIZED (
  SELECT id, min(degree), score FROM pool GROUP BY id
  ORDER BY 2, score, id LIMIT :limit OFFSET :offset
)
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY degree, score, page.id), '') || ']'
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

-- For answers that hold a good part of all skills: in the wanted order, each is looked up in the
-- index until there are enough.

-- name: walk_newest
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY published_at DESC, page.id), '') || ']' FROM (
  SELECT id, published_at FROM skill INDEXED BY skill_newest
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY published_at DESC, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_updated
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY updated_at DESC, page.id), '') || ']' FROM (
  SELECT id, updated_at FROM skill INDEXED BY skill_updated
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY updated_at DESC, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_trust
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY trust_score DESC, page.id), '') || ']' FROM (
  SELECT id, trust_score FROM skill INDEXED BY skill_trust
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY trust_score DESC, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_installs
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY installs DESC, page.id), '') || ']' FROM (
  SELECT id, installs FROM skill INDEXED BY skill_installs
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY installs DESC, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_name
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY name_key, page.id), '') || ']' FROM (
  SELECT id, name_key FROM skill INDEXED BY skill_name
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  ORDER BY name_key, id LIMIT :limit OFFSET :offset
) AS page CROSS JOIN skill_hit ON skill_hit.id = page.id

-- name: count_skills
SELECT count(*) FROM skill

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
