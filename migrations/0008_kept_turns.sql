-- A kept result of a node knows what the node added to its memory: when it is used again after a retry took that out, it is put back.
ALTER TABLE #workflow_checkpoints ADD COLUMN turn TEXT;
