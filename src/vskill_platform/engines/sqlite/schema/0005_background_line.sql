-- A line of its own for background messages, and counts of their own. In line, their ranks begin at
-- 1099511627776; everywhere, they have the group '(background)'. No database has any yet.
ALTER TABLE queue_state ADD COLUMN background_pending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_state ADD COLUMN background_ready INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_state ADD COLUMN background_leased INTEGER NOT NULL DEFAULT 0;

DROP INDEX message_ready_since;
CREATE INDEX message_ready_since ON message (ready_at) WHERE is_ready = 1 AND rank < 1099511627776;

DROP TRIGGER message_added;
DROP TRIGGER message_moved;
DROP TRIGGER message_removed;

CREATE TRIGGER message_added AFTER INSERT ON message WHEN NEW.message_group <> '(background)' BEGIN
  UPDATE queue_state SET
    pending = pending + 1, ready = ready + NEW.is_ready,
    leased = leased + (NEW.leased AND NOT NEW.is_ready);
  INSERT INTO group_size VALUES (NEW.message_group, 1)
  ON CONFLICT (message_group) DO UPDATE SET pending = pending + 1;
END;
CREATE TRIGGER background_added AFTER INSERT ON message WHEN NEW.message_group = '(background)' BEGIN
  UPDATE queue_state SET
    background_pending = background_pending + 1, background_ready = background_ready + NEW.is_ready,
    background_leased = background_leased + (NEW.leased AND NOT NEW.is_ready);
  INSERT INTO group_size VALUES (NEW.message_group, 1)
  ON CONFLICT (message_group) DO UPDATE SET pending = pending + 1;
END;
CREATE TRIGGER message_moved AFTER UPDATE OF is_ready, leased ON message
WHEN (OLD.is_ready <> NEW.is_ready OR OLD.leased <> NEW.leased)
  AND NEW.message_group <> '(background)' BEGIN
  UPDATE queue_state SET
    ready = ready + NEW.is_ready - OLD.is_ready,
    leased = leased + (NEW.leased AND NOT NEW.is_ready) - (OLD.leased AND NOT OLD.is_ready);
END;
CREATE TRIGGER background_moved AFTER UPDATE OF is_ready, leased ON message
WHEN (OLD.is_ready <> NEW.is_ready OR OLD.leased <> NEW.leased)
  AND NEW.message_group = '(background)' BEGIN
  UPDATE queue_state SET
    background_ready = background_ready + NEW.is_ready - OLD.is_ready,
    background_leased = background_leased
      + (NEW.leased AND NOT NEW.is_ready) - (OLD.leased AND NOT OLD.is_ready);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN OLD.message_group <> '(background)' BEGIN
  UPDATE queue_state SET
    pending = pending - 1, ready = ready - OLD.is_ready,
    leased = leased - (OLD.leased AND NOT OLD.is_ready);
  UPDATE group_size SET pending = pending - 1 WHERE message_group = OLD.message_group;
  DELETE FROM group_size WHERE message_group = OLD.message_group AND pending <= 0;
END;
CREATE TRIGGER background_removed AFTER DELETE ON message WHEN OLD.message_group = '(background)' BEGIN
  UPDATE queue_state SET
    background_pending = background_pending - 1, background_ready = background_ready - OLD.is_ready,
    background_leased = background_leased - (OLD.leased AND NOT OLD.is_ready);
  UPDATE group_size SET pending = pending - 1 WHERE message_group = OLD.message_group;
  DELETE FROM group_size WHERE message_group = OLD.message_group AND pending <= 0;
END;
