-- Knowledge bases. A document is read into an edition of its base: cut into passages, each with a vector. One edition is searched.
-- The row of passage n of a reading has the key no * 2^26 + n, so a reading's rows lie together.

-- `state`: current (searched), building (will be, when every document is read into it), gone.
CREATE TABLE #editions (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, base TEXT NOT NULL, state TEXT NOT NULL,
  provider TEXT NOT NULL, model TEXT NOT NULL, dimensions BIGINT,
  changes BIGINT NOT NULL
);
CREATE INDEX #editions_base ON #editions (tenant, base, state);

CREATE TABLE #documents (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL, tenant TEXT NOT NULL, base TEXT NOT NULL, name TEXT NOT NULL, source_type TEXT NOT NULL, mime_type TEXT NOT NULL,
  size BIGINT NOT NULL, metadata TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  prompt BIGINT NOT NULL, completion BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, cost BIGINT NOT NULL, unpriced BIGINT NOT NULL
);
CREATE UNIQUE INDEX #documents_id ON #documents (tenant, id);
CREATE INDEX #documents_base ON #documents (tenant, base);
CREATE TABLE #document_contents (document INTEGER PRIMARY KEY, content BLOB NOT NULL);

-- `state`: waiting, working, live (whole), failed, gone. `chunks` is known once the text is cut; `done` of them have their vector.
CREATE TABLE #readings (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, base TEXT NOT NULL, document BIGINT NOT NULL, edition BIGINT NOT NULL, state TEXT NOT NULL, error TEXT,
  max_words BIGINT NOT NULL, overlap_words BIGINT NOT NULL, chunks BIGINT, done BIGINT NOT NULL,
  owner TEXT, lease_until BIGINT, fence BIGINT NOT NULL, tries BIGINT NOT NULL, available_at BIGINT
);
CREATE INDEX #readings_document ON #readings (document);
CREATE INDEX #readings_edition ON #readings (edition, state);
CREATE INDEX #readings_waiting ON #readings (available_at) WHERE state = 'waiting';
CREATE INDEX #readings_working ON #readings (lease_until) WHERE state = 'working';
CREATE INDEX #readings_gone ON #readings (no) WHERE state = 'gone';

CREATE TABLE #passages (key INTEGER PRIMARY KEY, content TEXT NOT NULL);
-- Little-endian floats, of unit length.
CREATE TABLE #vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL);
-- Small copies of a run of vectors that begins with the passage of the key: what a search looks through first.
CREATE TABLE #codes (key INTEGER PRIMARY KEY, codes BLOB NOT NULL);
