//! Owns the sentences that agents send to people and models.

use crate::engine::calls::tool_calls::Progress;
use crate::model::chat::Attachment;
use crate::model::event::CallServer;
use crate::model::texts::{Locale, text};

/// What a user message says when it holds only files.
pub(super) fn look_at_files(locale: &str) -> String {
    text(Locale::named(locale).unwrap_or_default(), "message.look_at_files", &[])
}

/// How many calls wait for a person.
pub(super) fn waiting(count: usize, locale: &str) -> String {
    let key = if count == 1 { "approval.one" } else { "approval.many" };
    text(Locale::named(locale).unwrap_or_default(), key, &[("count", &count.to_string())])
}

/// The tool result for a call that a person declined.
pub(super) fn declined(reason: Option<&str>) -> String {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.map_or_else(|| "No reason was given.".to_owned(), |reason| format!("The reason given: \"{reason}\"."));
    format!("The person declined this call; it did not run. {reason} Do not make this call again unless the person asks for it.")
}

/// The tool result for arguments that do not match the schema.
pub(super) fn misfit(tool: &str, problems: &[String]) -> String {
    format!("The arguments do not fit `{tool}`, the call did not run: {}", problems.join("; "))
}

/// The tool result for a person's arguments that name one that is fixed.
pub(super) fn fixed(tool: &str, argument: &str) -> String {
    format!("The call did not run: `{argument}` is fixed for `{tool}` and cannot be given with a call.")
}

/// The tool result for an unknown tool.
pub(super) fn unknown_tool<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.collect();
    let known = if known.is_empty() { "there are no tools".to_owned() } else { format!("the tools are {}", known.join(", ")) };
    format!("There is no tool `{name}`; {known}.")
}

/// The tool result for a call whose server does not lend its tool any more.
pub(super) fn lost_tool(server: &CallServer, progress: Progress, approved: bool) -> String {
    let CallServer { slug, tool, .. } = server;
    let came = match progress {
        Progress::None => "the call did not run",
        Progress::Asked => "the call was not finished, and what a person answered to its question was sent to nobody",
        Progress::Begun => "the call was begun there, it is not known whether it ran, and it was not made again",
    };
    let approved = if approved { "; the person's approval was for that server" } else { "" };
    format!(
        "The MCP server `{slug}` does not offer its tool `{tool}` any more: {came}. It is made at no other server{approved}. \
         Call another of your tools if one fits, or say that this could not be done."
    )
}

/// The note to a model about a deleted file.
pub(super) fn file_is_gone(file: &Attachment) -> String {
    format!("[The file {} was deleted and is missing here.]", file.name.as_deref().unwrap_or(&file.mime_type))
}

/// The note to a model about a file that would make the call too large.
pub(super) fn file_is_too_much(file: &Attachment) -> String {
    format!("[The file {} is not sent: the files of this conversation are too large together.]", file.name.as_deref().unwrap_or(&file.mime_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_left_out_is_named_or_told_by_its_type() {
        let file = |name: Option<&str>| -> Attachment {
            serde_json::from_value(serde_json::json!({"type": "image", "storage_key": "k", "mime_type": "image/png", "name": name})).expect("a file")
        };
        assert_eq!(file_is_too_much(&file(Some("a.png"))), "[The file a.png is not sent: the files of this conversation are too large together.]");
        assert_eq!(file_is_gone(&file(None)), "[The file image/png was deleted and is missing here.]");
    }
}
