/** Owns the names of filters in the address of the trace list. */
import type { RunStatus } from '@wfstudio/client';

export const STATUSES: RunStatus[] = ['running', 'queued', 'awaiting_input', 'awaiting_tool_approval', 'completed', 'failed', 'cancelled'];
