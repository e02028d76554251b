/** Owns CodeMirror inside a shadow root, where its styles pass the content policy. */
import { standardKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { indentService } from '@codemirror/language';
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view';

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '11.5px', backgroundColor: 'transparent', color: 'var(--ink-2)' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--ink-3)', fontFamily: 'var(--mono)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.key': { color: 'var(--ink)' },
  '.text': { color: 'var(--accent)' },
  '.word': { color: 'var(--f-tool)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', border: '1px solid var(--line-2)', borderRadius: '8px', color: 'var(--ink)' },
});

const KEY = Decoration.mark({ class: 'key' });
const TEXT = Decoration.mark({ class: 'text' });
const WORD = Decoration.mark({ class: 'word' });
/** JSON holds no token longer than a line, so that words are told apart without a parser. */
const words = new MatchDecorator({
  regexp: /("(?:[^"\\]|\\.)*")(\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b/g,
  decoration: (m) => (m[2] ? KEY : m[1] ? TEXT : WORD),
});
const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = words.createDeco(view);
    }
    update(update: ViewUpdate): void {
      this.decorations = words.updateDeco(update, this.decorations);
    }
  },
  { decorations: (v) => v.decorations },
);

/** A line begins as deep as the one above it, one step deeper after a bracket that opens. */
const indent = indentService.of((context, at) => {
  const above = context.lineAt(at, -1).text;
  return context.countColumn(/^\s*/.exec(above)?.[0] ?? '', above.length) + (/[{[]\s*$/.test(above) ? context.unit : 0);
});

function faults({ state: { doc } }: EditorView): Diagnostic[] {
  try {
    JSON.parse(doc.toString());
    return [];
  } catch (error) {
    const { message } = error as Error;
    const [, line, column, position] = /line (\d+) column (\d+)|position (\d+)/.exec(message) ?? [];
    const at = Math.min(doc.length, line ? doc.line(Math.min(doc.lines, Number(line))).from + Number(column) - 1 : Number(position ?? 0));
    return [{ from: at, to: at, severity: 'error', message }];
  }
}

export interface CodeBox {
  set: (text: string) => void;
  destroy: () => void;
}

export function codeBox(
  host: HTMLElement,
  text: string,
  options: { label: string; readOnly: boolean; onChange: (text: string) => void },
): CodeBox {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  let quiet = false;
  const view = new EditorView({
    root,
    parent: root as unknown as HTMLElement,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        indent,
        linter(faults, { delay: 200 }),
        lintGutter(),
        theme,
        colours,
        keymap.of([...standardKeymap, ...historyKeymap, indentWithTab]),
        EditorView.lineWrapping,
        EditorState.readOnly.of(options.readOnly),
        EditorView.contentAttributes.of({ 'aria-label': options.label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) options.onChange(update.state.doc.toString());
        }),
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
