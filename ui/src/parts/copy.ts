/** Owns copying text, also where the page is not served safely and has no clipboard of its own, and saying whether it is there. */
import { t } from '../i18n';
import { toast } from './toast';

export async function copy(text: string, tell: (told: string) => void = toast): Promise<boolean> {
  const done = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  const ok = done || byHand(text);
  if (ok) tell(t('copied'));
  else toast(t('copy.failed'), { fail: true });
  return ok;
}

function byHand(text: string): boolean {
  const before = document.activeElement as HTMLElement | null;
  const box = document.createElement('textarea');
  box.value = text;
  box.className = 'sr';
  // A modal dialog lets nothing outside of it be chosen.
  (before?.closest('dialog') ?? document.querySelector('dialog[open]') ?? document.body).append(box);
  box.select();
  const ok = document.execCommand?.('copy') ?? false;
  box.remove();
  before?.focus();
  return ok;
}
