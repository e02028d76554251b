/** Owns the scene on the canvas as others need it: fitting, walking, revealing. */
import { around, sceneOf, type Rect, type Scene } from '../graph/scene';
import { emptyGraph } from '../graph/document';

let scene: Scene = sceneOf(emptyGraph(), undefined, () => 'plain');

export const show = (next: Scene): void => { scene = next; };
export const shown = (): Scene => scene;
export const boundsOf = (ids: string[]): Rect => around(ids.flatMap((id) => scene.byId.get(id) ?? []));
