/** Owns reading one event stream: bytes to events, nothing about reconnecting. */

/** One event as it came; `data` of the names that are known has a type (`EventOf`). */
export interface StudioEvent {
  id: string | null;
  name: string;
  data: Record<string, unknown>;
}

/** Takes text as it comes, however it is cut. What is no JSON object is no event. */
export function parseEvents(onEvent: (event: StudioEvent) => void): (text: string) => void {
  let pieces: string[] = [];
  let afterReturn = false;
  let first = true;
  let id: string | null = null;
  let name = '';
  let data: string[] = [];

  const dispatch = (): void => {
    const event = { id, name: name || 'message', text: data.join('\n') };
    [id, name, data] = [null, '', []];
    if (!event.text) return;
    let told: unknown;
    try {
      told = JSON.parse(event.text);
    } catch {
      return;
    }
    if (told && typeof told === 'object' && !Array.isArray(told)) {
      onEvent({ id: event.id, name: event.name, data: told as Record<string, unknown> });
    }
  };

  const line = (text: string): void => {
    if (!text) return dispatch();
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  };

  return (text) => {
    if (!text) return;
    // A pair of return and newline may be cut in the middle.
    let from = afterReturn && text[0] === '\n' ? 1 : 0;
    if (first && text.startsWith('\uFEFF')) from = 1;
    [afterReturn, first] = [text.endsWith('\r'), false];
    const end = /\r\n|\n|\r/g;
    end.lastIndex = from;
    for (let found = end.exec(text); found; found = end.exec(text)) {
      pieces.push(text.slice(from, found.index));
      line(pieces.join(''));
      pieces = [];
      from = end.lastIndex;
    }
    if (from < text.length) pieces.push(text.slice(from));
  };
}

/** Reads to the end. `ready` is waited for between chunks, so that a slow reader slows the sender. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: StudioEvent) => void,
  ready?: () => Promise<void> | undefined,
): Promise<void> {
  const feed = parseEvents(onEvent);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    feed(decoder.decode(value, { stream: true }));
    const wait = ready?.();
    if (wait) await wait;
  }
}
