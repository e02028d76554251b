-- What was counted for the sums of usage and is not in them yet: a reader adds it, and much of it is put into the sums at once.
-- `body` has `items` records of an hour each, as `usage_sums` writes them.
CREATE TABLE #usage_waiting (no INTEGER PRIMARY KEY, tenant TEXT NOT NULL, items BIGINT NOT NULL, body BLOB NOT NULL);
