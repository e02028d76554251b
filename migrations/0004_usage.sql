-- The runs that asked a model in a window are counted from the index alone.
DROP INDEX #spans_model;
CREATE INDEX #spans_model ON #spans (tenant, model, started_at, root);
-- Lists are read in the order of an index; SQLite's indexes end with the row's number by themselves.
{|DROP INDEX #runs_newest;
DROP INDEX #runs_status;
DROP INDEX #runs_entity;
DROP INDEX #runs_thread;
CREATE INDEX #runs_newest ON #runs (tenant, created_at, no) WHERE parent IS NULL;
CREATE INDEX #runs_status ON #runs (tenant, entity_type, status, created_at, no) WHERE parent IS NULL;
CREATE INDEX #runs_entity ON #runs (tenant, entity_id, status, created_at, no) WHERE parent IS NULL;
CREATE INDEX #runs_thread ON #runs (tenant, thread, created_at, no);}
