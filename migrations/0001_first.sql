-- The first schema. `#` is the table prefix. Times are milliseconds, ids and JSON are text.
-- `runs.no` numbers runs; a row that belongs to place n of a run has the key no * 2^26 + n, so a run's rows lie together.

CREATE TABLE #meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);

CREATE TABLE #runs (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  entity_name TEXT NOT NULL,
  revision BIGINT,
  thread TEXT NOT NULL,
  parent TEXT,
  root BIGINT,
  status TEXT NOT NULL,
  mode TEXT NOT NULL,
  user_id TEXT,
  input_preview TEXT NOT NULL,
  graph TEXT,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  working_ms BIGINT NOT NULL,
  waiting_ms BIGINT NOT NULL,
  rested_at BIGINT,
  awaiting_node TEXT,
  awaiting_pause TEXT,
  error TEXT,
  head BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  owner TEXT,
  lease_until BIGINT,
  takeovers BIGINT NOT NULL,
  last_event_id BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  own_prompt BIGINT NOT NULL, own_completion BIGINT NOT NULL, own_cached BIGINT NOT NULL, own_cache_write BIGINT NOT NULL,
  own_reasoning BIGINT NOT NULL, own_cost BIGINT NOT NULL, own_unpriced BIGINT NOT NULL,
  total_prompt BIGINT NOT NULL, total_completion BIGINT NOT NULL, total_cached BIGINT NOT NULL, total_cache_write BIGINT NOT NULL,
  total_reasoning BIGINT NOT NULL, total_cost BIGINT NOT NULL, total_unpriced BIGINT NOT NULL,
  queue TEXT,
  available_at BIGINT,
  tries BIGINT NOT NULL,
  cancel_requested BIGINT NOT NULL,
  tokens_kept BIGINT NOT NULL
);
CREATE UNIQUE INDEX #runs_id ON #runs (id);
CREATE INDEX #runs_newest ON #runs (tenant, created_at) WHERE parent IS NULL;
CREATE INDEX #runs_status ON #runs (tenant, entity_type, status, created_at) WHERE parent IS NULL;
CREATE INDEX #runs_entity ON #runs (tenant, entity_id, status, created_at) WHERE parent IS NULL;
CREATE INDEX #runs_thread ON #runs (tenant, thread, created_at);
CREATE INDEX #runs_parent ON #runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX #runs_started ON #runs (tenant, started_at) WHERE parent IS NULL AND started_at IS NOT NULL;
CREATE INDEX #runs_queued ON #runs (queue, available_at) WHERE status = 'queued';
CREATE INDEX #runs_leased ON #runs (lease_until) WHERE status = 'running';
CREATE INDEX #runs_cancel ON #runs (owner) WHERE cancel_requested = 1;
CREATE INDEX #runs_tokens ON #runs (rested_at) WHERE tokens_kept = 1;

-- Replies, for search; inputs are in `input_preview`, long ones in the first entry of the log.
CREATE TABLE #run_replies (run INTEGER PRIMARY KEY, reply TEXT NOT NULL);

CREATE TABLE #log (
  key INTEGER PRIMARY KEY,
  at BIGINT NOT NULL,
  lane BIGINT NOT NULL,
  body TEXT NOT NULL,
  hash BLOB NOT NULL
);

-- Texts that many entries and runs share, kept while a run uses them.
CREATE TABLE #parts (no INTEGER PRIMARY KEY, tenant TEXT NOT NULL, hash BLOB NOT NULL, uses BIGINT NOT NULL, body TEXT NOT NULL);
CREATE UNIQUE INDEX #parts_hash ON #parts (tenant, hash);
CREATE TABLE #run_parts (run BIGINT NOT NULL, part BIGINT NOT NULL, PRIMARY KEY (run, part)) WITHOUT ROWID;

CREATE TABLE #progress (
  key INTEGER PRIMARY KEY,
  after_seq BIGINT NOT NULL,
  lane BIGINT NOT NULL,
  step TEXT NOT NULL,
  publish_reply BIGINT NOT NULL,
  count BIGINT NOT NULL,
  deltas TEXT NOT NULL
);

-- Metered calls. `run` made the call, `root` is its top-level run.
CREATE TABLE #spans (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  run BIGINT NOT NULL,
  root BIGINT NOT NULL,
  kind TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  traced BIGINT NOT NULL,
  prompt BIGINT NOT NULL, completion BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, cost BIGINT NOT NULL, unpriced BIGINT NOT NULL
);
CREATE INDEX #spans_run ON #spans (run);
CREATE INDEX #spans_model ON #spans (tenant, model, started_at);

-- Sums of usage by hour and by day of UTC (`width` in milliseconds), so that a window needs no row per run; `n` counts runs or
-- calls. The row of an empty `entity_id` sums all entities of its type. A cost is `cost_milli` * 10^9 + `cost_pico`.
CREATE TABLE #usage_runs (
  tenant TEXT NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, width BIGINT NOT NULL, start BIGINT NOT NULL,
  n BIGINT NOT NULL,
  prompt BIGINT NOT NULL, completion BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, unpriced BIGINT NOT NULL, cost_milli BIGINT NOT NULL, cost_pico BIGINT NOT NULL,
  PRIMARY KEY (tenant, entity_type, entity_id, width, start)
) WITHOUT ROWID;
CREATE TABLE #usage_models (
  tenant TEXT NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, width BIGINT NOT NULL, start BIGINT NOT NULL,
  provider TEXT NOT NULL, model TEXT NOT NULL,
  n BIGINT NOT NULL,
  prompt BIGINT NOT NULL, completion BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, unpriced BIGINT NOT NULL, cost_milli BIGINT NOT NULL, cost_pico BIGINT NOT NULL,
  PRIMARY KEY (tenant, entity_type, entity_id, width, start, provider, model)
) WITHOUT ROWID;

CREATE TABLE #definitions (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL, tenant TEXT NOT NULL, kind TEXT NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL,
  revision BIGINT NOT NULL, source TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX #definitions_id ON #definitions (tenant, kind, id);
CREATE UNIQUE INDEX #definitions_slug ON #definitions (tenant, kind, slug);

CREATE TABLE #revisions (
  tenant TEXT NOT NULL, definition TEXT NOT NULL, revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL, user_id TEXT, node_count BIGINT NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX #revisions_number ON #revisions (tenant, definition, revision);

CREATE TABLE #drafts (
  tenant TEXT NOT NULL, definition TEXT NOT NULL, revision BIGINT NOT NULL, based_on BIGINT, updated_at BIGINT NOT NULL, graph TEXT NOT NULL
);
CREATE UNIQUE INDEX #drafts_of ON #drafts (tenant, definition);

CREATE TABLE #threads (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL, tenant TEXT NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, user_id TEXT, preview TEXT,
  message_count BIGINT NOT NULL, run_count BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX #threads_id ON #threads (tenant, id);
CREATE INDEX #threads_entity ON #threads (tenant, entity_id, updated_at);
CREATE INDEX #threads_latest ON #threads (tenant, updated_at);

-- `history` names the memory that a message belongs to, empty for what only people read; `shown` is what people read.
CREATE TABLE #messages (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL, tenant TEXT NOT NULL, thread TEXT NOT NULL, history TEXT NOT NULL, shown BIGINT NOT NULL,
  summarized BIGINT NOT NULL, role TEXT NOT NULL, run TEXT, created_at BIGINT NOT NULL, body TEXT NOT NULL, meta TEXT
);
CREATE INDEX #messages_thread ON #messages (tenant, thread, history);

CREATE TABLE #workflow_checkpoints (
  key TEXT PRIMARY KEY NOT NULL, tenant TEXT NOT NULL, run TEXT NOT NULL, node_id TEXT NOT NULL, iteration_path TEXT NOT NULL,
  input_hash TEXT NOT NULL, handle TEXT NOT NULL, change TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT
);
CREATE INDEX #workflow_checkpoints_run ON #workflow_checkpoints (run);
CREATE INDEX #workflow_checkpoints_expiry ON #workflow_checkpoints (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE #idempotency (
  tenant TEXT NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL, answer TEXT,
  created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, PRIMARY KEY (tenant, route, key)
) WITHOUT ROWID;
CREATE INDEX #idempotency_expiry ON #idempotency (expires_at);

CREATE TABLE #attachments (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, storage_key TEXT NOT NULL, user_id TEXT, kind TEXT NOT NULL, mime_type TEXT NOT NULL, name TEXT,
  size BIGINT NOT NULL, created_at BIGINT NOT NULL, used BIGINT NOT NULL, content BLOB
);
CREATE UNIQUE INDEX #attachments_key ON #attachments (tenant, storage_key);
CREATE INDEX #attachments_age ON #attachments (used, created_at);
-- Who refers to a file: a run, or the messages of a thread.
CREATE TABLE #attachment_uses (
  tenant TEXT NOT NULL, storage_key TEXT NOT NULL, owner_kind TEXT NOT NULL, owner TEXT NOT NULL,
  PRIMARY KEY (tenant, storage_key, owner_kind, owner)
) WITHOUT ROWID;
CREATE INDEX #attachment_uses_owner ON #attachment_uses (owner);

CREATE TABLE #host_events (
  no INTEGER PRIMARY KEY, tenant TEXT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL, due_at BIGINT NOT NULL, tries BIGINT NOT NULL
);
CREATE INDEX #host_events_due ON #host_events (due_at);
