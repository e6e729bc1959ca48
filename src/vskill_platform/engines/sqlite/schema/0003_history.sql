-- A restored database gets a new history id, so that nobody takes it for the one they have read.
ALTER TABLE state ADD COLUMN history_id TEXT NOT NULL DEFAULT '';
UPDATE state SET history_id = lower(hex(randomblob(16)));

-- A random number for each transaction that made revisions, under the last of them. A reader that
-- remembers one can tell whether the database still has the commits it has read, even if somebody
-- put an older copy of the file in its place and revisions have been used a second time.
CREATE TABLE commit_mark (
  revision INTEGER NOT NULL PRIMARY KEY,
  mark     INTEGER NOT NULL
) STRICT;
INSERT INTO commit_mark SELECT revision, random() FROM state;
