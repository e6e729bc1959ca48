-- The page after a skill, for a reader that follows a cursor. Every skill is at its position at
-- the revision of the first page, whatever has changed since: no skill is missing or repeated.

-- name: revisions
SELECT revision, kept_from FROM state

-- name: sort_key
-- The value and the id of a skill at a revision. next_page.py sets the column.
SELECT * FROM (
  SELECT {column}, old_id FROM skill_move WHERE through >= :revision AND slug = :slug
  ORDER BY through LIMIT 1
)
UNION ALL SELECT {column}, id FROM skill WHERE slug = :slug
LIMIT 1

-- name: next_sorted
-- Skills that have not moved come from the index of the order: those with the same value, then those
-- after them. `matching` is the condition for a match, and `past` the comparison of the order. A new
-- skill may have the id that a skill had before it moved; it comes after that one (is_here).
WITH moved AS MATERIALIZED (
  SELECT slug, old_id, {column} AS old_value, min(through) FROM skill_move
  WHERE through >= :revision GROUP BY slug
),
fitting AS MATERIALIZED (
  SELECT rowid AS id FROM {table} WHERE NOT :is_everything AND {table} MATCH :every
),
page AS MATERIALIZED (
  SELECT * FROM (
    SELECT id, {column} AS value, id AS old_id, 1 AS is_here FROM skill {index}
    WHERE {column} = :value AND id > :id AND {matching}
      AND slug NOT IN (SELECT slug FROM moved)
    ORDER BY id LIMIT :limit + :skip
  )
  UNION ALL SELECT * FROM (
    SELECT id, {column}, id, 1 FROM skill {index}
    WHERE {column} {past} :value AND {matching} AND slug NOT IN (SELECT slug FROM moved)
    ORDER BY {order}, id LIMIT :limit + :skip
  )
  UNION ALL SELECT * FROM (
    SELECT id, old_value, old_id, 0 FROM moved CROSS JOIN skill USING (slug)
    WHERE (old_value {past} :value OR (old_value = :value AND old_id > :id)) AND {matching}
    ORDER BY old_value {direction}, old_id LIMIT :limit + :skip
  )
)
SELECT json_group_array(
  json_array(value, old_id, json(hit)) ORDER BY value {direction}, old_id
) FROM (
  SELECT * FROM page ORDER BY value {direction}, old_id, is_here LIMIT :limit OFFSET :skip
) JOIN skill_hit USING (id)

-- name: next_matches
-- In the order of relevance (best_fitting in search.sql), all matches are read and sorted.
WITH moved AS MATERIALIZED (
  SELECT slug, old_id, min(through) FROM skill_move WHERE through >= :revision GROUP BY slug
),
fitting AS MATERIALIZED (
  SELECT id, min(degree) AS value FROM (
    SELECT rowid AS id, 0 AS degree FROM {table} WHERE {table} MATCH :exact
    UNION ALL SELECT rowid, 1 FROM {table} WHERE {table} MATCH :begins
    UNION ALL SELECT rowid, 2 FROM {table} WHERE {table} MATCH :named
    UNION ALL SELECT rowid, 3 FROM {table} WHERE {table} MATCH :labelled
    UNION ALL SELECT rowid, 4 FROM {table} WHERE {table} MATCH :every
  ) GROUP BY id
),
positioned AS (
  SELECT fitting.id, value, coalesce(moved.old_id, fitting.id) AS old_id,
    moved.old_id IS NULL AS is_here
  FROM fitting CROSS JOIN skill USING (id) LEFT JOIN moved USING (slug)
)
SELECT json_group_array(json_array(value, old_id, json(hit)) ORDER BY value, old_id) FROM (
  SELECT * FROM positioned WHERE (value, old_id) > (:value, :id)
  ORDER BY value, old_id, is_here LIMIT :limit OFFSET :skip
) JOIN skill_hit USING (id)
