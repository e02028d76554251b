-- The words of passages, in the database's full-text index; in SQLite's, `scope` is the edition, `rowid` the key of the passage.
{CREATE VIRTUAL TABLE #passage_words USING fts5(scope, content, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');|CREATE TABLE #passage_words (key BIGINT PRIMARY KEY, scope TEXT NOT NULL, words TSVECTOR NOT NULL);
CREATE INDEX #passage_words_of ON #passage_words USING GIN (words);}
