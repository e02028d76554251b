-- Numbers of rows that other rows and processes remember are never given again, so that nobody takes another row for one that is gone.
-- A server never gives a number again; in a file, a table has to say so when it is made.
{PRAGMA legacy_alter_table=ON;
CREATE TABLE #editions_numbered (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, base TEXT NOT NULL, state TEXT NOT NULL,
  provider TEXT NOT NULL, model TEXT NOT NULL, dimensions BIGINT,
  changes BIGINT NOT NULL
);
INSERT INTO #editions_numbered (no, tenant, base, state, provider, model, dimensions, changes)
  SELECT no, tenant, base, state, provider, model, dimensions, changes FROM #editions ORDER BY no;
DROP TABLE #editions;
ALTER TABLE #editions_numbered RENAME TO #editions;
CREATE INDEX #editions_base ON #editions (tenant, base, state);
CREATE TABLE #documents_numbered (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL, tenant TEXT NOT NULL, base TEXT NOT NULL, name TEXT NOT NULL, source_type TEXT NOT NULL, mime_type TEXT NOT NULL,
  size BIGINT NOT NULL, metadata TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  prompt BIGINT NOT NULL, completion BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, cost BIGINT NOT NULL, unpriced BIGINT NOT NULL
);
INSERT INTO #documents_numbered (no, id, tenant, base, name, source_type, mime_type, size, metadata, created_at, updated_at, prompt, completion,
  cached, cache_write, reasoning, cost, unpriced)
  SELECT no, id, tenant, base, name, source_type, mime_type, size, metadata, created_at, updated_at, prompt, completion,
  cached, cache_write, reasoning, cost, unpriced FROM #documents ORDER BY no;
DROP TABLE #documents;
ALTER TABLE #documents_numbered RENAME TO #documents;
CREATE UNIQUE INDEX #documents_id ON #documents (tenant, id);
CREATE INDEX #documents_base ON #documents (tenant, base);
CREATE TABLE #readings_numbered (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, base TEXT NOT NULL, document BIGINT NOT NULL, edition BIGINT NOT NULL, state TEXT NOT NULL, error TEXT,
  max_words BIGINT NOT NULL, overlap_words BIGINT NOT NULL, chunks BIGINT, done BIGINT NOT NULL,
  owner TEXT, lease_until BIGINT, fence BIGINT NOT NULL, tries BIGINT NOT NULL, available_at BIGINT
);
INSERT INTO #readings_numbered (no, tenant, base, document, edition, state, error, max_words, overlap_words, chunks, done, owner, lease_until,
  fence, tries, available_at)
  SELECT no, tenant, base, document, edition, state, error, max_words, overlap_words, chunks, done, owner, lease_until,
  fence, tries, available_at FROM #readings ORDER BY no;
DROP TABLE #readings;
ALTER TABLE #readings_numbered RENAME TO #readings;
CREATE INDEX #readings_document ON #readings (document);
CREATE INDEX #readings_edition ON #readings (edition, state);
CREATE INDEX #readings_waiting ON #readings (available_at) WHERE state = 'waiting';
CREATE INDEX #readings_working ON #readings (lease_until) WHERE state = 'working';
CREATE INDEX #readings_gone ON #readings (no) WHERE state = 'gone';
CREATE TABLE #host_events_numbered (
  no INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL, due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL
);
INSERT INTO #host_events_numbered (no, tenant, body, created_at, due_at, tries)
  SELECT no, tenant, body, created_at, due_at, tries FROM #host_events ORDER BY no;
DROP TABLE #host_events;
ALTER TABLE #host_events_numbered RENAME TO #host_events;
CREATE INDEX #host_events_due ON #host_events (due_at);
PRAGMA legacy_alter_table=OFF;|}

-- Contents of files that lie in a folder and have to be removed from there, from `due_at` on: nothing else leads to them.
CREATE TABLE #files_to_remove (tenant TEXT NOT NULL, storage_key TEXT NOT NULL, due_at BIGINT NOT NULL, PRIMARY KEY (tenant, storage_key)) WITHOUT ROWID;

-- Threads that nobody used for long; the run that a thread is busy with; what people read of a thread, in order; a message by its id.
CREATE INDEX #threads_age ON #threads (updated_at{|, no});
CREATE INDEX #runs_busy ON #runs (tenant, thread) WHERE parent IS NULL AND status IN ('queued', 'running');
CREATE INDEX #messages_shown ON #messages (tenant, thread{|, no}) WHERE shown = 1;
CREATE INDEX #messages_id ON #messages (id);
