//! Owns the currency of a database: all costs are in one, because no column names it.

use crate::store::error::StoreError;

/// A database as it is opened: the first column of the first row of an answer, and a statement without an answer.
pub(in crate::store) trait Opened {
    fn first(&self, sql: &str) -> Result<Option<String>, StoreError>;
    fn change(&self, sql: &str) -> Result<(), StoreError>;
}

/// Notes the currency that costs are in from here on; refused while there are costs in another one.
pub(in crate::store) fn settle(database: &impl Opened, prefix: &str, currency: &str) -> Result<(), StoreError> {
    let found = database.first(&format!("SELECT value FROM {prefix}meta WHERE key = 'currency'"))?;
    if found.as_deref() == Some(currency) {
        return Ok(());
    }
    if let Some(found) = found {
        let calls = database.first(&format!("SELECT 'there' FROM {prefix}spans WHERE cost > 0 LIMIT 1"))?;
        if calls.is_some() || database.first(&format!("SELECT 'there' FROM {prefix}documents WHERE cost > 0 LIMIT 1"))?.is_some() {
            let text = format!(
                "the database holds costs in {found}, and `usage.currency` is {currency}: they would be told and added up as {currency}; nothing was \
                 changed; set `usage.currency` to {found}, or use another database or another `table_prefix`"
            );
            return Err(StoreError::Place(text));
        }
    }
    database.change(&format!(
        "INSERT INTO {prefix}meta (key, value) VALUES ('currency', '{currency}') ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    ))
}
