//! Owns what waits to be put into the sums of usage: records of an hour, many in a row, written and read as bytes.

use super::db::{Tx, params};
use super::error::StoreError;
use super::usage_sums::{Hour, Sum};
use crate::model::event::EntityKind;

/// What an hour of an agent or workflow adds to sums: of its runs, or of its calls of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) entity_type: &'a str,
    pub(super) entity_id: &'a str,
    pub(super) start: i64,
    /// Provider and model; none = runs.
    pub(super) model: Option<(&'a str, &'a str)>,
    pub(super) sum: Sum,
}

impl<'a> Item<'a> {
    pub(super) fn new(hour: &'a Hour, model: Option<(&'a str, &'a str)>, sum: Sum) -> Self {
        Self { entity_type: &hour.entity_type, entity_id: &hour.entity_id, start: hour.start, model, sum }
    }

    /// Whether it is of this entity; of any of the type, when `id` is empty.
    pub(super) fn is_of(&self, kind: EntityKind, id: &str) -> bool {
        self.entity_type == kind.as_str() && (id.is_empty() || self.entity_id == id)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let (provider, model) = self.model.unwrap_or_default();
        to.push(u8::from(self.model.is_some()));
        for text in [self.entity_type, self.entity_id, provider, model] {
            to.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
            to.extend(text.as_bytes());
        }
        to.extend(self.start.to_le_bytes());
        self.sum.0.iter().for_each(|figure| to.extend(figure.to_le_bytes()));
    }

    /// The first record of `bytes`, which then begin behind it.
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let calls = bytes.split_off_first()?;
        let (entity_type, entity_id) = (text(bytes)?, text(bytes)?);
        let (provider, model) = (text(bytes)?, text(bytes)?);
        let start = number(bytes)?;
        let mut sum = Sum::default();
        for figure in &mut sum.0 {
            *figure = number(bytes)?;
        }
        Some(Self { entity_type, entity_id, start, model: (*calls == 1).then_some((provider, model)), sum })
    }
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

fn number(bytes: &mut &[u8]) -> Option<i64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(i64::from_le_bytes(*number))
}

/// Lets records of a tenant wait.
pub(super) fn add(tx: &mut Tx<'_>, tenant: &str, items: &[Item<'_>]) -> Result<(), StoreError> {
    let mut body = Vec::with_capacity(items.len() * 192);
    items.iter().for_each(|item| item.write(&mut body));
    let values = params![tenant, items.len() as u64, body.as_slice()];
    tx.send("INSERT INTO #usage_waiting (tenant, items, body) VALUES ($1, $2, $3)", values)
}

/// How many wait, of all tenants.
pub(super) fn count(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let count = tx.query_one("SELECT CAST(SUM(items) AS BIGINT) FROM #usage_waiting", &[], |row| row.opt_int(0))?;
    Ok(count.flatten().unwrap_or(0))
}

/// Hands everything that waits to `each`, with its tenant, and removes it.
pub(super) fn take(tx: &mut Tx<'_>, each: &mut dyn FnMut(&str, Item<'_>)) -> Result<(), StoreError> {
    tx.query_each("DELETE FROM #usage_waiting RETURNING tenant, body", &[], &mut |row| {
        let tenant = row.text(0)?;
        items(row.blob(1)?, &mut |item| each(tenant, item))
    })
}

fn items<'a>(mut body: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> Result<(), StoreError> {
    while !body.is_empty() {
        each(Item::read(&mut body).ok_or_else(|| StoreError::damaged("what waits for the sums of usage cannot be read"))?);
    }
    Ok(())
}

/// What waits of a tenant, as it is stored.
pub(super) struct Waiting(Vec<Vec<u8>>);

impl Waiting {
    pub(super) fn read(tx: &mut Tx<'_>, tenant: &str) -> Result<Self, StoreError> {
        let bodies = tx.query("SELECT body FROM #usage_waiting WHERE tenant = $1", params![tenant], |row| Ok(row.blob(0)?.to_vec()))?;
        Ok(Self(bodies))
    }

    pub(super) fn items(&self) -> Result<Vec<Item<'_>>, StoreError> {
        let mut found = Vec::new();
        for body in &self.0 {
            items(body, &mut |item| found.push(item))?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let sum = Sum([1, -2, 3, i64::MAX, i64::MIN, 0, 7, 8, 9]);
        let runs = Item { entity_type: "agent", entity_id: "é", start: -3_600_000, model: None, sum };
        let calls = Item { model: Some(("", "m\u{1f}\"")), ..runs };
        let mut body = Vec::new();
        runs.write(&mut body);
        calls.write(&mut body);
        let mut found = Vec::new();
        items(&body, &mut |item| found.push(item)).unwrap();
        assert_eq!(found, [runs, calls]);
        let mut first = Vec::new();
        runs.write(&mut first);
        for cut in (1..body.len()).filter(|cut| *cut != first.len()) {
            assert!(items(&body[..cut], &mut |_| ()).is_err(), "{cut} bytes");
        }
    }
}
