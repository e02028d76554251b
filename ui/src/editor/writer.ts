/** Owns who writes a workflow among its tabs: the one that holds its lock. The others read, and stand in line. */
import { mount } from '../api/root';
import { newKey } from '@wfstudio/client';
import { locks } from './locks';

interface Hooks {
  /** The lock came after all: whoever had it is gone. */
  granted: () => void;
  /** Another tab wants to write: what is here has to be at the server when this resolves. */
  give: () => Promise<void>;
  /** Another tab writes from now on. */
  lost: () => void;
}
type Note = { kind: 'take' | 'given'; tab: string };

/** A tab that does not answer for so long is passed over; the journal has what it did. */
const PATIENCE = 4000;

export class Writer {
  private readonly me = newKey();
  private readonly name: string;
  private readonly channel: BroadcastChannel;
  private release: (() => void) | null = null;
  private asking: AbortController | null = null;
  private given: (() => void) | null = null;
  private gone = false;

  constructor(
    id: string,
    private readonly hooks: Hooks,
  ) {
    this.name = `studio-edit:${mount}:${id}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }: MessageEvent<Note>) => void this.hear(data);
  }

  get holds(): boolean {
    return this.release !== null;
  }

  /** False when another tab writes; this one then stands in line. */
  begin(patience: number): Promise<boolean> {
    return new Promise((tell) => {
      const late = setTimeout(() => {
        granted = this.hooks.granted;
        tell(false);
      }, patience);
      let granted = (): void => {
        clearTimeout(late);
        tell(true);
      };
      this.ask({}, () => granted());
    });
  }

  /** Resolves when this tab may write, and the one that wrote has sent what it had. */
  async take(): Promise<void> {
    if (this.release) return;
    await new Promise<void>((go) => {
      this.given = go;
      setTimeout(go, PATIENCE);
      this.channel.postMessage({ kind: 'take', tab: this.me } satisfies Note);
    });
    this.given = null;
    if (this.release || this.gone) return;
    this.asking?.abort();
    await new Promise<void>((go) => this.ask({ steal: true }, go));
  }

  close(): void {
    this.gone = true;
    this.asking?.abort();
    this.release?.();
    this.release = null;
    this.channel.close();
  }

  private async hear({ kind, tab }: Note): Promise<void> {
    if (kind === 'given' && tab === this.me) this.given?.();
    if (kind !== 'take' || !this.release) return;
    await this.hooks.give();
    if (!this.gone) this.channel.postMessage({ kind: 'given', tab } satisfies Note);
  }

  private ask(how: { steal?: boolean }, granted: () => void): void {
    const stop = new AbortController();
    let mine: (() => void) | null = null;
    this.asking = stop;
    locks
      .request(this.name, how.steal ? { steal: true } : { signal: stop.signal }, async () => {
        if (this.gone || stop.signal.aborted) return;
        const free = new Promise<void>((go) => {
          mine = go;
        });
        this.asking = null;
        this.release = mine;
        granted();
        await free;
      })
      .catch(() => {
        // Stolen; a request that was taken back held nothing.
        if (!mine || this.release !== mine || this.gone) return;
        this.release = null;
        this.hooks.lost();
        this.ask({}, this.hooks.granted);
      });
  }
}
