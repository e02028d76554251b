/** Owns what a page shows when it has no data yet, none at all, or an error. */
import { CircleAlert, CircleSlash, Lock, RefreshCw, SearchX } from 'lucide-react';
import { Component, useEffect, useState, type ReactElement, type ReactNode } from 'react';
import { useConnection } from '../api/connection';
import { isProblem } from '@wfstudio/client';
import { t } from '../i18n';
import { Button, LinkButton } from './button';
import { Icon, type IconType } from './icons';
import { textOf, toast } from './toast';

/** True once `ms` have passed; keeps skeletons from flashing. */
function useLate(ms: number): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return late;
}

export function SkeletonRows({ rows = 6, height = 34 }: { rows?: number; height?: number }): ReactElement {
  const late = useLate(150);
  return (
    <div role="status" aria-label={t('loading')} style={{ padding: '8px 14px', visibility: late ? 'visible' : 'hidden' }}>
      {Array.from({ length: rows }, (_, n) => (
        <div key={n} className="row" style={{ height, gap: 24 }}>
          <span className="skel" style={{ width: 22, height: 22 }} />
          <span className="skel" style={{ width: `${30 + ((n * 13) % 22)}%`, height: 12 }} />
          <span className="sp" />
          <span className="skel" style={{ width: 70, height: 12 }} />
          <span className="skel" style={{ width: 56, height: 12 }} />
        </div>
      ))}
    </div>
  );
}

/** Figures in a row that are on their way. */
export function SkeletonFigures(): ReactElement {
  const late = useLate(150);
  return (
    <div className="row" aria-hidden="true" style={{ padding: 14, gap: 28, visibility: late ? 'visible' : 'hidden' }}>
      {[0, 1, 2, 3, 4].map((n) => (
        <div key={n} style={{ flex: 1 }}>
          <span className="skel" style={{ width: '36%', height: 10 }} />
          <span className="skel" style={{ width: '72%', height: 20, marginTop: 9 }} />
        </div>
      ))}
    </div>
  );
}

/** A graph that is on its way. */
export function SkeletonGraph(): ReactElement {
  const late = useLate(150);
  return (
    <div role="status" aria-label={t('loading')} className="skelgraph" style={{ visibility: late ? 'visible' : 'hidden' }}>
      {[120, 244, 204, 120].map((width, n) => (
        <span key={n} className="skel" style={{ width, height: width < 200 ? 44 : 82 }} />
      ))}
    </div>
  );
}

export function Empty({
  icon,
  title,
  text,
  children,
  failed,
}: {
  icon: IconType;
  title: string;
  text?: ReactNode;
  children?: ReactNode;
  failed?: boolean;
}): ReactElement {
  return (
    <div className="empty">
      <span className={`tile ${failed ? 'failt' : 'flow'}`}>
        <Icon as={icon} />
      </span>
      <h2 style={{ fontSize: 15 }}>{title}</h2>
      {text && <p className="mut">{text}</p>}
      <div className="row wrap" style={{ justifyContent: 'center', marginTop: 6 }}>
        {children}
      </div>
    </div>
  );
}

export function FilteredEmpty({ onClear, text }: { onClear: () => void; text?: string }): ReactElement {
  return (
    <Empty icon={SearchX} title={t('filtered.empty')} text={text}>
      <Button onClick={onClear}>{t('clear.filters')}</Button>
    </Empty>
  );
}

export function Failure({
  error,
  onRetry,
  id,
  list,
}: {
  error: unknown;
  onRetry?: () => void;
  id?: string;
  list?: { to: string; label: string };
}): ReactElement {
  const problem = isProblem(error) ? error : null;
  if (problem?.status === 403 && problem.code === 'forbidden') {
    return (
      <Empty
        icon={Lock}
        title={t('error.forbidden')}
        text={t('error.forbidden.gate', { gate: String(problem.body.gate ?? 'viewStudio') })}
      />
    );
  }
  if (problem?.code === 'route_disabled' || problem?.code === 'flag_disabled') {
    return (
      <Empty icon={CircleSlash} title={t('error.disabled')} text={t('error.disabled.text', { flag: String(problem.body.flag ?? '') })} />
    );
  }
  if (problem?.status === 404) {
    return (
      <Empty icon={SearchX} title={t('error.notfound', { id: String(problem.body.id ?? id ?? '') })} text={t('error.notfound.text')}>
        {list && <LinkButton to={list.to}>{list.label}</LinkButton>}
      </Empty>
    );
  }
  return (
    <Empty
      failed
      icon={CircleAlert}
      title={t('error.title')}
      text={
        <>
          {textOf(error)}
          {problem?.requestId && (
            <>
              <br />
              <span className="mono">{t('error.request', { id: problem.requestId })}</span>
            </>
          )}
        </>
      }
    >
      {onRetry && <Button onClick={onRetry}>{t('retry')}</Button>}
    </Empty>
  );
}

/** What browsers say when a part of the pages could not be fetched. */
const GONE = /dynamically imported module|importing a module script failed|unable to preload/i;
export const isGone = (error: unknown): boolean => GONE.test(String((error as Error)?.message ?? error));

/** A part of the pages did not come: most likely there are newer pages by now. */
function Gone(): ReactElement {
  const offline = useConnection((s) => s.offline);
  return (
    <Empty icon={RefreshCw} title={t(offline ? 'error.title' : 'updated')} text={t(offline ? 'error.offline' : 'updated.text')}>
      <Button look="pri" onClick={() => location.reload()}>
        {t('reload')}
      </Button>
    </Empty>
  );
}

/** `part`: of a page, beside others that go on. */
interface Guarded {
  children: ReactNode;
  resetKey?: string;
  part?: 'panel' | 'loose';
}

export class Guard extends Component<Guarded, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }
  override componentDidUpdate(before: Guarded): void {
    if (before.resetKey !== this.props.resetKey && this.state.error) this.setState({ error: null });
  }
  override componentDidCatch(error: unknown): void {
    if (this.props.part === 'loose')
      toast(isGone(error) ? t('updated') : `${t('error.crash')}: ${textOf(error)}`, {
        fail: true,
        action: { label: t('reload'), run: () => location.reload() },
      });
  }
  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (this.props.part === 'loose') return null;
    const told = isGone(error) ? (
      <Gone />
    ) : (
      <Empty
        failed
        icon={CircleAlert}
        title={t('error.crash')}
        text={<span className="mono">{String((error as Error)?.message ?? error)}</span>}
      >
        <Button onClick={() => this.setState({ error: null })}>{t('retry')}</Button>
      </Empty>
    );
    return this.props.part ? (
      <div className="insp broken" role="alert">
        {told}
      </div>
    ) : (
      told
    );
  }
}
