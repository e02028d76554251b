/** Owns how a status looks: icon, word, and colour only for running, waiting, failed. */
import { Ban, Check, Clock, Pause, X } from 'lucide-react';
import type { ReactElement, ReactNode } from 'react';
import { tx } from '../i18n';
import { Icon } from './icons';

export type Tone = 'run' | 'wait' | 'fail' | 'ok' | '';

export function toneOf(status: string): Tone {
  if (status === 'running' || status === 'processing' || status === 'streaming') return 'run';
  if (status.startsWith('awaiting') || status === 'paused') return 'wait';
  if (status === 'failed') return 'fail';
  return status === 'completed' ? 'ok' : '';
}

function mark(status: string): ReactNode {
  switch (toneOf(status)) {
    case 'run':
      return <span className="dot" />;
    case 'wait':
      return <Icon as={Pause} />;
    case 'fail':
      return <Icon as={X} />;
    case 'ok':
      return <Icon as={Check} />;
    case '':
      return <Icon as={status === 'cancelled' ? Ban : Clock} />;
  }
}

export function Status({ status, children, bare }: { status: string; children?: ReactNode; bare?: boolean }): ReactElement {
  return (
    <span className={`st ${toneOf(status)}${bare ? ' bare' : ''}`}>
      {mark(status)}
      {children ?? tx(`status.${status}`, status)}
    </span>
  );
}
