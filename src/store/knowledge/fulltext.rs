//! Owns the full-text search for passages: the only place with full-text SQL of each database.

use crate::store::db::{Tx, params};
use crate::store::error::StoreError;

/// The word that an edition's rows are found by.
fn scope(edition: i64) -> String {
    format!("e{edition}")
}

/// Makes a passage findable by its words.
pub fn add(tx: &mut Tx<'_>, edition: i64, key: i64, content: &str) -> Result<(), StoreError> {
    tx.send(
        "{INSERT INTO #passage_words (rowid, scope, content) VALUES ($1, $2, $3)\
         |INSERT INTO #passage_words (key, scope, words) VALUES ($1, $2, to_tsvector('simple', $2) || to_tsvector('english', $3))}",
        params![key, &scope(edition), content],
    )
}

/// Forgets the passages of a range of keys.
pub fn remove(tx: &mut Tx<'_>, first: i64, last: i64) -> Result<(), StoreError> {
    tx.send("DELETE FROM #passage_words WHERE {rowid|key} BETWEEN $1 AND $2", params![first, last])
}

/// Keys of passages of an edition that hold any of these words, the best first.
pub fn find(tx: &mut Tx<'_>, edition: i64, words: &[String], limit: usize) -> Result<Vec<i64>, StoreError> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
    tx.query(
        "{SELECT rowid FROM #passage_words WHERE #passage_words MATCH printf('scope:%s AND content:(%s)', $1, $2) \
         ORDER BY bm25(#passage_words, 0.0, 1.0), rowid LIMIT $3\
         |SELECT w.key FROM #passage_words w, websearch_to_tsquery('english', $2) q WHERE w.scope = $1 AND numnode(q) > 0 \
         AND w.words @@ ($1::tsquery && q) ORDER BY ts_rank(w.words, q) DESC, w.key LIMIT $3}",
        params![&scope(edition), &quoted.join(" OR "), limit as u64],
        |row| row.int(0),
    )
}
