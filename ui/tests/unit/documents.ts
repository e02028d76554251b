/** Owns workflows with drafts as the engine keeps them, for tests of open documents: a server that can hold requests, and one node that is moved. */
import type { Graph, Workflow } from '@wfstudio/client';
import type { Draft } from '../../src/editor/draft';
import { act, useEditor } from '../../src/editor/store';
import { emptyGraph } from '../../src/graph/document';
import { json, refusal, Server, type Asked } from './fake-server';

export const graph = (x: number): Graph => ({ ...emptyGraph(), nodes: [{ id: 'start', type: 'start', position: { x, y: 0 }, data: {} }] });
export const at = (g: Graph | null | undefined): number | undefined => g?.nodes[0]?.position.x;
export const move = (x: number): void => void act({ kind: 'move', positions: { start: { x, y: 0 } } });
export const shown = (): number | undefined => at(useEditor.getState().graph);

/** Workflows with drafts as the engine keeps them; requests can be held. */
export class Documents extends Server {
  held: (() => void)[] = [];
  hold: (asked: Asked) => boolean = () => false;
  under = 0;
  most = 0;
  readonly all: Record<string, { workflow: Workflow; draft: Draft | null; count: number }> = {};

  constructor(...ids: string[]) {
    super();
    for (const id of ids) this.all[id] = { workflow: { id, name: id, revision: 1, graph: graph(0) } as Workflow, draft: null, count: 0 };
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) this.on(method, /\/api\/workflows\//, (asked) => this.answer(asked));
  }

  private async answer(asked: Asked): Promise<Response> {
    const write = asked.method !== 'GET';
    if (write) this.most = Math.max(this.most, ++this.under);
    if (this.hold(asked)) await new Promise<void>((go) => this.held.push(go));
    if (write) this.under -= 1;
    const [, id = '', rest = ''] = /workflows\/(\w+)(.*)$/.exec(asked.path) ?? [];
    const one = this.all[id];
    if (!one) return refusal(404, 'not_found');
    if (rest === '') return json(one.workflow);
    if (asked.method === 'GET') return one.draft ? json(one.draft) : json(null, 204);
    const known = asked.body.draft_revision as number | undefined;
    if (known !== undefined && known !== (one.draft?.draft_revision ?? 0))
      return json({ status: 409, code: 'revision_conflict', title: 'c', detail: 'c', current: one.draft }, 409);
    if (asked.method === 'DELETE') {
      one.draft = null;
      return json(null, 204);
    }
    if (asked.method === 'PUT') {
      one.count += 1;
      one.draft = {
        graph: asked.body.graph as Graph,
        draft_revision: one.count,
        based_on_revision: one.draft?.based_on_revision ?? one.workflow.revision,
        updated_at: '2026-11-20T20:00:00Z',
        issues: [],
      };
      return json(one.draft);
    }
    one.workflow = { ...one.workflow, graph: one.draft?.graph as Graph, revision: one.workflow.revision + 1 };
    one.draft = null;
    return json(one.workflow);
  }

  let(): void {
    this.hold = () => false;
    for (const go of this.held.splice(0)) go();
  }
}
