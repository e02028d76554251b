-- Where a passage stands in its document: page from 1, headings above it, sheet. Passages of earlier versions stand nowhere.
ALTER TABLE #passages ADD COLUMN page BIGINT;
ALTER TABLE #passages ADD COLUMN heading TEXT;
ALTER TABLE #passages ADD COLUMN sheet TEXT;
