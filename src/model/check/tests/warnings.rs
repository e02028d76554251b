use super::*;

#[test]
fn handles_that_can_be_taken_are_wired() {
    says("start -> condition; condition.true -> stop", &["handle_unconnected condition"]);
    says("start -> loop_1{state_key: a}; loop_1.exit -> stop", &["handle_unconnected loop_1"]);
    says(
        "start -> loop_1{state_key: a}; loop_1.continue -> loop_1; loop_1.continue -> stop",
        &["handle_multiple_edges edge e3", "handle_unconnected loop_1"],
    );
    // Without a test and failing at its bound a loop never leaves by `exit`.
    says(
        "start -> loop_1; loop_1.continue -> condition -> loop_1; condition.true -> stop; condition.false -> loop_1",
        &["handle_incompatible edge e3", "loop_without_condition loop_1"],
    );
    fine("start -> agent_1{agent_id: plain} -> stop");
}

#[test]
fn nodes_can_be_reached() {
    says("start -> stop; set_1{key: a} -> stop", &["node_unreachable set_1"]);
    says("start -> stop; tool_1{tool_ref: \"host:a\"} => agent_1{provider: p, model: m}", &["node_unreachable agent_1"]);
    fine("start -> agent_1{provider: p, model: m} -> stop; tool_1{tool_ref: \"host:a\"} => agent_1");
}

#[test]
fn retrieval_has_a_base() {
    says("start -> rag_1{on_missing: empty} -> stop", &["knowledge_base_missing rag_1 data.knowledge_base_id"]);
}

#[test]
fn a_loop_has_a_test() {
    says("start -> loop_1{on_max: exit}; loop_1.continue -> loop_1; loop_1.exit -> stop", &["loop_without_condition loop_1"]);
    fine("start -> loop_1{expression: \"state.a\"}; loop_1.continue -> loop_1; loop_1.exit -> stop");
    fine("start -> loop_1{rules: [{}]}; loop_1.continue -> loop_1; loop_1.exit -> stop");
}

#[test]
fn templates_read_keys_that_somebody_writes_before() {
    let unknown = |field: &str| format!("template_unknown_key {field}");
    says(
        "start -> llm_1{prompt: \"{{nope}} {{nope}}\"} -> stop{reply: \"{{other}}\"}",
        &[&unknown("llm_1 data.prompt"), &unknown("stop data.reply")],
    );
    fine(
        "start -> llm_1{prompt: \"{{input}} {{attachments}} {{__studio_now}} {{given.x}}\"} -> stop{reply: \"{{llm_response}}\"}",
    );
    says("start -> llm_1{prompt: \"{{__other}}\"} -> stop", &[&unknown("llm_1 data.prompt")]);
    says("start -> llm_1{prompt: \"{{later}}\"} -> set_1{key: later.deep} -> stop", &[&unknown("llm_1 data.prompt")]);
    says("start -> llm_1{prompt: \"{{llm_response}}\"} -> stop", &[&unknown("llm_1 data.prompt")]);
    fine(
        "start -> loop_1{state_key: a}; loop_1.continue -> llm_1{prompt: \"{{llm_response}} {{later}}\"} -> set_1{key: later} -> loop_1; loop_1.exit -> stop{reply: \"{{later}}\"}",
    );
    says(
        "start -> tool_1{tool_ref: \"host:a\", parameters: {a: [{b: \"{{nope}}\"}], c: $nope}} -> stop",
        &[&unknown("tool_1 data.parameters.a.0.b")],
    );
    fine("start -> human_1 -> stop{reply: \"{{human_response}}\"}");
}

#[test]
fn what_a_branch_writes_is_known_in_the_branch_alone() {
    let graph = |prompt: &str, sibling: &str, reply: &str| {
        format!(
            "start -> set_0{{key: before}} -> fork -> join -> stop{{reply: \"{{{{{reply}}}}}\"}}; \
             fork.a -> set_a{{key: mine}} -> llm_a{{prompt: \"{{{{{prompt}}}}}\"}} -> join; fork.b -> llm_b{{prompt: \"{{{{{sibling}}}}}\"}} -> join"
        )
    };
    fine(&graph("mine", "before", "parallel_results"));
    says(&graph("before", "mine", "mine"), &["template_unknown_key stop data.reply", "template_unknown_key llm_b data.prompt"]);
}

#[test]
fn bound_nodes_read_what_their_agent_can() {
    let graph = |key: &str| {
        format!(
            "start -> set_1{{key: known}} -> agent_1{{provider: p, model: m}} -> stop; tool_1{{tool_ref: \"host:a\", parameters: {{a: \"{{{{{key}}}}}\"}}}} => agent_1"
        )
    };
    fine(&graph("known"));
    says(&graph("agent_response"), &["template_unknown_key tool_1 data.parameters.a"]);
}

#[test]
fn streaming_needs_plain_answers() {
    let ignored = ["stream_ignored agent_1 data.stream"];
    says("start -> agent_1{agent_id: careful, stream: true} -> stop", &ignored);
    says("start -> agent_1{agent_id: plain, stream: true, require_tool_approval: true} -> stop", &ignored);
    says("start -> agent_1{agent_id: schema, stream: true, structured: true} -> stop", &ignored);
    says("start -> llm_1{stream: true, structured: true, schema: {}} -> stop", &["stream_ignored llm_1 data.stream"]);
    fine("start -> agent_1{agent_id: careful, stream: true, require_tool_approval: false} -> llm_1{stream: true} -> stop");
}

#[test]
fn checkpoints_are_for_some_types() {
    says(
        "start -> human_1{checkpoint: true} -> mcp_1{mcp_server: files, tool_name: t, checkpoint: true} -> stop",
        &["checkpoint_unsupported human_1 data.checkpoint", "checkpoint_unsupported mcp_1 data.checkpoint"],
    );
    fine(
        "start -> llm_1{checkpoint: true} -> tool_1{tool_ref: \"host:a\", checkpoint: true} -> human_1{checkpoint: false} -> stop",
    );
}

#[test]
fn tools_at_the_provider_cannot_be_approved() {
    says(
        "start -> agent_1{provider: p, model: m, require_tool_approval: true, tools: [{ref: \"provider:search\"}]} -> stop",
        &["approval_provider_tool agent_1"],
    );
    says("start -> agent_1{agent_id: native, require_tool_approval: true} -> stop", &["approval_provider_tool agent_1"]);
    fine("start -> agent_1{agent_id: native} -> stop");
}

#[test]
fn calls_that_may_do_harm_are_not_retried() {
    says("start -> tool_1{tool_ref: \"host:a\", retries: {max: 1}} -> stop", &["retry_not_idempotent tool_1 data.retries.max"]);
    says(
        "start -> mcp_1{mcp_server: files, tool_name: t, retries: {max: 1}} -> stop",
        &["retry_not_idempotent mcp_1 data.retries.max"],
    );
    fine(
        "start -> tool_1{tool_ref: \"host:safe\", retries: {max: 1}} -> mcp_1{mcp_server: files, tool_name: t, retries: {max: 1}, idempotent: true} -> llm_1{retries: {max: 1}} -> stop",
    );
}

#[test]
fn one_branch_is_no_fork() {
    says("start -> fork -> join -> stop; fork.a -> join", &["fork_single_branch fork"]);
}
