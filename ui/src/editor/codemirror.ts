/** Owns CodeMirror inside a shadow root, where its styles pass the content policy. */
import { standardKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '11.5px', backgroundColor: 'transparent', color: 'var(--ink-2)' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--ink-3)', fontFamily: 'var(--mono)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', border: '1px solid var(--line-2)', borderRadius: '8px', color: 'var(--ink)' },
});
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--ink)' },
  { tag: tags.string, color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--f-tool)' },
]);

export interface CodeBox { set: (text: string) => void; destroy: () => void }

export function codeBox(host: HTMLElement, text: string, options: { label: string; readOnly: boolean; onChange: (text: string) => void }): CodeBox {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  let quiet = false;
  const view = new EditorView({
    root, parent: root as unknown as HTMLElement,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), json(), linter(jsonParseLinter(), { delay: 200 }), lintGutter(), theme, syntaxHighlighting(colours),
        keymap.of([...standardKeymap, ...historyKeymap, indentWithTab]), EditorView.lineWrapping, EditorState.readOnly.of(options.readOnly),
        EditorView.contentAttributes.of({ 'aria-label': options.label }),
        EditorView.updateListener.of((update) => { if (update.docChanged && !quiet) options.onChange(update.state.doc.toString()); }),
      ],
    }),
  });
  return {
    set: (next) => {
      if (next === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      quiet = false;
    },
    destroy: () => view.destroy(),
  };
}
