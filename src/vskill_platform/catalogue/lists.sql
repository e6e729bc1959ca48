-- Lists and counts of submissions. list_submissions.py adds the filters.

-- name: count_by_state
SELECT json_group_array(json_array(state, count)) FROM (
  SELECT state, sum(count) AS count FROM submission_count
  WHERE is_private = 0 OR :is_all GROUP BY state
)

-- name: count_private_by_state
SELECT json_group_array(json_array(state, count)) FROM (
  SELECT state, count(*) AS count FROM submission
  WHERE is_private = 1 AND namespace IN (SELECT value FROM json_each(:namespaces)) GROUP BY state
)

-- name: activity
-- The activity of visible submissions.
SELECT json_group_array(json_array(bucket, state, count)) FROM (
  SELECT at / :size AS bucket, state, count(*) AS count FROM event
  WHERE at >= :since AND at < :until AND state != '' AND (
    :is_all OR submission_key NOT IN (
      SELECT key FROM submission WHERE is_private = 1
        AND namespace NOT IN (SELECT value FROM json_each(:namespaces))
    )
  )
  GROUP BY bucket, state
)

-- name: scan_times
-- Nearest-rank percentiles.
SELECT json_group_array(json_array(bucket, median, p95)) FROM (
  SELECT bucket,
    max(CASE WHEN place = (count + 1) / 2 THEN scan_micros END) / 1e6 AS median,
    max(CASE WHEN place = (count * 95 + 99) / 100 THEN scan_micros END) / 1e6 AS p95
  FROM (
    SELECT at / :size AS bucket, scan_micros,
      row_number() OVER (PARTITION BY at / :size ORDER BY scan_micros) AS place,
      count(*) OVER (PARTITION BY at / :size) AS count
    FROM event
    WHERE at >= :since AND at < :until AND scan_micros IS NOT NULL AND (
      :is_all OR submission_key NOT IN (
        SELECT key FROM submission WHERE is_private = 1
          AND namespace NOT IN (SELECT value FROM json_each(:namespaces))
      )
    )
  )
  GROUP BY bucket
)

-- name: list_submissions
SELECT json_group_array(json_array(
    submission_id, skill_name, repo_url, path, state, reason, nullif(score, -1), submitter, namespace,
    created_at, updated_at, attempts, slug, nullif(set_id, ''), is_private, id
  ) ORDER BY {order}) FROM (
  SELECT * FROM submission WHERE {where} AND {after} ORDER BY {order} LIMIT :limit OFFSET :offset
)

-- name: count_submissions
SELECT count(*) FROM submission WHERE {where}

-- name: list_skills
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY slug), '') || ']'
FROM skill JOIN skill_hit USING (id)
WHERE slug >= :start AND slug < :end
  AND (:is_all OR is_private = 0 OR namespace IN (SELECT value FROM json_each(:namespaces)))

-- name: read_hits
SELECT '[' || coalesce(group_concat(hit, ',' ORDER BY asked.key), '') || ']'
FROM json_each(:slugs) AS asked JOIN skill ON skill.slug = asked.value
  JOIN skill_hit ON skill_hit.id = skill.id
WHERE :is_all OR is_private = 0 OR namespace IN (SELECT value FROM json_each(:namespaces))

-- name: sum_namespace
SELECT json_array(coalesce(sum(installs), 0), min(published_at)) FROM skill
WHERE slug >= :start AND slug < :end AND namespace = :namespace
  AND (:is_all OR is_private = 0 OR namespace IN (SELECT value FROM json_each(:namespaces)))

-- name: down_in_namespace
SELECT '[' || coalesce(group_concat(shown, ',' ORDER BY at DESC, slug), '') || ']' FROM (
  SELECT shown, at, slug FROM skill_down
  WHERE slug >= :start AND slug < :end AND namespace = :namespace
    AND (:is_all OR is_private = 0 OR namespace IN (SELECT value FROM json_each(:namespaces)))
  ORDER BY at DESC, slug LIMIT :limit
)

-- name: list_addresses
SELECT slug, updated_at FROM skill WHERE is_private = 0 ORDER BY slug LIMIT :limit OFFSET :offset
