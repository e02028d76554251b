/** Owns under which key a request is sent: one that may have arrived keeps its key, so that sending it again does not do it twice. */
import { follow, newKey, type End, type Follow } from '@wfstudio/client';
import { studio } from '../api/client';

export class Keys {
  private readonly sent = new Map<string, string>();

  /** What may have been begun is shown as it was before, like a refusal: sending it again finds it. */
  async follow(request: Follow): Promise<End> {
    const { sent } = this;
    const text = `${request.path} ${JSON.stringify(request.body)}`;
    const known = sent.get(text);
    const key = known ?? newKey();
    sent.set(text, key);
    const end = await follow(studio, { ...request, key });
    if ('key' in end && end.problem) {
      sent.set(text, key);
      return { kind: 'refused', problem: end.problem };
    }
    if (end.kind !== 'refused' || !known) sent.delete(text);
    return end;
  }
}
