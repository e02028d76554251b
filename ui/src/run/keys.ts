/** Owns under which key a request is sent: one that may have arrived keeps its key, so that sending it again does not do it twice. */
import { newKey, type End } from '@wfstudio/client';

export class Keys {
  private readonly unsure = new Map<string, string>();

  of(path: string, body: unknown): string {
    const text = `${path} ${JSON.stringify(body)}`;
    const key = this.unsure.get(text) ?? newKey();
    this.unsure.set(text, key);
    return key;
  }

  settle(key: string, end: End): void {
    const unsure = end.kind === 'refused' && (end.problem.status === 0 || end.problem.status >= 502);
    for (const [text, known] of this.unsure) if (known === key && !unsure) this.unsure.delete(text);
  }
}
