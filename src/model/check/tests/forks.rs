use super::*;

/// Two branches and their join, followed by a stop.
fn pair(data: &str, more: &str) -> String {
    format!("start -> fork{{{data}}} -> join -> stop; fork.a -> set_a{{key: a}} -> join; fork.b -> set_b{{key: b}} -> join{more}")
}

#[test]
fn a_fork_has_a_join() {
    fine(&pair("", ""));
    fine("start -> fork{join: end}; fork.a -> end:join -> stop; fork.b -> end");
    for data in ["", "join: gone", "join: set_a"] {
        let said = said(&format!("start -> fork{{{data}}}; fork.a -> set_a{{key: a}} -> stop; fork.b -> stop"));
        assert_eq!(said, ["fork_without_join fork"], "{data}");
    }
    says("start -> fork -> set_1{key: a} -> stop; fork.a -> stop; fork.b -> stop", &["fork_without_join fork"]);
}

#[test]
fn a_fork_has_branches() {
    says("start -> fork -> join -> stop", &["fork_without_branch fork"]);
    says("start -> fork{branches: []} -> join -> stop", &["fork_without_branch fork"]);
}

#[test]
fn branches_have_ids_and_are_those_that_are_wired() {
    fine(&pair("branches: [b, a]", ""));
    says(&pair("branches: [a]", ""), &["fork_branch_invalid fork edge e6 data.branches", "fork_single_branch fork"]);
    says(&pair("branches: [a, b, c]", ""), &["fork_branch_invalid fork data.branches.2"]);
    says(&pair("branches: [a, b, a]", ""), &["fork_branch_invalid fork edge e4 data.branches.2"]);
    says(
        &pair("branches: [a, b, \"c d\", default]", ""),
        &["fork_branch_invalid fork data.branches.2", "fork_branch_invalid fork edge e2 data.branches.3"],
    );
    says(&pair("branches: [a, b, 5]", ""), &["node_data_invalid fork data.branches.2"]);
    let mut graph = sketch::graph(&pair("", "")).unwrap();
    graph["edges"][3]["sourceHandle"] = json!("no good");
    assert_eq!(said_of(&graph), ["fork_branch_invalid fork edge e4"]);
    let wide: String = (0..6).map(|n| format!("; fork.n{n} -> join")).collect();
    says(&format!("start -> fork -> join -> stop{wide}"), &["fork_branch_invalid fork data.branches"]);
    let wide: String = (0..5).map(|n| format!("; fork.n{n} -> join")).collect();
    fine(&format!("start -> fork -> join -> stop{wide}"));
}

#[test]
fn branches_stay_between_fork_and_join() {
    let escapes = |more: &str| said(&pair("", more)).into_iter().filter(|line| line.starts_with("fork_")).collect::<Vec<_>>();
    // To a stop, past the join, back to the fork, into a sibling.
    assert_eq!(escapes("; fork.c -> stop_2"), ["fork_branch_escapes edge e8"]);
    assert_eq!(escapes("; fork.c -> stop"), ["fork_branch_escapes edge e8"]);
    assert_eq!(escapes("; fork.c -> set_c{key: c} -> fork"), ["fork_branch_escapes edge e9"]);
    assert_eq!(escapes("; fork.c -> set_c{key: c} -> set_a"), ["fork_branch_escapes edge e9"]);
    // Branches that begin at the same node are one path taken twice.
    assert_eq!(escapes("; fork.c -> set_a"), Vec::<String>::new());
    // Into a branch, or into the join, from outside.
    assert_eq!(escapes("; start.x -> set_a"), ["fork_branch_escapes edge e8"]);
    assert_eq!(escapes("; start.x -> set_c{key: c} -> join"), ["fork_branch_escapes edge e9"]);
    // A branch that ends by itself, and a loop within a branch, are fine.
    assert_eq!(escapes("; fork.c -> set_c{key: c}"), Vec::<String>::new());
    assert_eq!(
        escapes("; fork.c -> loop_c{state_key: a}; loop_c.continue -> set_c{key: c} -> loop_c; loop_c.exit -> join"),
        Vec::<String>::new()
    );
}

#[test]
fn past_the_join_the_edge_of_the_branch_is_told() {
    says("start -> fork -> join -> set_1{key: x} -> stop; fork.a -> set_1; fork.b -> join", &["fork_branch_escapes edge e5"]);
}

#[test]
fn a_join_has_one_fork() {
    says("start -> join -> stop", &["join_without_fork join"]);
    says(
        "start -> fork_1 -> join; fork_1.a -> join; fork_1.b -> fork_2 -> join -> stop; fork_2.c -> set_c{key: c}; fork_2.d -> set_d{key: d}",
        &["join_shared join", "handle_unconnected set_c", "handle_unconnected set_d"],
    );
}

fn nested(depth: usize) -> String {
    let mut text = String::from("start -> fork_1 -> join_1 -> stop; fork_1.b -> join_1");
    for inner in 2..=depth {
        let outer = inner - 1;
        text.push_str(&format!(
            "; fork_{outer}.a -> fork_{inner} -> join_{inner} -> join_{outer}; fork_{inner}.b -> join_{inner}"
        ));
    }
    format!("{text}; fork_{depth}.a -> join_{depth}")
}

#[test]
fn forks_nest_four_deep() {
    fine(&nested(4));
    says(&nested(5), &["fork_nesting fork_5"]);
    says(&nested(6), &["fork_nesting fork_5", "fork_nesting fork_6"]);
}

#[test]
fn a_fork_lies_in_one_loop_body_or_outside() {
    let around = |branch: &str| {
        said(&format!(
            "start -> loop_1{{state_key: a}}; loop_1.continue -> fork -> join -> loop_1; loop_1.exit -> stop; fork.a -> set_a{{key: a}} -> {branch}; fork.b -> join"
        ))
    };
    assert_eq!(around("join"), Vec::<String>::new());
    assert_eq!(around("loop_1"), ["fork_nesting fork"]);
}
