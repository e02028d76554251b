-- The words of passages, in SQLite's full-text index. `scope` is the edition, `rowid` the key of the passage.
CREATE VIRTUAL TABLE #passage_words USING fts5(scope, content, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
