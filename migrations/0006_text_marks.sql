-- Which runs may hold a text, where the database is a file: a bit for each three-letter piece, turned so that a search reads the rows of its
-- own pieces only. A row has the bits of one mark of a whole block of runs, or of 120 marks of a young block; its key is the block's number
-- * 4096 + its place in the block, and those of young blocks begin at 2^60. How far runs are marked is `text_marks` in the table of settings.
-- Noted are runs whose texts may not be in the marks: they were not over, or went on again. Each search looks at them.
{CREATE TABLE #text_marks (key INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE #text_unmarked (run INTEGER PRIMARY KEY);|}
