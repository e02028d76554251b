/** Owns reading a stored session. */
import { get } from '../../api/client';
import type { List, Message, RunSummary } from '../../api/types';

/** All messages of a session, page by page, oldest first. */
export async function messagesOf(agent: string, thread: string): Promise<Message[]> {
  const all: Message[] = [];
  let cursor: string | null = null;
  do {
    const page: { messages: Message[]; next_cursor: string | null } = await get(`/agents/${agent}/chat/threads/${thread}`, {
      include: 'tools,parts',
      limit: 100,
      cursor,
    });
    all.push(...page.messages);
    cursor = page.next_cursor;
  } while (cursor && all.length < 2000);
  return all;
}

export const newestRun = async (agent: string, thread: string): Promise<RunSummary | undefined> =>
  (await get<List<RunSummary>>(`/agents/${agent}/chat/threads/${thread}/runs`, { limit: 1 })).data[0];
