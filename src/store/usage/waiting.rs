//! Owns the usage records that wait to be added to the sums: many in a row, encoded as bytes.

use crate::model::event::EntityKind;
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::usage::sums::Sum;

/// A row of no more records is small: such rows are drawn together when there are many.
pub(in crate::store) const SMALL: usize = 64;

/// What a record counts: runs of an agent or workflow in an hour, or their calls of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct Of<'a> {
    pub(in crate::store) entity_type: &'a str,
    pub(in crate::store) entity_id: &'a str,
    pub(in crate::store) start: i64,
    /// Provider and model; none = runs.
    pub(in crate::store) model: Option<(&'a str, &'a str)>,
}

/// A record: what it adds to sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Item<'a> {
    pub(in crate::store) of: Of<'a>,
    pub(in crate::store) sum: Sum,
}

impl<'a> Item<'a> {
    /// Whether it is of this entity; of any of the type, when `id` is empty.
    pub(in crate::store) fn is_of(&self, kind: EntityKind, id: &str) -> bool {
        self.of.entity_type == kind.as_str() && (id.is_empty() || self.of.entity_id == id)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let (provider, model) = self.of.model.unwrap_or_default();
        to.push(SHORT | u8::from(self.of.model.is_some()));
        for text in [self.of.entity_type, self.of.entity_id, provider, model] {
            write_short(text.len() as i64, to);
            to.extend(text.as_bytes());
        }
        write_short(self.of.start, to);
        self.sum.0.iter().for_each(|figure| write_short(*figure, to));
    }

    /// The first record of `bytes`, which then begin behind it.
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let record = Record::read(bytes)?;
        Some(Self { of: Of::read(record.of)?, sum: record.sum })
    }
}

/// The first byte of a record says whether it counts calls, and whether its numbers are short: earlier ones are eight bytes long, and four for
/// the length of a text.
const CALLS: u8 = 1;
const SHORT: u8 = 2;

impl<'a> Of<'a> {
    fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let kind = *bytes.split_off_first()?;
        let mut text = || std::str::from_utf8(text(&mut bytes, kind)?).ok();
        let (entity_type, entity_id) = (text()?, text()?);
        let (provider, model) = (text()?, text()?);
        let start = number(&mut bytes, kind)?;
        Some(Self { entity_type, entity_id, start, model: (kind & CALLS != 0).then_some((provider, model)) })
    }
}

/// A record whose texts were not looked at: what counts the same has the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Record<'a> {
    pub(in crate::store) of: &'a [u8],
    pub(in crate::store) sum: Sum,
}

impl<'a> Record<'a> {
    /// What it counts.
    pub(in crate::store) fn counted(&self) -> Result<Of<'a>, StoreError> {
        Of::read(self.of).ok_or_else(unreadable)
    }

    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let all = *bytes;
        let kind = *bytes.split_off_first()?;
        (0..4).try_for_each(|_| text(bytes, kind).map(drop))?;
        number(bytes, kind)?;
        let of = all.get(..all.len() - bytes.len())?;
        let mut sum = Sum::default();
        for figure in &mut sum.0 {
            *figure = number(bytes, kind)?;
        }
        Some(Self { of, sum })
    }
}

/// Records of one row, as they are stored.
#[derive(Default)]
pub(in crate::store) struct Records {
    items: usize,
    body: Vec<u8>,
}

impl Records {
    pub(in crate::store) fn add(&mut self, item: &Item<'_>) {
        self.items += 1;
        item.write(&mut self.body);
    }

    /// Adds one as it was stored.
    pub(in crate::store) fn keep(&mut self, record: &Record<'_>) {
        self.items += 1;
        self.body.extend(record.of);
        let short = record.of.first().is_some_and(|kind| kind & SHORT != 0);
        for figure in record.sum.0 {
            if short { write_short(figure, &mut self.body) } else { self.body.extend(figure.to_le_bytes()) }
        }
    }

    /// How many are in a small row.
    pub(in crate::store) const fn loose(&self) -> i64 {
        if self.items <= SMALL { self.items as i64 } else { 0 }
    }
}

/// The bytes of a text, after their number.
fn text<'a>(bytes: &mut &'a [u8], kind: u8) -> Option<&'a [u8]> {
    let length = if kind & SHORT != 0 {
        usize::try_from(read_short(bytes)?).ok()?
    } else {
        usize::try_from(u32::from_le_bytes(*first(bytes)?)).ok()?
    };
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

fn number(bytes: &mut &[u8], kind: u8) -> Option<i64> {
    if kind & SHORT != 0 { read_short(bytes) } else { first(bytes).map(|number| i64::from_le_bytes(*number)) }
}

fn first<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

/// Seven bits in a byte, lowest first; the eighth says that more follow. Numbers near zero are short, whatever their sign.
fn write_short(number: i64, to: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

fn read_short(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for place in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << place;
        if byte < 0x80 {
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    None
}

/// Lets records of a tenant wait.
pub(in crate::store) fn add(tx: &mut Tx<'_>, tenant: &str, records: &Records) -> Result<(), StoreError> {
    let values = params![tenant, records.items as u64, records.body.as_slice()];
    tx.send("INSERT INTO #usage_waiting (tenant, items, body) VALUES ($1, $2, $3)", values)
}

/// How many wait in small rows, and in all, of all tenants.
pub(in crate::store) fn count(tx: &mut Tx<'_>) -> Result<(i64, i64), StoreError> {
    let count = tx.query_one(
        "SELECT CAST(SUM(CASE WHEN items <= $1 THEN items ELSE 0 END) AS BIGINT), CAST(SUM(items) AS BIGINT) FROM #usage_waiting",
        params![SMALL as u64],
        |row| Ok((row.opt_int(0)?.unwrap_or(0), row.opt_int(1)?.unwrap_or(0))),
    )?;
    Ok(count.unwrap_or_default())
}

/// Hands each record that waits to `each`, with its tenant.
pub(in crate::store) fn each(tx: &mut Tx<'_>, each: &mut dyn FnMut(&str, Item<'_>)) -> Result<(), StoreError> {
    tx.query_each("SELECT tenant, body FROM #usage_waiting", &[], &mut |row| {
        let (tenant, mut body) = (row.text(0)?, row.blob(1)?);
        while !body.is_empty() {
            each(tenant, Item::read(&mut body).ok_or_else(unreadable)?);
        }
        Ok(())
    })
}

/// Rows that no longer wait, with their tenants.
pub(in crate::store) struct Held(Vec<(String, Vec<u8>)>);

impl Held {
    /// Removes the rows of at most so many records. Where only one writes at a time, none comes between reading and removing, which
    /// together are quicker than removing given rows.
    pub(in crate::store) fn take(tx: &mut Tx<'_>, most: usize) -> Result<Self, StoreError> {
        let rows = tx.query(
            "{SELECT tenant, body FROM #usage_waiting WHERE items <= $1|DELETE FROM #usage_waiting WHERE items <= $1 RETURNING tenant, body}",
            params![most as u64],
            |row| Ok((row.text(0)?.to_owned(), row.blob(1)?.to_vec())),
        )?;
        tx.send("{DELETE FROM #usage_waiting WHERE items <= $1|SELECT CAST($1 AS BIGINT)}", params![most as u64])?;
        Ok(Self(rows))
    }

    /// Hands each record to `each`, with its tenant.
    pub(in crate::store) fn each<'a>(&'a self, each: &mut dyn FnMut(&'a str, Record<'a>)) -> Result<(), StoreError> {
        for (tenant, body) in &self.0 {
            let mut body = body.as_slice();
            while !body.is_empty() {
                each(tenant, Record::read(&mut body).ok_or_else(unreadable)?);
            }
        }
        Ok(())
    }
}

fn items<'a>(mut body: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> Result<(), StoreError> {
    while !body.is_empty() {
        each(Item::read(&mut body).ok_or_else(unreadable)?);
    }
    Ok(())
}

fn unreadable() -> StoreError {
    StoreError::damaged("what waits for the sums of usage cannot be read")
}

/// What waits of a tenant, as it is stored.
pub(in crate::store) struct Waiting(Vec<Vec<u8>>);

impl Waiting {
    pub(in crate::store) fn read(tx: &mut Tx<'_>, tenant: &str) -> Result<Self, StoreError> {
        let bodies = tx.query("SELECT body FROM #usage_waiting WHERE tenant = $1", params![tenant], |row| Ok(row.blob(0)?.to_vec()))?;
        Ok(Self(bodies))
    }

    /// The records, oldest hour first.
    pub(in crate::store) fn items(&self) -> Result<Vec<Item<'_>>, StoreError> {
        let mut found = Vec::new();
        for body in &self.0 {
            items(body, &mut |item| found.push(item))?;
        }
        found.sort_unstable_by_key(|item| item.of.start);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as it was written before numbers were short.
    fn long(item: &Item<'_>) -> Vec<u8> {
        let (provider, model) = item.of.model.unwrap_or_default();
        let mut bytes = vec![u8::from(item.of.model.is_some())];
        for text in [item.of.entity_type, item.of.entity_id, provider, model] {
            bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend(item.of.start.to_le_bytes());
        item.sum.0.iter().for_each(|figure| bytes.extend(figure.to_le_bytes()));
        bytes
    }

    #[test]
    fn records_of_before_are_read_and_kept() {
        let of = Of { entity_type: "workflow", entity_id: "x", start: 7_200_000, model: Some(("p", "m")) };
        let item = Item { of, sum: Sum([1, -2, 3, i64::MAX, i64::MIN, 0, 7, 8, 9]) };
        let mut body = long(&item);
        item.write(&mut body);
        body.extend(long(&Item { of: Of { model: None, ..of }, ..item }));
        let (mut found, mut kept, mut counted) = (Vec::new(), Records::default(), 0);
        items(&body, &mut |item| found.push(item)).unwrap();
        assert_eq!(found, [item, item, Item { of: Of { model: None, ..of }, ..item }]);
        let held = Held(vec![("t".to_owned(), body.clone())]);
        held.each(&mut |_, record| {
            counted += usize::from(record.counted().unwrap().start == 7_200_000);
            kept.keep(&record);
        })
        .unwrap();
        assert_eq!((kept.body, counted), (body, 3));
    }

    #[test]
    fn short_numbers_are_read_as_they_were_written() {
        for number in [0, 1, -1, 63, 64, -64, -65, 127, 128, 1 << 40, -(1 << 40), i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            write_short(number, &mut bytes);
            let mut rest = bytes.as_slice();
            assert_eq!((read_short(&mut rest), rest.len()), (Some(number), 0));
        }
        assert_eq!(read_short(&mut [0xff; 12].as_slice()), None);
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let sum = Sum([1, -2, 3, i64::MAX, i64::MIN, 0, 7, 8, 9]);
        let of = Of { entity_type: "agent", entity_id: "é", start: -3_600_000, model: None };
        let runs = Item { of, sum };
        let calls = Item { of: Of { model: Some(("", "m\u{1f}\"")), ..of }, ..runs };
        let mut body = Vec::new();
        runs.write(&mut body);
        calls.write(&mut body);
        let mut found = Vec::new();
        items(&body, &mut |item| found.push(item)).unwrap();
        assert_eq!(found, [runs, calls]);
        let mut kept = Records::default();
        let held = Held(vec![("t".to_owned(), body.clone())]);
        held.each(&mut |_, record| kept.keep(&record)).unwrap();
        assert_eq!(kept.body, body);
        let mut first = Vec::new();
        runs.write(&mut first);
        for cut in (1..body.len()).filter(|cut| *cut != first.len()) {
            assert!(items(&body[..cut], &mut |_| ()).is_err(), "{cut} bytes");
        }
    }
}
