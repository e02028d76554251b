/** Owns the open document of one page: made when it mounts, and what a disposed one still hears changes no other. */
import { post } from '../api/client';
import { useConnection } from '../api/connection';
import { isProblem, type Graph, type Issue, type Workflow } from '@wfstudio/client';
import { refresh } from '../api/queries';
import { same } from '../graph/diff';
import { tidy } from '../graph/document';
import { noHistory } from '../graph/history';
import { commitField } from '../parts/field';
import { copyOf, dropDraft, isConflict, leftBy, readDraft, readWorkflow, saveDraft, storeDraft, type Draft } from './draft';
import { Journal } from './journal';
import { Queue } from '../api/queue';
import { blank, present, replaceGraph, useEditor, type EditorState, type Theirs } from './store';
import { Writer } from './writer';

export type Choice = 'mine' | 'theirs' | 'copy';
export type Saved = { ok: true } | { ok: false; issues: Issue[]; message: string } | { ok: false; conflict: true };

const PAUSE = 800;
const AGAIN = 4000;
/** A page of this tab that was just left may still send its last change. */
const LEAVING = 400;
const SLOW_DISK = 1000;
/** How many texts are told from another hand's when the line takes every answer. */
const UNHEARD = 8;

export const passing = (status: number): boolean => status === 0 || [401, 419, 429, 502, 503, 504].includes(status);
const unsent = (s: EditorState): boolean => s.save === 'dirty' || s.save === 'failed';

export class DocumentSession {
  /** All that is asked of the server for this document, one after another. */
  private readonly queue = new Queue();
  private journal: Journal | null = null;
  private writer: Writer | null = null;
  private writing = false;
  /** Another tab is to write, once it has what is here. */
  private giving = false;
  private kept = true;
  /** What was sent since an answer was heard last. */
  private unheard: Graph[] = [];
  private timer = 0;
  private historyTimer = 0;
  /** The state as it was left; from then on this session's own. */
  private final: EditorState | null = null;
  private readonly undo: (() => void)[] = [];

  constructor(private readonly address: string) {
    useEditor.getState().session?.dispose();
    useEditor.setState({ ...blank(), session: this }, true);
    this.listen(document, 'visibilitychange', () => {
      if (!document.hidden) return;
      this.keepHistory();
      this.send();
    });
    this.listen(window, 'pagehide', () => this.keepHistory());
    this.listen(window, 'beforeunload', (event) => {
      if (unsent(this.state()) && !this.kept) event.preventDefault();
    });
    this.undo.push(
      useConnection.subscribe((now, before) => {
        if ((before.signedOut && !now.signedOut) || (before.offline && !now.offline)) this.schedule(0);
      }),
    );
  }

  get here(): boolean {
    return this.final === null;
  }

  async open(): Promise<void> {
    let workflow = await readWorkflow(this.address);
    let writing = false;
    if (!this.here) return;
    this.journal = new Journal(workflow.id);
    if (!workflow.locked) {
      this.writer = new Writer(workflow.id, {
        granted: () => void this.reload().catch(() => undefined),
        give: () => this.give(),
        lost: () => this.read(),
      });
      const began = performance.now();
      this.writing = await this.writer.begin(LEAVING);
      writing = this.writing;
      if (performance.now() - began > 50) workflow = await readWorkflow(workflow.id);
    }
    await this.queue.add(async () => {
      // Whoever wrote left meanwhile, and may have sent more.
      if (!writing && this.writing) workflow = await readWorkflow(workflow.id);
      await this.load(workflow);
    });
  }

  /** Called after every command that changed the document. */
  edited(): void {
    void this.keep(true);
    this.schedule(PAUSE);
  }

  /** Sends what is unsent; resolves when the server has what the document was when its turn came. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    return this.queue.add(async () => {
      const s = this.state();
      if (this.writing && !s.conflict && unsent(s)) await this.store(s.graph);
    });
  }

  /** Makes what is on screen a version; what is edited meanwhile stays a draft. */
  saveVersion(): Promise<Saved> {
    clearTimeout(this.timer);
    return this.queue.add(async () => {
      const s = this.state();
      const { graph, workflow } = s;
      // What this tab only reads is for another one to save.
      if (!this.writing) return { ok: false, conflict: true };
      if (s.conflict) this.put({ asking: true });
      if (s.conflict || (unsent(s) && !(await this.store(graph)))) return { ok: false, conflict: true };
      if (!workflow || !this.state().hasDraft) return { ok: true };
      return this.version(workflow, graph);
    });
  }

  /** Ends a conflict; the id of the copy where one was made. */
  async settle(choice: Choice): Promise<string | null> {
    const { conflict, graph, workflow } = this.state();
    if (!conflict || !workflow) return null;
    const copy = choice === 'copy' ? await copyOf(`${workflow.name} (2)`, graph) : null;
    if (copy) refresh('/api/workflows');
    // What is edited meanwhile is in no copy.
    if (this.state().graph !== graph) return copy;
    this.put({
      conflict: null,
      asking: false,
      draftRevision: conflict.draft_revision,
      seen: conflict.based_on_revision,
      save: 'dirty',
    });
    if (choice !== 'mine' && this.here) replaceGraph(conflict.graph);
    void this.keep(true);
    await this.flush();
    return copy;
  }

  discard(): Promise<void> {
    return this.queue.add(async () => {
      const { workflow: known, draftRevision, graph } = this.state();
      if (!known) return;
      let theirs = await dropDraft(known.id, draftRevision);
      // One's own text whose answer was not heard is discarded, too.
      const left = theirs;
      const own = left && left.draft_revision !== null && [graph, ...this.unheard].some((g) => same(left.graph, g));
      if (own) theirs = await dropDraft(known.id, left.draft_revision);
      if (!theirs) this.unheard = [];
      if (theirs) return this.ask(theirs);
      const workflow = await readWorkflow(known.id);
      // What is edited meanwhile is a draft of its own.
      if (this.state().graph !== graph) {
        this.versioned(workflow, graph);
        // It goes on from the version that is shown, and over no newer one unseen.
        if (!same(workflow.graph, known.graph)) this.put({ seen: known.revision });
        return;
      }
      this.put({
        workflow,
        basedOn: workflow.revision,
        graph: tidy(workflow.graph),
        history: noHistory(),
        draftRevision: null,
        seen: null,
        hasDraft: false,
        save: 'clean',
        savedAt: null,
        conflict: null,
        selection: [],
        edgeSelection: [],
      });
      void this.keep(false);
    });
  }

  /** Makes an old version the newest one, and shows it. */
  async restore(revision: number): Promise<void> {
    await this.queue.add(async () => {
      const { workflow } = this.state();
      if (!workflow) return;
      const made = await post<Workflow>(`/api/workflows/${workflow.id}/revisions/${revision}/restore`);
      const next = made?.graph ? made : await readWorkflow(workflow.id);
      refresh('/api/workflows');
      this.put({ workflow: next, basedOn: next.revision, seen: next.revision });
      if (this.here) replaceGraph(next.graph);
    });
  }

  /** Writes here from now on; the tab that wrote has sent what it had. */
  async takeOver(): Promise<void> {
    await this.writer?.take();
    await this.reload();
  }

  /** What is unsent is sent all the same, and nothing of this document is asked by another page of the tab before. */
  dispose(): void {
    if (!this.here) return;
    this.keepHistory();
    this.final = useEditor.getState();
    if (this.final.session === this) useEditor.setState(blank(), true);
    for (const undo of this.undo) undo();
    clearTimeout(this.timer);
    const close = (): void => this.writer?.close();
    // What never came was not edited: nobody waits for it.
    if (this.final.workflow) this.flush().then(close, close);
    else close();
  }

  private state(): EditorState {
    return this.final ?? useEditor.getState();
  }

  private put(change: Partial<EditorState>): void {
    if (this.final) this.final = { ...this.final, ...change };
    else useEditor.setState(change);
  }

  private listen<E extends Event>(target: EventTarget, name: string, hear: (event: E) => void): void {
    target.addEventListener(name, hear as EventListener);
    this.undo.push(() => target.removeEventListener(name, hear as EventListener));
  }

  private async load(workflow: Workflow): Promise<void> {
    const [draft, journal] = await Promise.all([readDraft(workflow.id), this.journal?.read()]);
    if (!this.here) return;
    // What another tab has not sent yet is for that tab to send.
    const mine = journal?.unsent && this.writing ? journal : null;
    const known =
      journal && !journal.unsent && journal.draftRevision === (draft?.draft_revision ?? null) && journal.basedOn === workflow.revision;
    const { selection, edgeSelection } = this.state();
    this.unheard = mine?.unheard ?? [];
    const basedOn = draft?.based_on_revision ?? workflow.revision;
    // What was begun here on another version, and is no answer to one's own, does not go over that one unseen.
    const begun = mine ?? (draft && journal?.draftRevision === draft.draft_revision ? journal : null);
    const seen = begun && begun.basedOn !== basedOn && !this.unheard.some((g) => same(workflow.graph, g)) ? begun.basedOn : null;
    const graph = tidy(mine ? mine.graph : (draft?.graph ?? workflow.graph));
    this.put({
      workflow,
      graph,
      history: mine?.history ?? (known ? journal.history : noHistory()),
      draftRevision: mine ? mine.draftRevision : (draft?.draft_revision ?? null),
      basedOn,
      seen,
      hasDraft: !!draft || !!mine,
      save: mine ? 'dirty' : draft ? 'saved' : 'clean',
      savedAt: draft ? new Date(draft.updated_at).getTime() : null,
      readOnly: workflow.locked ? 'locked' : this.writing && !this.giving ? null : 'other',
      conflict: null,
      asking: false,
      ...present(graph, selection, edgeSelection),
    });
    if (mine) this.schedule(0);
  }

  /** This tab writes from now on, and begins with what the one before has left. Nothing is edited until that is here, and nothing of it is loaded twice. */
  private reload(): Promise<void> {
    return this.queue.add(async () => {
      if (!this.here || this.writing || !this.writer?.holds) return;
      const { workflow } = this.state();
      this.writing = true;
      try {
        if (workflow) await this.load(await readWorkflow(workflow.id));
      } catch (error) {
        this.writing = false;
        throw error;
      }
      // It was left before: what it shows is older than what is there.
      if (!this.here) this.writing = false;
    });
  }

  private async give(): Promise<void> {
    commitField();
    this.giving = true;
    this.put({ readOnly: 'other' });
    await this.flush().catch(() => undefined);
    if (!this.giving) return;
    this.keepHistory();
    this.writing = this.giving = false;
  }

  private read(): void {
    this.writing = this.giving = false;
    clearTimeout(this.timer);
    this.put({ readOnly: 'other', conflict: null, asking: false });
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.send(), ms);
  }

  /** A refusal is in the state; whoever waits for the answer asks for a flush. */
  private send(): void {
    void this.flush().catch(() => undefined);
  }

  /** False when another hand was faster. */
  private async store(graph: Graph): Promise<boolean> {
    const { workflow, draftRevision } = this.state();
    if (!workflow) return true;
    this.put({ save: 'saving' });
    this.sends(graph);
    const kept = this.keep(true);
    // A page that is left has no time to wait, and a disk that stands still holds up nothing.
    if (!document.hidden) await Promise.race([kept, new Promise((go) => setTimeout(go, SLOW_DISK))]);
    if (!this.writing) {
      this.put({ save: 'dirty' });
      return false;
    }
    try {
      const answer = await storeDraft(workflow.id, graph, draftRevision);
      if (draftRevision === null) await this.begun(workflow, answer.based_on_revision);
      this.stored({ ...answer, based_on_revision: draftRevision === null ? this.state().basedOn : answer.based_on_revision }, graph);
      return true;
    } catch (error) {
      const met = await this.met(error, graph);
      if (met === 'older') return this.store(graph);
      if (met) return met === 'agreed';
      this.put({ save: 'failed' });
      if (isProblem(error) && passing(error.status) && this.here) this.schedule(Math.max(error.retryAfter ?? 0, AGAIN));
      throw error;
    }
  }

  private sends(graph: Graph): void {
    this.unheard = [...this.unheard.filter((g) => g !== graph), graph].slice(-UNHEARD);
  }

  /** The server has this graph as the draft. */
  private stored(draft: Pick<Draft, 'draft_revision' | 'based_on_revision'>, graph: Graph): void {
    this.unheard = [];
    const moved = this.state().graph !== graph;
    this.put({
      draftRevision: draft.draft_revision,
      basedOn: draft.based_on_revision,
      hasDraft: true,
      savedAt: Date.now(),
      save: moved ? 'dirty' : 'saved',
    });
    void this.keep(moved);
  }

  /** A draft that was begun on an older version than there is by now does not go over that one unseen. */
  private async begun(known: Workflow, on: number): Promise<void> {
    if (on === known.revision || this.state().seen !== null) return;
    const workflow = await readWorkflow(known.id);
    if (same(workflow.graph, known.graph)) this.put({ workflow, basedOn: workflow.revision });
    else this.put({ seen: known.revision });
  }

  private async version(workflow: Workflow, graph: Graph): Promise<Saved> {
    const { draftRevision, seen } = this.state();
    this.sends(graph);
    try {
      const answer = await saveDraft(workflow.id, draftRevision, seen);
      this.versioned({ ...workflow, ...answer }, graph);
      return { ok: true };
    } catch (error) {
      const met = await this.met(error);
      if (met === 'refused') return { ok: false, conflict: true };
      if (met) return { ok: true };
      if (isProblem(error) && error.code === 'graph_invalid')
        return { ok: false, issues: (error.body.issues as Issue[]) ?? [], message: error.message };
      throw error;
    }
  }

  /** The server has this graph as the newest version, and no draft. */
  private versioned(workflow: Workflow, graph: Graph): void {
    const moved = this.state().graph !== graph;
    this.unheard = [];
    this.put({
      workflow,
      draftRevision: null,
      seen: null,
      basedOn: workflow.revision,
      hasDraft: false,
      save: moved ? 'dirty' : 'clean',
      savedAt: null,
    });
    void this.keep(moved);
    if (moved && this.here) this.schedule(PAUSE);
    refresh('/api/workflows');
  }

  /** A tab that only reads has nothing to choose. */
  private ask(theirs: Theirs): void {
    this.put({ save: 'dirty', conflict: this.writing ? theirs : null, asking: true });
  }

  /** Shows what another hand made of the draft beside one's own; nothing when something else was refused. */
  private async met(error: unknown, sent?: Graph): Promise<'agreed' | 'older' | 'refused' | null> {
    const { workflow, draftRevision } = this.state();
    if (!workflow || !isConflict(error)) return null;
    const theirs = await leftBy(workflow.id, error, { draft: draftRevision, version: workflow.revision });
    const revision = theirs?.draft_revision ?? null;
    const saved = theirs && revision === null && this.unheard.find((g) => same(theirs.graph, g));
    if (saved) {
      const { graph, updated_at } = theirs;
      this.versioned({ ...workflow, graph, updated_at, revision: theirs.based_on_revision }, saved);
      return this.state().save === 'clean' ? 'agreed' : 'older';
    }
    // It came before, and the answer was not heard: this text, or one that was sent earlier.
    if (sent && theirs && revision !== null && revision !== draftRevision) {
      const mine = [sent, ...this.unheard].find((g) => same(theirs.graph, g));
      if (mine) {
        // A first draft may have begun from a version that nobody saw here.
        const first = draftRevision === null;
        if (first) await this.begun(workflow, theirs.based_on_revision);
        const on = first ? this.state().basedOn : theirs.based_on_revision;
        this.stored({ draft_revision: revision, based_on_revision: on }, mine);
      }
      if (mine) return mine === sent ? 'agreed' : 'older';
    }
    if (theirs) this.ask(theirs);
    else {
      this.put({ save: 'dirty', draftRevision: null });
      if (this.here) this.schedule(0);
    }
    return 'refused';
  }

  /** Resolves when it is on disk, or cannot be. */
  private async keep(unsentNow: boolean): Promise<void> {
    const s = this.state();
    if (!s.workflow || !this.journal || !this.writing) return;
    clearTimeout(this.historyTimer);
    if (this.here) this.historyTimer = window.setTimeout(() => this.keepHistory(), PAUSE);
    const { graph, draftRevision, basedOn, seen } = s;
    if (!this.here) void this.journal.writeHistory(s.history);
    this.kept = await this.journal.write({ graph, draftRevision, basedOn: seen ?? basedOn, unsent: unsentNow, unheard: this.unheard });
  }

  private keepHistory(): void {
    clearTimeout(this.historyTimer);
    if (this.writing) void this.journal?.writeHistory(this.state().history);
  }
}
