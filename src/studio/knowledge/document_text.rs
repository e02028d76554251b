//! Owns the views of a stored document: the original file, and the chunks around a location.

use std::sync::Arc;

use super::documents::{must_find_base, must_find_document};
use crate::error::Result;
use crate::store::knowledge::passages::{self, Passage, Place};
use crate::store::knowledge::{documents as table, readings};
use crate::studio::{Scope, Section, StoredFile, Studio};

/// Chunks that are shown before the wanted one, and in all.
const BEFORE: u64 = 10;
const SHOWN: u64 = 40;
/// Bytes of text that are shown: what is longer ends there.
const BYTES: usize = 1 << 20;

/// A location in a document.
#[derive(Clone, Debug, Default)]
pub struct DocumentLocation {
    /// The place of the chunk, from 0.
    pub position: u64,
    /// Where the chunk stands. It wins: after the document was read anew, the chunk may have another position.
    pub place: Place,
}

/// A part of a document's text.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DocumentText {
    pub name: String,
    pub mime_type: String,
    /// Why there is no text, if that is known.
    pub error: Option<String>,
    /// How many chunks the document has.
    pub total: u64,
    /// The chunk that is wanted.
    pub here: u64,
    pub chunks: Vec<(u64, Passage)>,
}

impl Studio {
    /// A part of a document as it was added, chosen by how many bytes there are.
    pub async fn document_original(
        &self,
        scope: &Scope,
        base: &str,
        id: &str,
        section: impl Fn(u64) -> Section + Send + 'static,
    ) -> Result<StoredFile> {
        let (tenant, config) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config));
        let (base, id) = (base.to_owned(), id.to_owned());
        self.reading(move |tx| {
            let base = must_find_base(tx, &tenant, &base, &config)?;
            let document = must_find_document(tx, &tenant, &base, &id)?;
            let bytes = match section(document.size) {
                Section::None => None,
                Section::Whole => table::content(tx, document.no)?,
                Section::Part { skipped, count } => table::part(tx, document.no, skipped, count)?,
            };
            let (name, bytes) = (Some(document.name), bytes.unwrap_or_default().into());
            Ok(StoredFile { mime_type: document.mime_type, name, size: document.size, bytes })
        })
        .await
    }

    /// The text of a document around a place, as searches see it.
    pub async fn document_text(&self, scope: &Scope, base: &str, id: &str, around: DocumentLocation) -> Result<DocumentText> {
        let (tenant, config) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config));
        let (base, id) = (base.to_owned(), id.to_owned());
        self.reading(move |tx| {
            let base = must_find_base(tx, &tenant, &base, &config)?;
            let document = must_find_document(tx, &tenant, &base, &id)?;
            let (reading, total) = readings::shown(tx, document.no)?.unwrap_or_default();
            let mut here = around.position.min(total.saturating_sub(1));
            let at = |passages: Vec<(u64, Passage)>| passages.into_iter().next().map(|(_, passage)| passage.place);
            if around.place != Place::default() && at(passages::run(tx, reading, here, 1)?).as_ref() != Some(&around.place) {
                here = passages::standing(tx, reading, &around.place)?.unwrap_or(here);
            }
            let mut chunks = passages::run(tx, reading, here.saturating_sub(BEFORE), SHOWN)?;
            cut(&mut chunks, here);
            let (name, mime_type, error) = (document.name, document.mime_type, document.state.error);
            Ok(DocumentText { name, mime_type, error, total, here, chunks })
        })
        .await
    }
}

/// Leaves so much of the chunks as is shown at most; the wanted one stays.
fn cut(chunks: &mut Vec<(u64, Passage)>, here: u64) {
    let mut room = BYTES;
    let wanted = chunks.iter().position(|(position, _)| *position == here).unwrap_or(0);
    let mut first = wanted;
    for (at, (_, passage)) in chunks.iter_mut().enumerate().skip(wanted) {
        passage.text.truncate(passage.text.floor_char_boundary(if at == wanted { BYTES } else { room }));
        room = room.saturating_sub(passage.text.len());
    }
    while let Some(before) = first.checked_sub(1)
        && chunks[before].1.text.len() <= room
    {
        room -= chunks[before].1.text.len();
        first = before;
    }
    chunks.drain(..first);
    chunks.retain(|(_, passage)| !passage.text.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_an_end_and_the_wanted_chunk() {
        let chunk = |position, bytes: usize| (position, Passage { text: "é".repeat(bytes / 2), place: Place::default() });
        let left = |sizes: [usize; 4], here| {
            let mut chunks = (5..).zip(sizes).map(|(position, bytes)| chunk(position, bytes)).collect();
            cut(&mut chunks, here);
            chunks.iter().map(|(position, passage)| (*position, passage.text.len())).collect::<Vec<_>>()
        };
        assert_eq!(left([10, 20, 30, 40], 6), [(5, 10), (6, 20), (7, 30), (8, 40)]);
        assert_eq!(left([10, 20, 3 << 20, 40], 7), [(7, BYTES)]);
        assert_eq!(left([10, 2 << 20, BYTES - 20, 40], 7), [(7, BYTES - 20), (8, 20)]);
        assert_eq!(left([10, 10, BYTES - 60, 40], 7), [(5, 10), (6, 10), (7, BYTES - 60), (8, 40)]);
    }
}
