/** Owns what can be asked: arguments and answer of each operation, by method and path. Made by `bindings/generate/client.py`; do not edit. */

import type {
  Agent,
  AgentBody,
  Attachment,
  BranchBody,
  ChatBody,
  ChatEvents,
  Checkpoints,
  CodeExportBody,
  CodeExported,
  CodeImportBody,
  CodeImported,
  CodePreview,
  CodePreviewBody,
  DeleteBody,
  Document,
  DocumentBody,
  Draft,
  DraftBody,
  DraftDeleteBody,
  DraftSaveBody,
  GraphBody,
  GraphSchema,
  InstallBody,
  Installed,
  KnowledgeBase,
  KnowledgeBaseBody,
  McpServer,
  McpServerBody,
  McpServerTest,
  Models,
  OpenApi,
  Patch,
  Providers,
  RegistryClass,
  RegistryClasses,
  RegistrySchemas,
  RegistryTools,
  ResumeBody,
  ResumeQueued,
  RetryBody,
  RetryQueued,
  RevisionSummary,
  RunBody,
  RunCancelled,
  RunCounts,
  RunQueued,
  RunSummary,
  SearchAnswer,
  SearchBody,
  Settings,
  Template,
  Templates,
  Thread,
  ThreadMessages,
  ThreadSummary,
  Tool,
  ToolBody,
  ToolTest,
  ToolTested,
  TraceAnswer,
  TracePage,
  Usage,
  Validation,
  WholeStep,
  Workflow,
  WorkflowBody,
  WorkflowEvents,
  WorkflowListed,
} from './schemas.js';

/** Answered with JSON. */
export interface Operations {
  'POST /workflows/{id}/run': {
    path: {
      id: string;
    };
    body?: RunBody;
    answer: RunQueued;
  };
  'POST /workflows/traces/{run}/resume': {
    path: {
      run: string;
    };
    body?: ResumeBody;
    answer: ResumeQueued;
  };
  'POST /workflows/runs/{run}/resume': {
    path: {
      run: string;
    };
    body?: ResumeBody;
    answer: ResumeQueued;
  };
  'POST /api/runs/{run}/resume': {
    path: {
      run: string;
    };
    body?: ResumeBody;
    answer: ResumeQueued;
  };
  'POST /workflows/traces/{run}/retry': {
    path: {
      run: string;
    };
    body?: RetryBody;
    answer: RetryQueued;
  };
  'POST /workflows/runs/{run}/retry': {
    path: {
      run: string;
    };
    body?: RetryBody;
    answer: RetryQueued;
  };
  'POST /api/runs/{run}/retry': {
    path: {
      run: string;
    };
    body?: RetryBody;
    answer: RetryQueued;
  };
  'POST /workflows/traces/{run}/cancel': {
    path: {
      run: string;
    };
    answer: RunCancelled;
  };
  'POST /workflows/runs/{run}/cancel': {
    path: {
      run: string;
    };
    answer: RunCancelled;
  };
  'POST /api/runs/{run}/cancel': {
    path: {
      run: string;
    };
    answer: RunCancelled;
  };
  'GET /api/runs/{run}': {
    path: {
      run: string;
    };
    query?: {
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
      /** `none` omits the snapshots of the state. */
      snapshots?: string;
      /** `none` omits what steps read and wrote, and the members of steps and spans that are null, empty, zero or false. */
      payloads?: string;
    };
    answer: TraceAnswer;
  };
  'DELETE /api/runs/{run}': {
    path: {
      run: string;
    };
    answer: undefined;
  };
  'GET /workflows/traces/{run}/json': {
    path: {
      run: string;
    };
    query?: {
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
      /** `none` omits the snapshots of the state. */
      snapshots?: string;
      /** `none` omits what steps read and wrote, and the members of steps and spans that are null, empty, zero or false. */
      payloads?: string;
    };
    answer: TraceAnswer;
  };
  'GET /workflows/runs/{run}/json': {
    path: {
      run: string;
    };
    query?: {
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
      /** `none` omits the snapshots of the state. */
      snapshots?: string;
      /** `none` omits what steps read and wrote, and the members of steps and spans that are null, empty, zero or false. */
      payloads?: string;
    };
    answer: TraceAnswer;
  };
  'GET /traces/{run}/json': {
    path: {
      run: string;
    };
    query?: {
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
      /** `none` omits the snapshots of the state. */
      snapshots?: string;
      /** `none` omits what steps read and wrote, and the members of steps and spans that are null, empty, zero or false. */
      payloads?: string;
    };
    answer: TraceAnswer;
  };
  'GET /api/runs/{run}/steps/{step}': {
    path: {
      run: string;
      step: string;
    };
    query?: {
      full?: 'true' | '1' | 'false' | '0';
    };
    answer: WholeStep;
  };
  'GET /api/runs': {
    query?: {
      /** Statuses, separated by commas. */
      status?: string;
      entity_type?: 'agent' | 'workflow';
      /** Id or slug. */
      entity_id?: string;
      thread_id?: string;
      /** The id of a run: only its child runs. `none`: only runs without a parent. */
      parent_run_id?: string;
      /** A date or a time. */
      from?: string;
      /** A date or a time. */
      to?: string;
      q?: string;
      /** The complete name of a model. */
      model?: string;
      /** The version of the workflow that ran. */
      revision?: number;
      /** The lowest cost, including child runs. */
      min_cost?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: RunSummary[];
      next_cursor: string | null;
    };
  };
  'GET /api/runs/counts': {
    answer: RunCounts;
  };
  'GET /workflows/{id}/traces/list': {
    path: {
      id: string;
    };
    query?: {
      page?: number;
      per_page?: number;
      /** Statuses, separated by commas. */
      status?: string;
    };
    answer: TracePage;
  };
  'GET /agents/{id}/chat/threads': {
    path: {
      id: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      q?: string;
    };
    answer: {
      data: ThreadSummary[];
      next_cursor: string | null;
    };
  };
  'GET /agents/{id}/chat/threads/{thread}': {
    path: {
      id: string;
      thread: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
    };
    answer: ThreadMessages;
  };
  'GET /agents/{id}/chat/threads/{thread}/runs': {
    path: {
      id: string;
      thread: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: RunSummary[];
      next_cursor: string | null;
    };
  };
  'GET /workflows/{id}/chat/threads': {
    path: {
      id: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      q?: string;
    };
    answer: {
      data: ThreadSummary[];
      next_cursor: string | null;
    };
  };
  'GET /workflows/{id}/chat/threads/{thread}': {
    path: {
      id: string;
      thread: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
    };
    answer: ThreadMessages;
  };
  'GET /workflows/{id}/chat/threads/{thread}/runs': {
    path: {
      id: string;
      thread: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: RunSummary[];
      next_cursor: string | null;
    };
  };
  'POST /api/attachments': {
    form?: FormData;
    answer: Attachment;
  };
  'DELETE /api/attachments/file': {
    query?: {
      storage_key?: string;
    };
    answer: undefined;
  };
  'GET /api/agents': {
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: Agent[];
      next_cursor: string | null;
    };
  };
  'POST /api/agents': {
    body?: AgentBody;
    answer: Agent;
  };
  'GET /api/agents/{id}': {
    path: {
      id: string;
    };
    answer: Agent;
  };
  'PUT /api/agents/{id}': {
    path: {
      id: string;
    };
    body?: AgentBody;
    answer: Agent;
  };
  'PATCH /api/agents/{id}': {
    path: {
      id: string;
    };
    body?: Patch;
    answer: Agent;
  };
  'DELETE /api/agents/{id}': {
    path: {
      id: string;
    };
    query?: {
      force?: 'true' | '1' | 'false' | '0';
    };
    body?: DeleteBody;
    answer: undefined;
  };
  'POST /api/agents/{id}/duplicate': {
    path: {
      id: string;
    };
    answer: Agent;
  };
  'GET /api/workflows': {
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
    };
    answer: {
      data: WorkflowListed[];
      next_cursor: string | null;
    };
  };
  'POST /api/workflows': {
    body?: WorkflowBody;
    answer: Workflow;
  };
  'GET /api/workflows/{id}': {
    path: {
      id: string;
    };
    answer: Workflow;
  };
  'PUT /api/workflows/{id}': {
    path: {
      id: string;
    };
    body?: WorkflowBody;
    answer: Workflow;
  };
  'PATCH /api/workflows/{id}': {
    path: {
      id: string;
    };
    body?: Patch;
    answer: Workflow;
  };
  'DELETE /api/workflows/{id}': {
    path: {
      id: string;
    };
    query?: {
      force?: 'true' | '1' | 'false' | '0';
    };
    body?: DeleteBody;
    answer: undefined;
  };
  'POST /api/workflows/{id}/duplicate': {
    path: {
      id: string;
    };
    answer: Workflow;
  };
  'GET /api/tools': {
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: Tool[];
      next_cursor: string | null;
    };
  };
  'POST /api/tools': {
    body?: ToolBody;
    answer: Tool;
  };
  'GET /api/tools/{id}': {
    path: {
      id: string;
    };
    answer: Tool;
  };
  'PUT /api/tools/{id}': {
    path: {
      id: string;
    };
    body?: ToolBody;
    answer: Tool;
  };
  'PATCH /api/tools/{id}': {
    path: {
      id: string;
    };
    body?: Patch;
    answer: Tool;
  };
  'DELETE /api/tools/{id}': {
    path: {
      id: string;
    };
    query?: {
      force?: 'true' | '1' | 'false' | '0';
    };
    body?: DeleteBody;
    answer: undefined;
  };
  'POST /api/tools/{id}/duplicate': {
    path: {
      id: string;
    };
    answer: Tool;
  };
  'GET /api/mcp-servers': {
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: McpServer[];
      next_cursor: string | null;
    };
  };
  'POST /api/mcp-servers': {
    body?: McpServerBody;
    answer: McpServer;
  };
  'GET /api/mcp-servers/{id}': {
    path: {
      id: string;
    };
    answer: McpServer;
  };
  'PUT /api/mcp-servers/{id}': {
    path: {
      id: string;
    };
    body?: McpServerBody;
    answer: McpServer;
  };
  'PATCH /api/mcp-servers/{id}': {
    path: {
      id: string;
    };
    body?: Patch;
    answer: McpServer;
  };
  'DELETE /api/mcp-servers/{id}': {
    path: {
      id: string;
    };
    query?: {
      force?: 'true' | '1' | 'false' | '0';
    };
    body?: DeleteBody;
    answer: undefined;
  };
  'POST /api/mcp-servers/{id}/duplicate': {
    path: {
      id: string;
    };
    answer: McpServer;
  };
  'GET /api/knowledge-bases': {
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: KnowledgeBase[];
      next_cursor: string | null;
    };
  };
  'POST /api/knowledge-bases': {
    body?: KnowledgeBaseBody;
    answer: KnowledgeBase;
  };
  'GET /api/knowledge-bases/{id}': {
    path: {
      id: string;
    };
    answer: KnowledgeBase;
  };
  'PUT /api/knowledge-bases/{id}': {
    path: {
      id: string;
    };
    body?: KnowledgeBaseBody;
    answer: KnowledgeBase;
  };
  'PATCH /api/knowledge-bases/{id}': {
    path: {
      id: string;
    };
    body?: Patch;
    answer: KnowledgeBase;
  };
  'DELETE /api/knowledge-bases/{id}': {
    path: {
      id: string;
    };
    query?: {
      force?: 'true' | '1' | 'false' | '0';
    };
    body?: DeleteBody;
    answer: undefined;
  };
  'POST /api/knowledge-bases/{id}/duplicate': {
    path: {
      id: string;
    };
    answer: KnowledgeBase;
  };
  'POST /api/mcp-servers/{id}/test': {
    path: {
      id: string;
    };
    answer: McpServerTest;
  };
  'GET /api/workflows/{id}/draft': {
    path: {
      id: string;
    };
    answer: Draft;
  };
  'PUT /api/workflows/{id}/draft': {
    path: {
      id: string;
    };
    body?: DraftBody;
    answer: Draft;
  };
  'DELETE /api/workflows/{id}/draft': {
    path: {
      id: string;
    };
    body?: DraftDeleteBody;
    answer: undefined;
  };
  'POST /api/workflows/{id}/draft/save': {
    path: {
      id: string;
    };
    body?: DraftSaveBody;
    answer: Workflow;
  };
  'GET /api/workflows/{id}/revisions': {
    path: {
      id: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: RevisionSummary[];
      next_cursor: string | null;
    };
  };
  'GET /api/workflows/{id}/revisions/{revision}': {
    path: {
      id: string;
      revision: string;
    };
    answer: Workflow;
  };
  'POST /api/workflows/{id}/revisions/{revision}/restore': {
    path: {
      id: string;
      revision: string;
    };
    answer: Workflow;
  };
  'POST /api/graph/validate': {
    body?: GraphBody;
    answer: Validation;
  };
  'GET /api/graph/schema': {
    answer: GraphSchema;
  };
  'POST /api/tools/{id}/test': {
    path: {
      id: string;
    };
    body?: ToolTest;
    answer: ToolTested;
  };
  'GET /api/registry/tools': {
    answer: RegistryTools;
  };
  'GET /api/registry/schemas': {
    answer: RegistrySchemas;
  };
  'GET /api/providers': {
    answer: Providers;
  };
  'GET /api/models': {
    query?: {
      /** The id of a provider. */
      provider?: string;
      /** Only models that accept this type of input. */
      input?: 'text' | 'image' | 'audio' | 'video' | 'pdf';
      /** Only models that produce this type of output. */
      output?: 'text' | 'image' | 'audio';
      /** Only models that can call tools, or only models that cannot. */
      tools?: 'true' | 'false';
      q?: string;
    };
    answer: Models;
  };
  'GET /api/settings': {
    answer: Settings;
  };
  'GET /api/knowledge-bases/{id}/documents': {
    path: {
      id: string;
    };
    query?: {
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: Document[];
      next_cursor: string | null;
    };
  };
  'POST /api/knowledge-bases/{id}/documents': {
    path: {
      id: string;
    };
    body?: DocumentBody;
    form?: FormData;
    answer: Document;
  };
  'GET /api/knowledge-bases/{id}/documents/{document}': {
    path: {
      id: string;
      document: string;
    };
    answer: Document;
  };
  'DELETE /api/knowledge-bases/{id}/documents/{document}': {
    path: {
      id: string;
      document: string;
    };
    answer: undefined;
  };
  'POST /api/knowledge-bases/{id}/documents/{document}/reindex': {
    path: {
      id: string;
      document: string;
    };
    answer: Document;
  };
  'POST /api/knowledge-bases/{id}/reindex': {
    path: {
      id: string;
    };
    answer: KnowledgeBase;
  };
  'POST /api/knowledge-bases/{id}/search': {
    path: {
      id: string;
    };
    body?: SearchBody;
    answer: SearchAnswer;
  };
  'POST /knowledge-bases/{id}/search': {
    path: {
      id: string;
    };
    body?: SearchBody;
    answer: SearchAnswer;
  };
  'GET /api/templates': {
    query?: {
      type?: 'agent' | 'workflow' | 'agents' | 'workflows';
      /** Only workflows have a complexity. */
      complexity?: 'basic' | 'intermediate' | 'advanced';
      category?: string;
      tag?: string;
      q?: string;
    };
    answer: Templates;
  };
  'GET /api/templates/{type}/{tid}': {
    path: {
      type: string;
      tid: string;
    };
    answer: Template;
  };
  'POST /api/templates/{type}/{tid}/install': {
    path: {
      type: string;
      tid: string;
    };
    body?: InstallBody;
    answer: Installed;
  };
  'GET /api/registry/classes': {
    answer: RegistryClasses;
  };
  'GET /api/registry/class': {
    query?: {
      class?: string;
      json?: string;
    };
    answer: RegistryClass;
  };
  'POST /api/codegen/preview': {
    body?: CodePreviewBody;
    answer: CodePreview;
  };
  'POST /api/codegen/export': {
    body?: CodeExportBody;
    answer: CodeExported;
  };
  'POST /api/codegen/import': {
    body?: CodeImportBody;
    answer: CodeImported;
  };
  'GET /api/threads': {
    query?: {
      entity_type?: 'agent' | 'workflow';
      /** Id or slug. */
      entity_id?: string;
      q?: string;
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
    };
    answer: {
      data: ThreadSummary[];
      next_cursor: string | null;
    };
  };
  'GET /api/threads/{thread}': {
    path: {
      thread: string;
    };
    query?: {
      /** The number of entries of a page. More than 100 counts as 100. */
      limit?: number;
      /** The `next_cursor` of the previous page. */
      cursor?: string;
      /** More parts of the answer, separated by commas: `graph`, `messages`, `children`, `tools`, `parts`. */
      include?: string;
    };
    answer: Thread;
  };
  'DELETE /api/threads/{thread}': {
    path: {
      thread: string;
    };
    answer: undefined;
  };
  'POST /api/threads/{thread}/branch': {
    path: {
      thread: string;
    };
    body?: BranchBody;
    answer: ThreadSummary;
  };
  'GET /api/checkpoints': {
    query?: {
      trace_id?: string;
    };
    answer: Checkpoints;
  };
  'DELETE /api/checkpoints': {
    query?: {
      trace_id?: string;
    };
    answer: undefined;
  };
  'GET /api/usage': {
    query?: {
      /** A date or a time. */
      from?: string;
      /** A date or a time. */
      to?: string;
      entity_type?: 'agent' | 'workflow';
      /** Id or slug. */
      entity_id?: string;
      group_by?: 'model' | 'entity' | 'day' | 'thread';
      /** The complete name of a model. */
      model?: string;
    };
    answer: Usage;
  };
  'GET /api/openapi.json': {
    answer: OpenApi;
  };
}

/** Answered with events. */
export interface Streams {
  'POST /workflows/{id}/run/stream': {
    path: {
      id: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: RunBody;
    events: WorkflowEvents;
  };
  'POST /agents/{id}/chat/stream': {
    path: {
      id: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: ChatBody;
    events: ChatEvents;
  };
  'POST /workflows/traces/{run}/resume/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: ResumeBody;
    events: WorkflowEvents | ChatEvents;
  };
  'POST /workflows/runs/{run}/resume/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: ResumeBody;
    events: WorkflowEvents | ChatEvents;
  };
  'POST /api/runs/{run}/resume/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: ResumeBody;
    events: WorkflowEvents | ChatEvents;
  };
  'POST /workflows/traces/{run}/retry/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: RetryBody;
    events: WorkflowEvents | ChatEvents;
  };
  'POST /workflows/runs/{run}/retry/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: RetryBody;
    events: WorkflowEvents | ChatEvents;
  };
  'POST /api/runs/{run}/retry/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    body?: RetryBody;
    events: WorkflowEvents | ChatEvents;
  };
  'GET /workflows/traces/{run}/events/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    events: WorkflowEvents | ChatEvents;
  };
  'GET /workflows/runs/{run}/events/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    events: WorkflowEvents | ChatEvents;
  };
  'GET /api/runs/{run}/events/stream': {
    path: {
      run: string;
    };
    query?: {
      order?: 'ordered' | 'live';
      /** The id of the last event that the client read. */
      after?: string;
    };
    events: WorkflowEvents | ChatEvents;
  };
}
