/** Owns the editor's frame: bar, palette, canvas, side, dock, and the keys that work anywhere in it. */
import { useReactFlow } from '@xyflow/react';
import {
  FileJson2,
  LayoutGrid,
  ListTree,
  PanelLeftOpen,
  Play,
  Redo2,
  Search,
  TriangleAlert,
  CircleAlert,
  Undo2,
  Keyboard,
  X,
} from 'lucide-react';
import { lazy, useEffect, useState, type ReactElement } from 'react';
import type { GraphSchema, Providers } from '@wfstudio/client';
import { findNode, titleOf } from '../graph/document';
import { t } from '../i18n';
import { ago } from '../i18n/figures';
import { Button } from '../parts/button';
import { CodeButton } from '../code/button';
import { commitField } from '../parts/field';
import { NODE_LOOK } from '../parts/icons';
import { Part } from '../parts/part';
import { Segments } from '../parts/tabs';
import { say, toast, toastError } from '../parts/toast';
import { useRun } from '../run/store';
import { useCommands, useOffer } from '../shell/commands';
import { mod, useWidth } from '../shell/place';
import { shortId } from '../i18n/figures';
import { Top } from '../shell/top';
import { align, pasteText, tidySelection, type Align } from './actions';
import { Canvas } from './canvas';
import { Dock } from './dock';
import { centre, fitAll } from './fit';
import { makePlaced } from './make';
import { useStock } from './names';
import { Names } from './names-context';
import { NodePalette } from './palette';
import { panel, usePanels } from './panel';
import { useGoTo } from './problems';
import { QuickAddPanel } from './quick-add';
import { openQuickAdd } from './quick-add-state';
import { act, redoStep, select, tell, undoStep, useEditor, type Mode } from './store';

const JsonView = lazy(() => import('./json-view'));
const Outline = lazy(() => import('./outline'));
const loadInspector = () => import('./inspector');
const Inspector = lazy(() => loadInspector().then((m) => ({ default: m.Inspector })));
const Several = lazy(() => loadInspector().then((m) => ({ default: m.Several })));
const EditorDialogs = lazy(() => import('./dialogs'));
const TrialDialog = lazy(() => import('./trial-dialog'));
const HistorySide = lazy(() => import('./history-side'));

export function Workbench({
  schema,
  providers,
  onRun,
}: {
  schema: GraphSchema;
  providers?: Providers;
  onRun: (message: string, only?: { node: string; state: Record<string, unknown> }) => void;
}): ReactElement {
  const { workflow, graph, selection, mode, conflict } = useEditor();
  const panels = usePanels();
  const stock = useStock();
  const flow = useReactFlow();
  const width = useWidth();
  const goTo = useGoTo();
  const phone = width === 'phone';
  const asked = useCommands((s) => s.open);
  const chosen = selection.length === 1 ? findNode(graph, selection[0] as string) : undefined;
  useRunVoice();
  useEffect(() => {
    const timer = setTimeout(() => void loadInspector().catch(() => undefined), 1500);
    return () => clearTimeout(timer);
  }, []);

  const save = async (): Promise<boolean> => {
    try {
      commitField();
      const { session, readOnly } = useEditor.getState();
      if (readOnly) toast(t(readOnly === 'locked' ? 'locked' : 'barred.read'));
      const result = await session?.saveVersion();
      if (!result || !session?.here) return false;
      if (result.ok) toast(t('draft.saved', { n: useEditor.getState().workflow?.revision ?? 0 }));
      else if ('issues' in result) {
        tell({ issues: result.issues });
        panel({ dock: 'problems' });
        toast(t('draft.invalid'), { fail: true });
      }
      return result.ok;
    } catch (error) {
      toastError(error);
      return false;
    }
  };
  const focusComposer = (): void => {
    panel({ dockOpen: true });
    requestAnimationFrame(() => document.getElementById('composer')?.focus());
  };
  const tidy = (): void =>
    void tidySelection(schema)
      .then(() => requestAnimationFrame(() => fitAll(flow)))
      .catch(toastError);
  const addAtCentre = (type: string): void => {
    const box = document.getElementById('canvas')?.getBoundingClientRect();
    const at = box ? flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 }) : { x: 80, y: 80 };
    const node = makePlaced(graph, type, at, providers);
    act({ kind: 'add', node }, { select: [node.id] });
  };
  const search = (): void => {
    const box = document.getElementById('canvas')?.getBoundingClientRect();
    if (box)
      openQuickAdd({
        x: box.x + 20,
        y: box.y + 20,
        at: flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 }),
      });
  };
  useKeys({
    save: () => void save(),
    run: focusComposer,
    next: () => {
      const { issues } = useEditor.getState();
      const at = issues.findIndex((i) => i.node_id === useEditor.getState().selection[0]);
      const issue = issues[(at + 1) % Math.max(1, issues.length)];
      if (issue) goTo(issue);
    },
  });
  usePaste(
    stock.agents.map((a) => a.id),
    flow.screenToFlowPosition,
  );
  useOffer(
    [
      { id: 'run', label: t('editor.testrun'), icon: Play, keys: `${mod}↵`, run: focusComposer },
      { id: 'tidy', label: t('editor.tidy'), icon: LayoutGrid, run: tidy },
      { id: 'find', label: t('find.title'), icon: Search, keys: `${mod}F`, run: () => panel({ find: true }) },
      { id: 'outline', label: t('editor.outline'), icon: ListTree, keys: 'O', run: () => panel({ side: 'outline' }) },
      { id: 'json', label: t('editor.json'), icon: FileJson2, keys: 'J', run: () => panel({ side: 'json' }) },
      { id: 'keys', label: t('keys.title'), icon: Keyboard, keys: '?', run: () => panel({ help: true }) },
      ...(['left', 'center', 'right', 'top', 'middle', 'bottom', 'spread-x', 'spread-y'] as Align[]).map((how) => ({
        id: `align-${how}`,
        label: t(`align.${how}`),
        run: () => align(how, schema),
      })),
      ...(asked
        ? graph.nodes.map((n) => ({
            id: `node-${n.id}`,
            label: titleOf(n),
            group: t('palette.nodes'),
            icon: NODE_LOOK[n.type]?.icon,
            run: () => {
              select([n.id]);
              centre(flow, n.id);
              document.getElementById('canvas')?.focus();
            },
          }))
        : []),
    ],
    [schema, asked],
  );
  useEffect(() => {
    if (phone) panel({ side: 'outline', dockOpen: false, palette: false, minimap: false });
    else if (width === 'narrow') panel({ palette: false, minimap: false });
  }, [phone, width]);

  const outlineSide = (
    <aside className="insp" id="inspector" aria-label={t('editor.outline')}>
      <div className="ih">
        <h2>{t('editor.outline')}</h2>
        <span className="sp" />
        {!phone && <Button look="ghost" small icon={X} label={t('close')} onClick={() => panel({ side: 'inspector' })} />}
      </div>
      <div className="ib">
        <Part>
          <Outline schema={schema} providers={providers} />
        </Part>
      </div>
    </aside>
  );
  const side =
    mode === 'history' ? (
      <Part fallback={<aside className="insp" />} resetKey={[mode, panels.side, ...selection].join()}>
        <HistorySide />
      </Part>
    ) : panels.side === 'json' ? (
      <Part fallback={<aside className="insp" />} resetKey={[mode, panels.side, ...selection].join()}>
        <JsonView />
      </Part>
    ) : panels.side === 'outline' ? (
      outlineSide
    ) : chosen ? (
      <Part fallback={<aside className="insp" />} resetKey={[mode, panels.side, ...selection].join()}>
        <Inspector key={chosen.id} node={chosen} schema={schema} stock={stock} providers={providers} />
      </Part>
    ) : phone ? (
      outlineSide
    ) : selection.length > 1 ? (
      <Part fallback={<aside className="insp" />} resetKey={[mode, panels.side, ...selection].join()}>
        <Several count={selection.length}>
          <Aligner schema={schema} onTidy={tidy} />
        </Several>
      </Part>
    ) : null;
  return (
    <Names.Provider value={stock.nameOf}>
      <Bar onSave={save} onRun={focusComposer} onTidy={tidy} />
      <Standing />
      <div className={`ed${panels.palette && !phone ? '' : ' nopal'}${side ? '' : ' noside'}${panels.dockOpen ? '' : ' shut'}`}>
        {panels.palette && !phone ? <NodePalette onAdd={addAtCentre} onSearch={search} onClose={() => panel({ palette: false })} /> : null}
        {!panels.palette && !phone && (
          <div className="palopen">
            <Button look="ghost" small icon={PanelLeftOpen} label={t('editor.palette')} onClick={() => panel({ palette: true })} />
          </div>
        )}
        <Canvas
          schema={schema}
          providers={providers}
          minimap={panels.minimap}
          onMinimap={() => panel({ minimap: !usePanels.getState().minimap })}
          beside={side !== null}
        />
        {side}
        <Dock providers={providers} onRun={onRun} />
      </div>
      <QuickAddPanel schema={schema} providers={providers} />
      {(conflict || panels.help || panels.find) && (
        <Part loose>
          <EditorDialogs />
        </Part>
      )}
      {panels.trial && (
        <Part loose>
          <TrialDialog onRunOnly={(node, message, state) => onRun(message, { node, state })} />
        </Part>
      )}
      <span hidden>{workflow?.id}</span>
    </Names.Provider>
  );
}

/** Why nothing is written here just now, and what to do about it. */
function Standing(): ReactElement | null {
  const { readOnly, conflict, asking, session } = useEditor();
  const [busy, setBusy] = useState(false);
  const takeOver = (): void => {
    setBusy(true);
    void session
      ?.takeOver()
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  if (readOnly)
    return (
      <div className="strip" role="status">
        {readOnly === 'locked' ? t('locked') : t('draft.other')}
        <span className="sp" />
        {readOnly === 'other' && (
          <Button small disabled={busy} onClick={takeOver}>
            {t(busy ? 'draft.taking' : 'draft.takeover')}
          </Button>
        )}
      </div>
    );
  if (!conflict || asking) return null;
  return (
    <div className="strip" role="status">
      {t('draft.conflict')}
      <span className="sp" />
      <Button small onClick={() => tell({ asking: true })}>
        {t('conflict.choose')}
      </Button>
    </div>
  );
}

function Bar({ onSave, onRun, onTidy }: { onSave: () => Promise<boolean>; onRun: () => void; onTidy: () => void }): ReactElement {
  const { workflow, mode, history, issues, save, savedAt, hasDraft, readOnly } = useEditor();
  const view = useRun((s) => s.view);
  const side = usePanels((s) => s.side);
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 10_000);
    return () => clearInterval(timer);
  }, []);
  const errors = issues.filter((i) => i.severity === 'error').length;
  const warnings = issues.length - errors;
  const tone = view.status.startsWith('awaiting')
    ? 'var(--wait-solid)'
    : view.status === 'running'
      ? 'var(--run)'
      : view.status === 'failed'
        ? 'var(--fail)'
        : 'var(--ink-3)';
  const note =
    save === 'saving'
      ? t('saving')
      : save === 'failed'
        ? t('draft.failed')
        : save === 'dirty'
          ? t('draft.keeping')
          : hasDraft && savedAt
            ? t('draft.at', { ago: ago(new Date(savedAt).toISOString()) })
            : '';
  return (
    <Top
      crumbs={[{ label: t('nav.workflows'), to: '/workflows' }, { label: workflow?.name ?? '' }]}
      title={workflow?.name ?? ''}
      live={view.status === 'running'}
      middle={
        <>
          <span className="mut small hide-m savednote">
            {[note, t('version', { n: workflow?.revision ?? 1 })].filter(Boolean).join(' · ')}
          </span>
          <span className="sp" />
          <Segments<Mode>
            label={t('editor.mode')}
            value={mode}
            onChange={(m) => tell({ mode: m })}
            options={[
              { id: 'design', label: t('mode.design') },
              {
                id: 'run',
                label:
                  view.status === 'idle' ? (
                    t('mode.run')
                  ) : (
                    <>
                      <span className="dot" style={{ color: tone }} />
                      {t('mode.run')} {view.traceId ? shortId(view.traceId).slice(-6) : ''}
                    </>
                  ),
                disabled: view.status === 'idle',
              },
              { id: 'history', label: t('mode.history') },
            ]}
          />
        </>
      }
    >
      <span className="row hide-s" style={{ gap: 0 }}>
        <Button
          look="ghost"
          icon={Undo2}
          label={`${t('editor.undo')} ${mod}Z`}
          disabled={!history.past.length || !!readOnly}
          onClick={undoStep}
        />
        <Button look="ghost" icon={Redo2} label={t('editor.redo')} disabled={!history.future.length || !!readOnly} onClick={redoStep} />
        <Button look="ghost" icon={LayoutGrid} label={t('editor.tidy')} disabled={!!readOnly} onClick={onTidy} />
        <Button
          look="ghost"
          icon={ListTree}
          label={t('editor.outline')}
          aria-pressed={side === 'outline'}
          onClick={() => panel({ side: 'outline' })}
        />
        <Button
          look="ghost"
          icon={FileJson2}
          label={t('editor.json')}
          aria-pressed={side === 'json'}
          onClick={() => panel({ side: 'json' })}
        />
      </span>
      {workflow && (
        <CodeButton
          icon
          kind="workflow"
          id={workflow.id}
          revision={workflow.revision}
          classPath={workflow.class_path}
          unsaved={hasDraft || save !== 'clean'}
          unsavable={readOnly && t('editor.readonly')}
          onSave={onSave}
          onExported={(path) => {
            // Saved in between, it is another version.
            const now = useEditor.getState().workflow;
            if (now?.id === workflow.id) tell({ workflow: { ...now, class_path: path } });
          }}
        />
      )}
      {errors > 0 ? (
        <Button look="ghost failc" icon={CircleAlert} onClick={() => panel({ dock: 'problems' })}>
          {t('problems.errors', { n: errors })}
        </Button>
      ) : warnings > 0 ? (
        <Button look="ghost wait" icon={TriangleAlert} onClick={() => panel({ dock: 'problems' })}>
          {t('problems.warnings', { n: warnings })}
        </Button>
      ) : null}
      <Button disabled={!hasDraft && save === 'clean'} reason={readOnly ? t('editor.readonly') : null} onClick={() => void onSave()}>
        {t('draft.save')}
      </Button>
      <Button look="pri" icon={Play} onClick={onRun}>
        {t('editor.testrun')}
      </Button>
    </Top>
  );
}

function Aligner({ schema, onTidy }: { schema: GraphSchema; onTidy: () => void }): ReactElement {
  return (
    <>
      <div className="typegrid">
        {(['left', 'center', 'right', 'top', 'middle', 'bottom', 'spread-x', 'spread-y'] as Align[]).map((how) => (
          <Button key={how} small onClick={() => align(how, schema)}>
            {t(`align.${how}`)}
          </Button>
        ))}
      </div>
      <Button icon={LayoutGrid} onClick={onTidy}>
        {t('editor.tidy.selection')}
      </Button>
    </>
  );
}

function useKeys(does: { save: () => void; run: () => void; next: () => void }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const command = event.metaKey || event.ctrlKey;
      if (command && event.key.toLowerCase() === 's') {
        event.preventDefault();
        does.save();
      } else if (command && event.key === 'Enter' && !(event.target as HTMLElement).closest('textarea')) {
        event.preventDefault();
        does.run();
      } else if (event.key === 'F8') {
        event.preventDefault();
        does.next();
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}

function usePaste(agents: string[], toFlow: (p: { x: number; y: number }) => { x: number; y: number }): void {
  useEffect(() => {
    let pointer: { x: number; y: number } | null = null;
    const onMove = (event: PointerEvent): void => {
      pointer = (event.target as HTMLElement).closest?.('#canvas') ? { x: event.clientX, y: event.clientY } : null;
    };
    const onPaste = (event: ClipboardEvent): void => {
      if ((event.target as HTMLElement).closest?.('input,textarea,[contenteditable="true"],.codehost')) return;
      if (pasteText(event.clipboardData?.getData('text/plain') ?? '', pointer ? toFlow(pointer) : null, (id) => agents.includes(id)))
        event.preventDefault();
    };
    window.addEventListener('pointermove', onMove, { passive: true });
    window.addEventListener('paste', onPaste);
    return () => {
      window.removeEventListener('pointermove', onMove);
      window.removeEventListener('paste', onPaste);
    };
  });
}

const SPOKEN: Record<string, 'status.paused' | 'status.failed' | 'status.completed'> = {
  waiting: 'status.paused',
  failed: 'status.failed',
  done: 'status.completed',
};
/** Tells steps, not tokens, to screen readers. */
function useRunVoice(): void {
  const status = useRun((s) => s.view.status);
  const last = useRun((s) => {
    const step = s.view.steps[s.view.order.at(-1) ?? ''];
    return step ? `${step.title ?? step.nodeId}\n${step.state}` : '';
  });
  useEffect(() => {
    const [name, state] = last.split('\n');
    if (name && state !== 'streaming') say(`${name}: ${t(SPOKEN[state ?? ''] ?? 'status.running')}`);
  }, [last]);
  useEffect(() => {
    if (status !== 'idle' && status !== 'running') say(t(`status.${status}`));
  }, [status]);
}
