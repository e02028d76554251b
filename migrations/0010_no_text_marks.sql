-- Searches for texts of runs read the runs themselves; the index of an earlier version is gone.
{DROP TABLE IF EXISTS #text_marks;
DROP TABLE IF EXISTS #text_unmarked;|}
DELETE FROM #meta WHERE key = 'text_marks';
