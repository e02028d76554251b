-- The language whose words an edition is searched by; none: the database's own, as in earlier versions.
ALTER TABLE #editions ADD COLUMN language TEXT;
-- The terms of passages as the studio makes them; PostgreSQL keeps them beside the others.
{CREATE VIRTUAL TABLE #passage_terms USING fts5(scope, content, content='', contentless_delete=1, tokenize='ascii');|}
