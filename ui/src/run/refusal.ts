/** Owns telling that what was asked of a run was not done. */
import type { End } from '@wfstudio/client';
import { t } from '../i18n';
import { toast, toastError } from '../parts/toast';

const ANSWERED = new Set(['already_resumed', 'pause_not_pending']);

export function tellRefusal(end: End): void {
  if (end.kind !== 'refused') return;
  if (ANSWERED.has(end.problem.code)) toast(t('ask.gone'));
  else toastError(end.problem);
}
