/** Owns the scene on the canvas as others need it: fitting, walking, revealing. */
import type { GraphSchema } from '@wfstudio/client';
import { around, sceneOf, type Rect, type Scene } from '../graph/scene';
import { emptyGraph } from '../graph/document';

let rules: GraphSchema | undefined;
let scene: Scene = sceneOf(emptyGraph(), undefined, () => 'plain');
let whole: Rect = scene.bounds;

export const show = (next: Scene, schema: GraphSchema, bounds: Rect): void => {
  scene = next;
  rules = schema;
  whole = bounds;
};
export const shownRules = (): GraphSchema | undefined => rules;
export const shown = (): Scene => scene;
/** The nodes and the frames around them. */
export const shownWhole = (): Rect => whole;
export const boundsOf = (ids: string[]): Rect => around(ids.flatMap((id) => scene.byId.get(id) ?? []));
