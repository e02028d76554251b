/** Renders React into jsdom, with the dialogs and menus that it lacks. */
import { act, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.open = true;
};
HTMLElement.prototype.showPopover ??= () => undefined;
window.matchMedia ??= ((query: string) => ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} })) as never;

export { act };
/** Time passes, and what is due by then has its turns, also where the machine gave it none meanwhile. */
export const wait = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => setTimeout(done, ms));
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
  });
export async function render(node: ReactNode): Promise<{ host: HTMLElement; gone: () => Promise<void> }> {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  await act(async () => root.render(node));
  return {
    host,
    gone: async () => {
      await act(async () => root.unmount());
      host.remove();
    },
  };
}
export const button = (text: string): HTMLButtonElement =>
  [...document.querySelectorAll('button')].find((b) => b.textContent === text) as HTMLButtonElement;
export const click = (element: HTMLElement): Promise<void> => act(async () => element.click());
export async function type(field: HTMLInputElement | HTMLTextAreaElement, text: string): Promise<void> {
  const proto = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  await act(async () => {
    Object.getOwnPropertyDescriptor(proto, 'value')?.set?.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
}
