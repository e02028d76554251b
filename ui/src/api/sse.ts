/** Owns reading one event stream: bytes to events, nothing about reconnecting. */
import { createParser } from 'eventsource-parser';

export interface StudioEvent {
  id: string | null;
  name: string;
  data: Record<string, unknown>;
}

export function parseEvents(onEvent: (event: StudioEvent) => void): (text: string) => void {
  const parser = createParser({
    onEvent: (frame) => {
      let data: unknown;
      try {
        data = JSON.parse(frame.data);
      } catch {
        return;
      }
      if (data && typeof data === 'object' && !Array.isArray(data)) {
        onEvent({ id: frame.id ?? null, name: frame.event ?? 'message', data: data as Record<string, unknown> });
      }
    },
  });
  return (text) => parser.feed(text);
}

export async function readEvents(body: ReadableStream<Uint8Array>, onEvent: (event: StudioEvent) => void): Promise<void> {
  const feed = parseEvents(onEvent);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    feed(decoder.decode(value, { stream: true }));
  }
}
