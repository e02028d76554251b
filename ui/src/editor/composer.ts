/** Owns what the next run starts with. */
import { create } from 'zustand';
import type { Attachment } from '../api/types';

export const useComposer = create<{
  text: string;
  files: Attachment[];
  said: string;
  sentFiles: Attachment[];
  state: Record<string, unknown>;
}>(() => ({ text: '', files: [], said: '', sentFiles: [], state: {} }));
export const clearComposer = (): void => useComposer.setState({ text: '', files: [], said: '', sentFiles: [], state: {} });
