/** Owns the dialogs of the editor: conflict, keys, find. */
import { useReactFlow } from '@xyflow/react';
import { useMemo, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { allNodes, titleOf } from '../graph/document';
import { whereUsed } from '../graph/order';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { ConflictDialog } from '../parts/conflict';
import { Dialog } from '../parts/dialog';
import { NodeTile } from '../parts/icons';
import { isMac } from '../shell/place';
import { centre } from './fit';
import { DiffText } from './diff-text';
import { panel, usePanels } from './panel';
import { select, tell, useEditor } from './store';

export default function EditorDialogs(): ReactElement {
  return (
    <>
      <Conflict />
      <HelpDialog />
      <FindDialog />
    </>
  );
}

function Conflict(): ReactElement | null {
  const { conflict, asking, graph, workflow, session } = useEditor();
  const [, go] = useLocation();
  if (!conflict || !workflow || !session) return null;
  const copied = async (): Promise<void> => {
    const copy = await session.settle('copy');
    if (copy) go(`/workflows/${copy}/edit`);
  };
  return (
    <ConflictDialog
      open={asking}
      text={t('draft.conflict')}
      mine={<DiffText before={workflow.graph} after={graph} />}
      theirs={<DiffText before={workflow.graph} after={conflict.graph} />}
      copyLabel={t('draft.copy')}
      onMine={() => session.settle('mine')}
      onTheirs={() => session.settle('theirs')}
      onCopy={copied}
      onLater={() => tell({ asking: false })}
    />
  );
}

const M = isMac ? '⌘' : 'Ctrl';
const A = isMac ? '⌥' : 'Alt';
const KEYS: [string, string][] = [
  ['/', 'keys.add'],
  ['Tab|⇧ Tab', 'keys.walk'],
  ['→|←|↑|↓', 'keys.edges'],
  [`${A} →|←|↑|↓`, 'keys.move'],
  ['Enter', 'keys.enter'],
  ['C', 'keys.connect'],
  ['E', 'keys.edge'],
  ['Del', 'keys.delete'],
  [`${M} Z|⇧ ${M} Z`, 'keys.undo'],
  [`${M} C|X|V|D|A`, 'keys.clip'],
  [`${M} S`, 'keys.save'],
  [`${M} Enter`, 'keys.run'],
  ['A|R', 'keys.ask'],
  ['F|1|+|−', 'keys.zoom'],
  ['⇧ F', 'keys.zoomto'],
  ['L', 'keys.lock'],
  ['B', 'keys.break'],
  ['M', 'keys.minimap'],
  ['O', 'keys.outline'],
  ['J', 'keys.json'],
  ['P|F8', 'keys.problems'],
  [`${M} K`, 'keys.palette'],
  [`${M} F`, 'keys.find'],
  ['Esc', 'keys.esc'],
];

function HelpDialog(): ReactElement {
  const help = usePanels((s) => s.help);
  return (
    <Dialog open={help} onClose={() => panel({ help: false })} title={t('keys.title')} wide>
      <dl className="keys">
        {KEYS.map(([keys, text]) => (
          <div key={text}>
            <dt>
              {keys.split('|').map((one, n) => (
                <span key={n}>
                  {one.split(' ').map((cap) => (
                    <kbd key={cap}>{cap}</kbd>
                  ))}
                </span>
              ))}
            </dt>
            <dd>{t(text as 'keys.add')}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function FindDialog(): ReactElement {
  const open = usePanels((s) => s.find);
  const graph = useEditor((s) => s.graph);
  const flow = useReactFlow();
  const [q, setQ] = useState('');
  const close = (): void => {
    panel({ find: false });
    tell({ highlight: [] });
  };
  const found = useMemo(() => {
    const wanted = q.trim().toLocaleLowerCase();
    if (!wanted) return [];
    return allNodes(graph)
      .filter((n) => `${titleOf(n)} ${n.id} ${n.type} ${JSON.stringify(n.data)}`.toLocaleLowerCase().includes(wanted))
      .slice(0, 40);
  }, [q, graph]);
  const used = useMemo(() => (/^[A-Za-z_]\w*$/.test(q) ? whereUsed(graph, q) : null), [q, graph]);
  const goTo = (id: string): void => {
    close();
    select([id]);
    centre(flow, id);
    document.getElementById('canvas')?.focus();
  };
  return (
    <Dialog open={open} onClose={close} title={t('find.title')}>
      <input
        className="in"
        data-autofocus
        aria-label={t('find.title')}
        value={q}
        placeholder={t('find.hint')}
        onChange={(e) => {
          setQ(e.target.value);
          tell({ highlight: [] });
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && found[0]) goTo(found[0].id);
        }}
      />
      {used && used.writers.length + used.readers.length > 0 && (
        <div className="row wrap">
          <span className="mut small">{t('find.used', { key: q, w: used.writers.length, r: used.readers.length })}</span>
          <Button
            small
            onClick={() => {
              tell({ highlight: [...used.writers, ...used.readers] });
              panel({ find: false });
            }}
          >
            {t('find.show')}
          </Button>
        </div>
      )}
      <ul className="found">
        {found.map((n) => (
          <li key={n.id}>
            <button type="button" className="mi" onClick={() => goTo(n.id)}>
              <NodeTile type={n.type} />
              <span className="trunc">{titleOf(n)}</span>
              <span className="sp" />
              <span className="mono mut">{n.id}</span>
            </button>
          </li>
        ))}
      </ul>
      {q && found.length === 0 && <p className="mut">{t('palette.none')}</p>}
    </Dialog>
  );
}
