/** Owns where a chunk stands in its document, in words. */
import { t } from '../i18n';

export function placeOf(chunk: { page?: number; heading?: string; sheet?: string }): string {
  return [chunk.page && t('kb.page', { n: chunk.page }), chunk.sheet, chunk.heading].filter(Boolean).join(' · ');
}
