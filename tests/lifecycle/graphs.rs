//! Owns the graphs that are run: forks, loops, tools, agents and people, put together by chance.
//!
//! What a node asks of the world says who asks: `@<run> <pass>@` in a prompt, `act` in a tool's arguments. The key `pass` grows with each pass of a
//! loop, so that an act is named alike only when it is the same one.

use serde_json::{Value, json};

use super::chance::Chance;

/// A piece of a graph.
enum Block {
    Set,
    Ask,
    Tool(&'static str, Option<u64>),
    Talk(bool, Option<u64>),
    Agent(String),
    Boss(String),
    Repeat(u64, Vec<Block>),
    Fork(Vec<Vec<Block>>),
}

/// Tools of the host by letter: what an agent's plan names them by.
pub const TOOLS: [(char, &str); 4] = [('n', "note"), ('p', "pay"), ('r', "refund"), ('h', "heed")];

/// What graphs are rather made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taste {
    Mixed,
    /// Forks of few nodes that need the world.
    Wide,
    /// Agents that want approvals.
    Asking,
    /// A model beside a tool that is given little time.
    Racing,
}

/// A graph as a sketch.
pub fn sketch(chance: &mut Chance, taste: Taste) -> String {
    let blocks = match taste {
        Taste::Mixed => blocks(chance, 2, taste),
        Taste::Racing => {
            let racing = vec![vec![Block::Talk(false, None)], vec![Block::Tool("pay", Some(60 + 3 * chance.below(20)))], vec![leaf(chance, taste)]];
            vec![Block::Fork(racing), leaf(chance, taste)]
        }
        Taste::Wide | Taste::Asking => {
            let branches = (0..2 + chance.below(2)).map(|_| vec![leaf(chance, taste)]).collect();
            let mut all = vec![Block::Fork(branches)];
            if chance.percent(80) {
                all.push(Block::Tool("flaky", None));
            }
            all
        }
    };
    let mut writer = Writer::default();
    let open = writer.all(vec!["start".to_owned()], &blocks);
    writer.close(&open, "stop");
    writer.text
}

fn blocks(chance: &mut Chance, depth: u64, taste: Taste) -> Vec<Block> {
    (0..1 + chance.below(3)).map(|_| block(chance, depth, taste)).collect()
}

fn block(chance: &mut Chance, depth: u64, taste: Taste) -> Block {
    match chance.below(10) {
        0 | 1 if depth > 0 => Block::Fork((0..2 + chance.below(2)).map(|_| blocks(chance, depth - 1, taste)).collect()),
        2 if depth > 0 => Block::Repeat(1 + chance.below(2), blocks(chance, depth - 1, taste)),
        _ => leaf(chance, taste),
    }
}

fn leaf(chance: &mut Chance, taste: Taste) -> Block {
    let limit = |chance: &mut Chance| chance.percent(if taste == Taste::Wide { 45 } else { 20 }).then(|| 60 + chance.below(60));
    if taste == Taste::Asking && chance.percent(70) {
        return Block::Agent(plan(chance, "rrnp"));
    }
    match chance.below(11) {
        0 => Block::Set,
        1 => Block::Ask,
        2 => Block::Tool("note", limit(chance)),
        3 | 4 => Block::Tool("pay", limit(chance)),
        5 => Block::Tool("flaky", None),
        6 => Block::Tool("heed", None),
        7 | 8 => Block::Talk(chance.percent(50), limit(chance)),
        9 => Block::Agent(plan(chance, "nprh")),
        _ => Block::Boss(plan(chance, "nph")),
    }
}

/// Turns of an agent, each with the tools that it wants: `np.r` is two turns.
fn plan(chance: &mut Chance, tools: &str) -> String {
    let letters: Vec<char> = tools.chars().collect();
    let turns = (0..1 + chance.below(2)).map(|_| (0..1 + chance.below(2)).map(|_| *chance.pick(&letters)).collect::<String>());
    turns.collect::<Vec<_>>().join(".")
}

#[derive(Default)]
struct Writer {
    text: String,
    count: u32,
}

impl Writer {
    fn node(&mut self, ends: &[String], kind: &str, data: impl FnOnce(&str) -> Value) -> String {
        self.count += 1;
        let id = format!("{kind}_{}", self.count);
        let data = data(&id);
        for (at, end) in ends.iter().enumerate() {
            let data = if at == 0 { data.to_string() } else { String::new() };
            self.text.push_str(&format!("{end} -> {id}{data}\n"));
        }
        id
    }

    fn close(&mut self, ends: &[String], at: &str) {
        ends.iter().for_each(|end| self.text.push_str(&format!("{end} -> {at}\n")));
    }

    fn all(&mut self, ends: Vec<String>, blocks: &[Block]) -> Vec<String> {
        blocks.iter().fold(ends, |ends, block| self.block(&ends, block))
    }

    fn block(&mut self, ends: &[String], block: &Block) -> Vec<String> {
        let one = match block {
            Block::Set => self.node(ends, "set", |id| json!({"key": format!("k_{id}"), "value": format!("{id} {{{{pass}}}}")})),
            Block::Ask => self.node(ends, "human", |id| json!({"prompt": "What do you think?", "output_key": format!("k_{id}")})),
            Block::Tool(name, limit) => self.node(ends, "tool", |id| tool(id, name, *limit)),
            Block::Talk(stream, limit) => self.node(ends, "llm", |id| {
                let mut data = json!({
                    "provider": "peer", "model": format!("{id}/"), "prompt": PROMPT, "stream": stream, "output_key": format!("k_{id}"),
                });
                limit_to(&mut data, *limit);
                data
            }),
            Block::Agent(plan) => self.node(ends, "agent", |id| agent(id, plan)),
            Block::Boss(plan) => {
                let boss = self.node(ends, "agent", |id| agent(id, "s.s"));
                self.count += 1;
                let id = format!("agent_{}", self.count);
                let mut data = agent(&id, plan);
                data["tool_mode"] = json!(true);
                data["tool_exposure"] = json!({"slug": format!("ask_{id}"), "description": "Knows things.",
                    "parameters": {"input": {"description": "The question.", "controlled_by": "caller"}}});
                self.text.push_str(&format!("{id}{data}.toolset => {boss}\n"));
                boss
            }
            Block::Repeat(times, body) => {
                let id = self.node(ends, "loop", |_| json!({"max_steps": times, "on_max": "exit"}));
                let begin = self.node(&[format!("{id}.continue")], "set", |_| json!({"key": "pass", "value": "{{pass}}i"}));
                let open = self.all(vec![begin], body);
                self.close(&open, &id);
                format!("{id}.exit")
            }
            Block::Fork(branches) => {
                let id = self.node(ends, "fork", |_| json!({}));
                let join = self.node(std::slice::from_ref(&id), "join", |join| json!({"output_key": format!("k_{join}")}));
                for (at, branch) in branches.iter().enumerate() {
                    let open = self.all(vec![format!("{id}.b{at}")], branch);
                    self.close(&open, &join);
                }
                join
            }
        };
        vec![one]
    }
}

const PROMPT: &str = "@{{run}} {{pass}}@ go on";

fn tool(id: &str, name: &str, limit: Option<u64>) -> Value {
    let mut data = json!({
        "tool_ref": format!("host:{name}"), "idempotent": name == "note", "output_key": format!("k_{id}"),
        "parameters": {"act": format!("{{{{run}}}}/{id}/{{{{pass}}}}")},
    });
    limit_to(&mut data, limit);
    data
}

fn limit_to(data: &mut Value, limit: Option<u64>) {
    if let Some(limit) = limit {
        data["timeout_ms"] = json!(limit);
        data["retries"] = json!({"max": limit % 3, "backoff_ms": 1});
    }
}

fn agent(id: &str, plan: &str) -> Value {
    let tools: Vec<Value> = TOOLS.iter().filter(|(letter, _)| plan.contains(*letter)).map(|(_, name)| json!({"ref": format!("host:{name}")})).collect();
    json!({
        "config_mode": "inline", "provider": "peer", "model": format!("{id}/{plan}"), "message": PROMPT, "tools": tools, "memory": "none",
        "stream": plan.len() % 2 == 0, "output_key": format!("k_{id}"),
    })
}
