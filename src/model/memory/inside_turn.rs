//! Owns the shortening of a prompt during a turn: first old tool results, then a summary.

use super::super::chat::{Message, Role};

/// So many of the newest results always stay.
const NEWEST: usize = 3;

/// What stands in the place of a result that was taken out.
pub fn cleared(tool: &str) -> String {
    format!("[result of {tool} removed to save space; call it again if you need it]")
}

/// Takes out results of tools, the oldest first, until so many tokens are saved; says how many and how much. `weigh` gives the tokens
/// of a message.
pub fn clear_results(messages: &mut [Message], wanted: u64, weigh: impl Fn(&Message) -> u64) -> (usize, u64) {
    let results = messages.iter_mut().filter(|message| message.role == Role::Tool).collect::<Vec<_>>();
    let older = results.len().saturating_sub(NEWEST);
    let (mut count, mut saved) = (0, 0);
    for message in results.into_iter().take(older) {
        if saved >= wanted {
            break;
        }
        let text = cleared(message.name.as_deref().unwrap_or("a tool"));
        if message.content.len() <= text.len() && message.attachments.is_empty() {
            continue;
        }
        let before = weigh(message);
        message.content = text;
        message.attachments.clear();
        saved += before.saturating_sub(weigh(message));
        count += 1;
    }
    (count, saved)
}

/// The older part of what a model said and was answered: how many messages come before the newest that have so many tokens. Calls and
/// their results stay together, and the last of them stay in any case.
pub fn older_part(said: &[Message], room: u64, weigh: impl Fn(&Message) -> u64) -> usize {
    let (mut kept, mut from) = (0_u64, said.len());
    for (at, message) in said.iter().enumerate().rev() {
        kept = kept.saturating_add(weigh(message));
        if message.role != Role::Assistant {
            continue;
        }
        if kept > room && from < said.len() {
            break;
        }
        from = at;
    }
    from
}

/// How many of the oldest messages must be left out so that so many tokens are saved, in whole turns and as far as that helps.
pub fn older_turns(turns: &[Message], wanted: u64, weigh: impl Fn(&Message) -> u64) -> (usize, u64) {
    let (mut out, mut saved) = (0, 0);
    for (at, message) in turns.iter().enumerate() {
        if message.role == Role::User && saved >= wanted {
            break;
        }
        saved += weigh(message);
        out = at + 1;
    }
    (out, saved)
}

#[cfg(test)]
mod tests {
    use super::super::text_tokens;
    use super::*;

    fn weigh(message: &Message) -> u64 {
        text_tokens(&message.content)
    }

    fn result(text: &str) -> Message {
        Message { name: Some("look".into()), ..Message::text(Role::Tool, text) }
    }

    fn said(roles: &str) -> Vec<Message> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            _ => Role::Tool,
        };
        roles.chars().map(|letter| Message::text(role(letter), "x".repeat(400))).collect()
    }

    #[test]
    fn the_oldest_results_go_first_and_the_newest_three_stay() {
        let long = "x".repeat(4000);
        let conversation = || -> Vec<Message> {
            let pair = |text: &str| [Message::text(Role::Assistant, "I look."), result(text)];
            ["short", &long, &long, &long, &long, &long].into_iter().flat_map(pair).collect()
        };
        let check = |wanted, removed: &[usize]| {
            let mut messages = conversation();
            let (count, saved) = clear_results(&mut messages, wanted, weigh);
            let gone: Vec<usize> = (0..messages.len()).filter(|at| messages[*at].content == cleared("look")).collect();
            assert_eq!((count, gone.as_slice()), (removed.len(), removed), "{wanted}");
            let before: u64 = conversation().iter().map(weigh).sum();
            assert_eq!(saved, before - messages.iter().map(weigh).sum::<u64>());
        };
        check(0, &[]);
        check(1, &[3]);
        check(900, &[3]);
        check(1000, &[3, 5]);
        check(u64::MAX, &[3, 5]);
    }

    #[test]
    fn what_was_taken_out_is_not_taken_out_again() {
        let mut messages: Vec<Message> = (0..6).map(|_| result(&"x".repeat(1000))).collect();
        assert_eq!(clear_results(&mut messages, u64::MAX, weigh).0, 3);
        assert_eq!(clear_results(&mut messages, u64::MAX, weigh), (0, 0));
    }

    #[test]
    fn the_newest_part_keeps_calls_and_results_together() {
        for (roles, room, older) in [
            ("atatat", 200, 4),
            ("atatat", 399, 4),
            ("atatat", 400, 2),
            ("atatat", 600, 0),
            ("attt", 100, 0),
            ("atattt", 10, 2),
            ("", 100, 0),
            ("t", 100, 1),
        ] {
            assert_eq!(older_part(&said(roles), room, weigh), older, "{roles} {room}");
        }
    }

    #[test]
    fn whole_turns_are_left_out() {
        for (roles, wanted, out) in [("uauatau", 1, 2), ("uauatau", 200, 2), ("uauatau", 201, 6), ("uaua", 10_000, 4), ("", 1, 0)] {
            assert_eq!(older_turns(&said(roles), wanted, weigh).0, out, "{roles} {wanted}");
        }
    }
}
