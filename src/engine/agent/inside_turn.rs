//! Owns the shortening of a prompt during a turn, so that it fits into the window. The decision is recorded before the call, so another process
//! that continues the step sends the same prompt.

use super::memory::{self, Report};
use super::window;
use super::turns::{Conversation, Speaker, Turn};
use super::compaction::{self, Summarizer};
use crate::engine::calls::{ModelAnswer, Prompt};
use crate::engine::drive::context::StepContext;
use crate::model::agent::InsideTurn;
use crate::model::chat::{Message, Role};
use crate::model::event::fallback::number as number_of;
use crate::model::event::{Fault, FaultCode};
use crate::model::memory::{SUMMARY_MARK, Window, clear_results, estimate, file_tokens, older_part, older_turns};
use crate::providers::Media;

/// Before a later call of the turn.
const INSIDE: &str = "inside_turn";
/// After the provider said that a request is too long.
const OVERFLOW: &str = "after_overflow";

/// How much of its window a conversation takes.
pub(super) struct Room {
    /// The largest possible number of tokens; none if none was reported or counted.
    most: Option<u64>,
    /// So many tokens were reported or counted for so many of the messages that are sent.
    known: Option<(u64, usize)>,
    /// What is looked up when it is first needed.
    window: Option<Window>,
    /// Bytes of the turn's user message, behind which a summary is put.
    user: usize,
    /// The log may hold what was decided before the step was left.
    recorded: bool,
    /// The place in the list of fallbacks of the model that is asked.
    place: u32,
    /// The place of the one that found a request too long before.
    overflowed: Option<u32>,
}

impl Room {
    /// Of a conversation that begins with these messages.
    pub(super) fn new(context: &StepContext, sent: &[Message]) -> Self {
        let recorded = context.open(|step| step.prompts.len() > 1).unwrap_or(false);
        let user = sent.last().map_or(0, |message| message.content.len());
        Self { most: None, known: None, window: None, user, recorded, place: 0, overflowed: None }
    }

    /// A message came to what is sent.
    pub(super) fn add(&mut self, message: &Message) {
        if !message.attachments.is_empty() {
            // What files weigh is counted before the next call.
            self.most = None;
        }
        if let Some(most) = &mut self.most {
            *most += message.content.len() as u64 + message.tool_calls.iter().map(|call| 128 + call.arguments_weight()).sum::<u64>();
        }
    }

    /// The provider counted a request of so many messages.
    pub(super) fn report(&mut self, tokens: Option<u64>, messages: usize) {
        if let Some(tokens) = tokens {
            self.settle(tokens, messages);
        }
    }

    /// Another model counts in its own way, and has its own window.
    fn turn(&mut self, place: u32) {
        if self.place != place {
            *self = Self { most: None, known: None, window: None, place, ..*self };
        }
    }

    fn settle(&mut self, tokens: u64, messages: usize) {
        (self.most, self.known) = (Some(tokens), Some((tokens, messages)));
    }
}

/// How much is to be taken out of a conversation.
struct Wanted {
    at: &'static str,
    /// What its prompt and its summary are recorded under.
    part: String,
    /// What it has now.
    before: u64,
    /// Results are taken out until it has no more than this.
    target: u64,
    /// Above this, more than results is taken out.
    limit: u64,
    window: Window,
}

fn weigh(message: &Message, media: &[Media]) -> u64 {
    estimate(message, |file| {
        let media = media.iter().find(|media| media.storage_key == file.storage_key);
        media.map_or(0, |media| file_tokens(&file.kind, &media.mime_type, &media.bytes))
    })
}

/// What is decided for the model at a place of the list after it found a request too long.
fn overflow_of(place: u32) -> String {
    if place == 0 { OVERFLOW.into() } else { format!("{OVERFLOW}/{place}") }
}

/// What a part is of a whole that counts otherwise.
fn scaled(part: u64, of: u64, to: u64) -> u64 {
    let scaled = u128::from(part) * u128::from(to) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

impl Speaker<'_> {
    /// Asks the model with what fits into its window, and once more with half of it when the provider says that it does not: once a step,
    /// and once for each fallback that it turns to.
    pub(super) async fn ask_within(&self, number: u32, conversation: &mut Conversation, turn: Turn) -> Result<ModelAnswer, Fault> {
        self.make_room(number, conversation).await?;
        let mut result = self.ask_with(number, conversation, turn).await;
        while let Err(fault) = &result
            && fault.code == FaultCode::ContextOverflow
            && Box::pin(self.halve(number, conversation)).await?
        {
            result = self.ask_with(number, conversation, turn).await;
        }
        if let Ok(answer) = &result {
            let place = self.place(number);
            conversation.room.turn(place);
            // An answer that is read back may be of a model that was asked before this one.
            let own = place == 0 || self.turned_at(number) <= number as usize;
            conversation.room.report(answer.prompt_tokens.filter(|_| own), conversation.sent.len());
        }
        result
    }

    /// The place in the list of fallbacks that this speaker has come to.
    pub(super) fn place(&self, number: u32) -> u32 {
        if self.profile.fallbacks.is_empty() {
            return 0;
        }
        self.context.open(|step| step.fallbacks.place(&self.scope.model_key(number))).unwrap_or(0)
    }

    /// The number of the call in which it came there.
    fn turned_at(&self, number: u32) -> usize {
        let key = self.scope.model_key(number);
        self.context.open(|step| step.fallbacks.last(&key).map_or(0, |last| number_of(&last.key))).unwrap_or(0)
    }

    fn makes_room(&self) -> bool {
        self.profile.memory.inside_turn != Some(InsideTurn::Off)
    }

    /// Nothing more than a comparison while the conversation is short.
    async fn make_room(&self, number: u32, conversation: &mut Conversation) -> Result<(), Fault> {
        if conversation.room.recorded && Box::pin(self.recall(number, conversation)).await? {
            return Ok(());
        }
        if number == 1 || !self.makes_room() {
            return Ok(());
        }
        let place = self.place(number);
        conversation.room.turn(place);
        let window = *conversation.room.window.get_or_insert_with(|| window::of(self.context, self.profile, place));
        let limit = window.most_inside();
        if conversation.room.most.is_some_and(|most| most <= limit) {
            return Ok(());
        }
        let before = self.tokens(conversation);
        conversation.room.settle(before, conversation.sent.len());
        let asked = || self.context.open(|step| step.calls.contains_key(&self.scope.model_key(number))).unwrap_or(false);
        if before <= limit || asked() {
            return Ok(());
        }
        let wanted = Wanted { at: INSIDE, part: INSIDE.into(), before, target: window.left_inside(), limit, window };
        Box::pin(self.shrink(number, conversation, &wanted)).await.map(drop)
    }

    /// Half of what a request has that was too long, and no more than the one that was asked takes; whether that made it shorter.
    async fn halve(&self, number: u32, conversation: &mut Conversation) -> Result<bool, Fault> {
        let place = self.place(number);
        conversation.room.turn(place);
        if !self.makes_room() || conversation.room.overflowed.replace(place) == Some(place) {
            return Ok(false);
        }
        let before = self.tokens(conversation);
        let window = window::of(self.context, self.profile, place);
        let half = (before / 2).min(window.left_inside());
        let window = Window { tokens: half, ..window };
        let wanted = Wanted { at: OVERFLOW, part: overflow_of(place), before, target: half, limit: half, window };
        self.shrink(number, conversation, &wanted).await
    }

    /// What was decided for this call before the step was left.
    async fn recall(&self, number: u32, conversation: &mut Conversation) -> Result<bool, Fault> {
        let mut found = false;
        let overflows = (0..=self.place(number)).map(|place| (overflow_of(place), Some(place)));
        for (part, overflowed) in std::iter::once((INSIDE.into(), None)).chain(overflows) {
            let name = self.prompt_name(number, &part);
            if self.context.has_prompt(&name) {
                let missing = async { Err(Fault::new(FaultCode::Internal, "a recorded prompt is missing")) };
                conversation.sent = self.context.prompt(&name, missing).await?;
                (conversation.room.most, conversation.room.known) = (None, None);
                let said = conversation.user_at(&conversation.sent).map(|at| conversation.sent[at].content.as_str());
                conversation.room.user = said.map_or(conversation.room.user, |said| end_of_user(said, conversation.room.user));
                conversation.room.overflowed = overflowed.or(conversation.room.overflowed);
                found = true;
            }
        }
        Ok(found)
    }

    fn prompt_name(&self, number: u32, part: &str) -> String {
        format!("{}/{part}", self.scope.model_key(number))
    }

    /// What the conversation weighs: the newest report and what was added since, else all of it.
    fn tokens(&self, conversation: &Conversation) -> u64 {
        let Conversation { sent, media, room, .. } = conversation;
        match room.known.filter(|(_, messages)| *messages <= sent.len()) {
            Some((tokens, messages)) => tokens + sent[messages..].iter().map(|message| weigh(message, media)).sum::<u64>(),
            None => self.counted(conversation, sent),
        }
    }

    fn counted(&self, conversation: &Conversation, sent: &[Message]) -> u64 {
        memory::tools_tokens(self.tools, &conversation.found) + sent.iter().map(|message| weigh(message, &conversation.media)).sum::<u64>()
    }

    /// Takes results of tools out, then what was said earlier in the turn, then earlier turns; whether there was anything.
    ///
    /// The one place where a conversation is made shorter inside a turn. It goes far down in one go, so that the prompts of the calls
    /// that follow begin alike.
    async fn shrink(&self, number: u32, conversation: &mut Conversation, wanted: &Wanted) -> Result<bool, Fault> {
        let mut sent = conversation.sent.clone();
        let all = self.counted(conversation, &sent);
        let media = conversation.media.clone();
        let weigh = |message: &Message| weigh(message, &media);
        let (counted, real) = (|tokens| scaled(tokens, wanted.before, all), |tokens| scaled(tokens, all, wanted.before));
        let mut report = Report::default();
        let (cleared, saved) = clear_results(&mut sent, counted(wanted.before.saturating_sub(wanted.target)), weigh);
        report.cleared = cleared;
        let mut now = wanted.before.saturating_sub(real(saved));
        if now > wanted.limit {
            let room = counted(wanted.window.tokens / 2);
            let user = conversation.user_at(&sent).map(|at| (at, conversation.room.user));
            let saved = Box::pin(self.summarise(number, &mut sent, (user, room), wanted, &mut report, weigh)).await?;
            now = now.saturating_sub(real(saved));
        }
        if now > wanted.limit {
            let from = sent.iter().take_while(|message| message.role == Role::System).count();
            let to = conversation.user_at(&sent).unwrap_or(from).max(from);
            let (out, saved) = older_turns(&sent[from..to], counted(now - wanted.limit), weigh);
            sent.drain(from..from + out);
            report.trimmed = out;
            now = now.saturating_sub(real(saved));
        }
        if report.cleared + report.summarized + report.trimmed == 0 {
            return Ok(false);
        }
        let name = self.prompt_name(number, &wanted.part);
        let told = report.span_output(wanted.at, wanted.before, now, &wanted.window);
        // First: a prompt that is recorded is not made again, and nobody would tell of it.
        self.context.measure(&name, "memory", "history_compaction", told)?;
        conversation.sent = self.context.prompt(&name, async { Ok(Prompt { messages: sent, ..Prompt::default() }) }).await?;
        conversation.room.settle(now, conversation.sent.len());
        Ok(true)
    }

    /// Puts a summary behind the turn's user message, in the place of what was said before the newest part; says what that saved.
    async fn summarise(
        &self,
        number: u32,
        sent: &mut Vec<Message>,
        (user, room): (Option<(usize, usize)>, u64),
        wanted: &Wanted,
        report: &mut Report,
        weigh: impl Fn(&Message) -> u64,
    ) -> Result<u64, Fault> {
        let Some((at, user)) = user else { return Ok(0) };
        let older = older_part(&sent[at + 1..], room, &weigh);
        if older == 0 {
            return Ok(0);
        }
        let content = &sent[at].content;
        let (said, former) = content.split_at_checked(user).unwrap_or((content, ""));
        let summarizer = Summarizer::of(self.context, self.profile, self.place(number));
        report.source = Some(summarizer.source);
        let former = Some(former.trim()).filter(|former| !former.is_empty());
        let part = &sent[at + 1..=at + older];
        let key = self.scope.summary_key(number, &wanted.part);
        match summarizer.ask(self.context, &key, || compaction::of_turn(former, part, &wanted.window)).await {
            Ok(text) => {
                let before: u64 = sent[at..=at + older].iter().map(&weigh).sum();
                sent[at].content = format!("{said}\n\n{}", compaction::summary_text(&text, &wanted.window));
                sent.drain(at + 1..=at + older);
                debug_assert!(sent[at].content[user.min(sent[at].content.len())..].trim_start().starts_with(SUMMARY_MARK), "behind the message");
                report.summarized = older;
                Ok(before.saturating_sub(weigh(&sent[at])))
            }
            Err(fault) if compaction::goes_further(&fault) => Err(fault),
            Err(fault) => {
                report.error = Some(fault.message);
                Ok(0)
            }
        }
    }
}

/// Where the turn's user message ends in a recorded prompt, behind which a summary may lie. The message of now may have another length: a file of it
/// may be gone since, which it then says.
fn end_of_user(content: &str, now: usize) -> usize {
    let mark = format!("\n\n{SUMMARY_MARK}");
    let fits = now == content.len() || content.get(now..).is_some_and(|rest| rest.starts_with(&mark));
    if fits { now } else { content.rfind(&mark).unwrap_or(content.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chat::Attachment;

    #[test]
    fn a_message_weighs_at_most_its_bytes_and_one_with_files_is_counted_anew() {
        let mut room = Room { most: None, known: None, window: None, user: 0, recorded: false, place: 0, overflowed: None };
        let text = Message::text(Role::Tool, "x".repeat(40));
        room.add(&text);
        assert_eq!(room.most, None, "nobody reported or counted any");
        room.report(Some(100), 3);
        room.add(&text);
        room.add(&text);
        assert_eq!((room.most, room.known), (Some(180), Some((100, 3))));
        let file = Attachment { kind: "image".into(), mime_type: "image/png".into(), storage_key: "k".into(), name: None, size: None };
        room.add(&Message { attachments: vec![file], ..text.clone() });
        assert_eq!((room.most, room.known), (None, Some((100, 3))), "what was reported still counts");
        room.add(&text);
        assert_eq!(room.most, None);
    }

    #[test]
    fn a_summary_is_found_behind_a_message_that_had_another_length() {
        let said = "Look.";
        let whole = format!("{said}\n\n{SUMMARY_MARK}\nWhat was found.");
        assert_eq!(end_of_user(&whole, said.len()), said.len());
        assert_eq!(end_of_user(&whole, said.len() + 40), said.len(), "a file that is gone made the message of now longer");
        assert_eq!(end_of_user(said, said.len() + 40), said.len(), "no summary yet");
        let quoted = format!("I quote:\n\n{SUMMARY_MARK}");
        assert_eq!(end_of_user(&quoted, quoted.len()), quoted.len(), "a person may write it too");
    }
}
