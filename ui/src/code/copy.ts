/** Owns putting text on the clipboard, and saying whether it is there. */
import { t } from '../i18n';
import { toast } from '../parts/toast';

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('copied'));
  } catch {
    // Without a secure connection there is no clipboard.
    toast(t('copy.refused'), { fail: true });
  }
}
