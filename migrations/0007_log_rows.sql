-- A row of the log may hold several entries from here on. Its key is the place of the first one, `at`, `lane` and `body` begin with that
-- one's; a line of `body` follows for each further one: its time, its lane and its event, with a blank between them. Rows that were
-- stored before hold one entry each, and are read the same way. In a file, rows lie in the order in which they are stored, and an index
-- leads to them: what ends together is written together, and not in between what others began with. A view of somebody else's on the log
-- does not keep the table from being renamed.
{PRAGMA legacy_alter_table=ON;
CREATE TABLE #log_as_stored (key BIGINT PRIMARY KEY NOT NULL, at BIGINT NOT NULL, lane BIGINT NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL);
INSERT INTO #log_as_stored (key, at, lane, body, hash) SELECT key, at, lane, body, hash FROM #log ORDER BY key;
DROP TABLE #log;
ALTER TABLE #log_as_stored RENAME TO #log;
PRAGMA legacy_alter_table=OFF;|}
