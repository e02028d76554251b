-- A memory is read from its newest message backwards, as far as the window takes it; its summaries are found by themselves.
CREATE INDEX #messages_memory ON #messages (tenant, thread, history, summarized{|, no});
CREATE INDEX #messages_summaries ON #messages (tenant, thread, history{|, no}) WHERE role = 'system';
DROP INDEX #messages_thread;
