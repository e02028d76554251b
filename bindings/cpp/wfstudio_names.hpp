// Written by `make generate`; do not edit.
// Owns the names that the library knows.
#ifndef WFSTUDIO_NAMES_HPP
#define WFSTUDIO_NAMES_HPP

// What `Engine::call` does.
namespace studio::op {
inline constexpr char ops[] = "ops";
inline constexpr char about[] = "about";
inline constexpr char start[] = "start";
inline constexpr char health[] = "health";
inline constexpr char backup[] = "backup";
inline constexpr char trace_get[] = "trace.get";
inline constexpr char trace_list[] = "trace.list";
inline constexpr char run_cancel[] = "run.cancel";
inline constexpr char run_retry[] = "run.retry";
inline constexpr char thread_list[] = "thread.list";
inline constexpr char thread_get[] = "thread.get";
inline constexpr char usage_query[] = "usage.query";
inline constexpr char usage_run[] = "usage.run";
inline constexpr char usage_rebuild[] = "usage.rebuild";
inline constexpr char graph_validate[] = "graph.validate";
inline constexpr char workflow_save[] = "workflow.save";
inline constexpr char agent_save[] = "agent.save";
inline constexpr char template_list[] = "template.list";
inline constexpr char template_get[] = "template.get";
inline constexpr char template_install[] = "template.install";
inline constexpr char class_register[] = "class.register";
inline constexpr char worker_step[] = "worker.step";
inline constexpr char command[] = "command";
}

// What a host may be asked.
namespace studio::host_op {
inline constexpr char tool_call[] = "tool.call";
inline constexpr char tool_cancel[] = "tool.cancel";
inline constexpr char gate[] = "gate";
inline constexpr char secret_get[] = "secret.get";
inline constexpr char mcp_authorize[] = "mcp.authorize";
inline constexpr char mcp_elicit[] = "mcp.elicit";
inline constexpr char provider_chat[] = "provider.chat";
inline constexpr char provider_rerank[] = "provider.rerank";
inline constexpr char usage_recorded[] = "usage.recorded";
inline constexpr char log[] = "log";
}

// What happens in a run.
namespace studio::event_name {
inline constexpr char thread[] = "thread";
inline constexpr char trace_started[] = "trace_started";
inline constexpr char step_started[] = "step_started";
inline constexpr char loop_iteration[] = "loop_iteration";
inline constexpr char step_retrying[] = "step_retrying";
inline constexpr char checkpoint_hit[] = "checkpoint_hit";
inline constexpr char model_fallback[] = "model_fallback";
inline constexpr char reasoning[] = "reasoning";
inline constexpr char token[] = "token";
inline constexpr char source[] = "source";
inline constexpr char file[] = "file";
inline constexpr char tool_call[] = "tool_call";
inline constexpr char tool_result[] = "tool_result";
inline constexpr char rag_query[] = "rag_query";
inline constexpr char branch_started[] = "branch_started";
inline constexpr char branch_completed[] = "branch_completed";
inline constexpr char parallel_interrupt[] = "parallel_interrupt";
inline constexpr char human_input_required[] = "human_input_required";
inline constexpr char tool_approval_required[] = "tool_approval_required";
inline constexpr char tool_approval_resolved[] = "tool_approval_resolved";
inline constexpr char step_completed[] = "step_completed";
inline constexpr char step_failed[] = "step_failed";
inline constexpr char trace_completed[] = "trace_completed";
inline constexpr char trace_failed[] = "trace_failed";
inline constexpr char trace_cancelled[] = "trace_cancelled";
inline constexpr char done[] = "done";
inline constexpr char error[] = "error";
inline constexpr char run_terminal[] = "run_terminal";
}

// What begins a stream.
namespace studio::begin {
inline constexpr char http[] = "http";
inline constexpr char run[] = "run";
inline constexpr char resume[] = "resume";
}

#endif
