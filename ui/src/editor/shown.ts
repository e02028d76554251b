/** Owns the scene on the canvas as others need it: fitting, walking, revealing. */
import type { GraphSchema } from '../api/types';
import { around, sceneOf, type Rect, type Scene } from '../graph/scene';
import { emptyGraph } from '../graph/document';

let rules: GraphSchema | undefined;
let scene: Scene = sceneOf(emptyGraph(), undefined, () => 'plain');

export const show = (next: Scene, schema: GraphSchema): void => { scene = next; rules = schema; };
export const shownRules = (): GraphSchema | undefined => rules;
export const shown = (): Scene => scene;
export const boundsOf = (ids: string[]): Rect => around(ids.flatMap((id) => scene.byId.get(id) ?? []));
