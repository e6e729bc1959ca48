-- name: find
-- For each query: the search mode, the total and a page. A mode is used if it matches anything even
-- without the filters; otherwise facets would not add up. Cached totals are not counted again. The
-- result is one row, because a thread waits for the GIL after each: the mode, the total, the page, the
-- sort key of its last skill (the match quality, then the id), and the revision. MATERIALIZED, or each
-- count would run once for every use.
WITH asked (key, question) AS (SELECT key, value FROM json_each(:questions)),
by_words AS MATERIALIZED (
  SELECT key, question, CASE
      WHEN question ->> 'mode' = 'words' THEN question ->> 'total'
      WHEN question ->> 'mode' IS NULL THEN coalesce(
        nullif((SELECT count(*) FROM skill_text WHERE skill_text MATCH question ->> 'words'), 0),
        (SELECT 0 FROM skill_text WHERE skill_text MATCH question ->> 'words_unfiltered' LIMIT 1)
      )
    END AS words
  FROM asked
),
by_anything AS MATERIALIZED (
  SELECT key, question, words, CASE
      WHEN words IS NOT NULL THEN NULL
      WHEN question ->> 'mode' = 'anywhere' THEN question ->> 'total'
      WHEN question ->> 'mode' IS NULL THEN coalesce(
        nullif((SELECT count(*) FROM skill_text WHERE skill_text MATCH question ->> 'anywhere'), 0),
        (SELECT 0 FROM skill_text WHERE skill_text MATCH question ->> 'anywhere_unfiltered' LIMIT 1)
      )
    END AS anywhere
  FROM by_words
),
going AS MATERIALIZED (
  SELECT key, question, words, anywhere, CASE
      WHEN words IS NOT NULL OR anywhere IS NOT NULL THEN NULL
      WHEN question ->> 'mode' = 'parts' THEN question ->> 'total'
      WHEN question ->> 'mode' IS NULL THEN coalesce(
        nullif((SELECT count(*) FROM skill_part WHERE skill_part MATCH question ->> 'parts'), 0),
        (SELECT 0 FROM skill_part WHERE skill_part MATCH question ->> 'parts_unfiltered' LIMIT 1)
      )
    END AS parts
  FROM by_anything
)
SELECT '[' || group_concat(CASE
    WHEN words IS NOT NULL THEN
      '["words",' || words || ',' || iif(words > :offset, ({by_words}), '[],0')
    WHEN anywhere IS NOT NULL THEN
      '["anywhere",' || anywhere || ',' || iif(anywhere > :offset, ({by_anything}), '[],0')
    WHEN parts IS NOT NULL THEN
      '["parts",' || parts || ',' || iif(parts > :offset, ({by_parts}), '[],0')
    ELSE '["words",0,[],0'
  END || ',' || revision || ']', ',' ORDER BY key) || ']'
FROM going CROSS JOIN state

-- name: first_ranked
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY page.id), '') || '],'
  || coalesce(max(4 << 40 | page.id), 0) FROM (
  SELECT rowid AS id FROM {table} WHERE {table} MATCH question ->> '{mode}'
  ORDER BY rowid LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- name: best_fitting
-- Order: exact name, name prefix, all words in the name, all words in name and labels, other matches;
-- each part by rank. Each part reads at most as many rows as a page shows. Stopping at the first part
-- that fills the page would be slower: the intermediate tables cost more than they save.
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY degree, page.id), '') || '],'
  || coalesce(max(degree << 40 | page.id), 0) FROM (
  SELECT id, min(degree) AS degree FROM (
    SELECT * FROM (SELECT rowid AS id, 0 AS degree FROM skill_text
      WHERE skill_text MATCH question ->> 'exact' ORDER BY rowid LIMIT :end)
    UNION ALL
    SELECT * FROM (SELECT rowid, 1 FROM skill_text
      WHERE skill_text MATCH question ->> 'begins' ORDER BY rowid LIMIT :end)
    UNION ALL
    SELECT * FROM (SELECT rowid, 2 FROM skill_text
      WHERE skill_text MATCH question ->> 'named' ORDER BY rowid LIMIT :end)
    UNION ALL
    SELECT * FROM (SELECT rowid, 3 FROM skill_text
      WHERE skill_text MATCH question ->> 'labelled' ORDER BY rowid LIMIT :end)
    UNION ALL
    SELECT * FROM (SELECT rowid, 4 FROM skill_text
      WHERE skill_text MATCH question ->> 'words' ORDER BY rowid LIMIT :end)
  ) GROUP BY id ORDER BY degree, id LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- name: sorted
-- For few matches: reads and sorts all of them.
SELECT '[[' || coalesce(group_concat(hit, ',' ORDER BY sort_key, page.id), '') || '],'
  || (SELECT revision FROM state) || ']' FROM (
  SELECT skill.id,
    CASE :sort
      WHEN 'newest' THEN -published_at
      WHEN 'updated' THEN -updated_at
      WHEN 'trust' THEN -trust_score
      WHEN 'installs' THEN -installs
      ELSE name_key
    END AS sort_key
  FROM skill_text JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every ORDER BY sort_key, skill.id LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- The others read skills in sort order until the page is full. search_skills.py sets the order.

-- name: walk_everything
-- Without words and filters: reads only the index of the order, even for a late page.
SELECT '[[' || coalesce(group_concat(hit, ',' ORDER BY {order}, page.id), '') || '],'
  || (SELECT revision FROM state) || ']' FROM (
  SELECT id, {column} FROM skill INDEXED BY {index} WHERE is_private = 0 OR :is_all
  ORDER BY {order}, id LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- For many matches: checks each skill.

-- name: walk_one_by_one
-- Checks a limited number of skills, because the matches may all be at the end. The inner query sets
-- the order; another ORDER BY outside would check all of them before it cuts the page.
SELECT '[[' || coalesce(group_concat(hit, ',' ORDER BY {order}, page.id), '') || '],'
  || (SELECT revision FROM state) || ']' FROM (
  SELECT id, {column} FROM (
    SELECT id, {column} FROM skill INDEXED BY {index} ORDER BY {order}, id LIMIT :most
  ) AS skill
  WHERE EXISTS (SELECT 1 FROM skill_text WHERE skill_text MATCH :every AND rowid = skill.id)
  LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- name: walk_all_at_once
-- INDEXED BY, or SQLite would look up every match and sort them all.
SELECT '[[' || coalesce(group_concat(hit, ',' ORDER BY {order}, page.id), '') || '],'
  || (SELECT revision FROM state) || ']' FROM (
  SELECT id, {column} FROM skill INDEXED BY {index}
  WHERE id IN (SELECT rowid FROM skill_text WHERE skill_text MATCH :every)
  ORDER BY {order}, id LIMIT :limit OFFSET :offset
) AS page JOIN skill_hit ON skill_hit.id = page.id

-- name: count_skills
SELECT coalesce(sum(count), 0) FROM facet_count
WHERE facet = 'tier' AND (is_private = 0 OR :is_all)

-- name: count_value
SELECT coalesce(sum(count), 0) FROM facet_count
WHERE facet = :facet AND value IN (SELECT value FROM json_each(:any_of))
  AND (is_private = 0 OR :is_all)

-- name: facet_of_all
-- The facets without words or filters, from the maintained counts.
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
  FROM skill_text JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY namespace ORDER BY count DESC, value LIMIT :values
)

-- name: facet_tier
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT tier AS value, count(*) AS count
  FROM skill_text JOIN skill ON skill.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY tier ORDER BY count DESC, value LIMIT :values
)

-- name: facet_tag
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT tag AS value, count(*) AS count
  FROM skill_text JOIN skill_tag ON skill_tag.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY tag ORDER BY count DESC, value LIMIT :values
)

-- name: facet_capability
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT capability AS value, count(*) AS count
  FROM skill_text JOIN skill_capability ON skill_capability.id = skill_text.rowid
  WHERE skill_text MATCH :every GROUP BY capability ORDER BY count DESC, value LIMIT :values
)

-- name: facet_agent
-- Skills that name no agent work with all, so they count for every agent.
WITH fitting (id) AS (
  SELECT rowid FROM skill_text WHERE skill_text MATCH :every
),
open (count) AS (
  SELECT count(*) FROM fitting JOIN skill ON skill.id = fitting.id WHERE names_agents = 0
)
SELECT json_group_array(json_array(value, count) ORDER BY count DESC, value) FROM (
  SELECT agent AS value, count(*) + (SELECT count FROM open) AS count
  FROM fitting JOIN skill_agent ON skill_agent.id = fitting.id
  GROUP BY agent ORDER BY count DESC, value LIMIT :values
)

-- name: list_down
SELECT '[' || coalesce(group_concat(shown, ',' ORDER BY at DESC, slug), '') || ']' FROM (
  SELECT shown, at, slug FROM skill_down
  WHERE (is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces)))
    AND (:named = '' OR slug = :named OR substr(slug, -length(:named) - 1) = '/' || :named)
  ORDER BY at DESC, slug LIMIT :limit OFFSET :offset
)

-- name: count_down
SELECT count(*) FROM skill_down
WHERE (is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces)))
  AND (:named = '' OR slug = :named OR substr(slug, -length(:named) - 1) = '/' || :named)

-- name: count_listed
SELECT json_array(count(DISTINCT namespace), count(*), coalesce(sum(installs), 0)) FROM skill
WHERE is_private = 0 OR :is_all OR namespace IN (SELECT value FROM json_each(:namespaces))

-- name: known_words
SELECT word FROM word WHERE word IN (SELECT value FROM json_each(:words))

-- name: similar_words
-- For each unknown word, the words in some ranges (similar_words.py). An edit removes at most one
-- letter and adds at most one; `x & (x - 1)` has one bit less than x. A known word is similar only to
-- itself. Each range has its own limit, and the order in which similar_words.py sorts all words.
WITH asked (number, letters, ranges, known) AS MATERIALIZED (
  SELECT key, value ->> 'letters', value -> 'ranges', iif(
      EXISTS (SELECT 1 FROM word WHERE word IN (value ->> 'word', value ->> 'singular')),
      value ->> 'word', NULL
    )
  FROM json_each(:asked)
),
part (number, letters, by_key, low, high, shortest, longest) AS MATERIALIZED (
  SELECT number, letters, one.value ->> 0, one.value ->> 1, one.value ->> 2, one.value ->> 3,
    one.value ->> 4
  FROM asked CROSS JOIN json_each(ranges) AS one WHERE known IS NULL
)
SELECT json_group_array(json(found)) FROM (
  SELECT json_array(json_array(number, known, 0, 0)) AS found FROM asked WHERE known IS NOT NULL
  UNION ALL
  SELECT (
    SELECT json_group_array(json_array(part.number, word, count, missing | extra)) FROM (
      SELECT word, count, part.letters & ~word.letters AS missing,
        word.letters & ~part.letters AS extra
      FROM word
      WHERE word BETWEEN low AND high AND length(word) BETWEEN shortest AND longest
        AND missing & (missing - 1) & iif(:most = 1, -1, (missing & (missing - 1)) - 1) = 0
        AND extra & (extra - 1) & iif(:most = 1, -1, (extra & (extra - 1)) - 1) = 0
      ORDER BY (missing > 0) + (missing & (missing - 1) > 0) + (extra > 0)
        + (extra & (extra - 1) > 0), count DESC, word
      LIMIT :limit
    )
  ) FROM part WHERE NOT by_key
  UNION ALL
  SELECT (
    SELECT json_group_array(json_array(part.number, word, count, missing | extra)) FROM (
      SELECT word, count, part.letters & ~word.letters AS missing,
        word.letters & ~part.letters AS extra
      FROM word_key CROSS JOIN word USING (word)
      WHERE key BETWEEN low AND high AND length(word) BETWEEN shortest AND longest
        AND missing & (missing - 1) & iif(:most = 1, -1, (missing & (missing - 1)) - 1) = 0
        AND extra & (extra - 1) & iif(:most = 1, -1, (extra & (extra - 1)) - 1) = 0
      ORDER BY (missing > 0) + (missing & (missing - 1) > 0) + (extra > 0)
        + (extra & (extra - 1) > 0), count DESC, word
      LIMIT :limit
    )
  ) FROM part WHERE by_key
)
