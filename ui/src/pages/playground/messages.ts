/** Owns reading a stored session. */
import { get } from '../../api/client';
import type { Message, RunSummary } from '@wfstudio/client';
import type { List } from '../../api/pages';

/** As many messages as a page can show. */
const MOST = 2000;

/** The newest messages of a session, oldest first; they come page by page from its beginning. */
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
    all.splice(0, all.length - MOST);
    cursor = page.next_cursor;
  } while (cursor);
  return all;
}

export const newestRun = async (agent: string, thread: string): Promise<RunSummary | undefined> =>
  (await get<List<RunSummary>>(`/agents/${agent}/chat/threads/${thread}/runs`, { limit: 1 })).data[0];
