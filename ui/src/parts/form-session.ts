/** Owns what is typed into one form: it stays while it is saved, after leaving the page, and beside what somebody else saved. */
import { createStore } from 'zustand/vanilla';
import { make, put } from '../api/client';
import { isProblem } from '@wfstudio/client';
import { queries, refresh } from '../api/queries';
import { Queue } from '../api/queue';
import { t, tx } from '../i18n';
import { toast, toastError } from './toast';
import { markUnsaved } from './unsaved';

export interface Stored {
  id: string;
  revision: number;
  locked: boolean;
  name: string;
}

export interface Typed<T> {
  change: Partial<T>;
  /** What the first change was made to; null while nothing is changed. */
  base: T | null;
  busy: boolean;
  errors: Record<string, string[]>;
  /** What somebody else saved since. */
  conflict: T | null;
  asking: boolean;
}

const nothing = <T>(): Typed<T> => ({ change: {}, base: null, busy: false, errors: {}, conflict: null, asking: false });

/** The engine names a field by its key; who reads the form knows its label. */
export const labelled = (key: string): string => {
  const last = key.slice(key.lastIndexOf('.') + 1);
  return tx(last, tx(`key.${last}`, last));
};
const named = (errors: Record<string, string[]>): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(errors).map(([key, all]) => [
      key,
      all.map((text) => (text.startsWith(`${key} `) ? labelled(key) + text.slice(key.length) : text)),
    ]),
  );

/** Of something new: what was sent first, what it has become, and what it is once it is saved. */
interface New<T> {
  first?: T | null;
  begun?: T | null;
  made?: T;
}

/** The forms of this tab that hold something, by their address. */
const forms = new Map<string, FormSession<never>>();

export class FormSession<T extends Stored> {
  readonly store = createStore<Typed<T>>(() => nothing());
  private readonly queue = new Queue();
  private shown = 0;
  private fresh: New<T> = {};

  private constructor(
    private readonly kind: string,
    private readonly id: string,
  ) {}

  static of<T extends Stored>(kind: string, id: string): FormSession<T> {
    const place = `${kind}/${id}`;
    const known = forms.get(place) as FormSession<T> | undefined;
    if (known) return known;
    const made = new FormSession<T>(kind, id);
    forms.set(place, made as unknown as FormSession<never>);
    return made;
  }

  get dirty(): boolean {
    return Object.keys(this.store.getState().change).length > 0;
  }

  /** While a page shows it. */
  show(): () => void {
    this.shown += 1;
    forms.set(`${this.kind}/${this.id}`, this as unknown as FormSession<never>);
    return () => {
      this.shown -= 1;
      this.forget();
    };
  }

  get here(): boolean {
    return this.shown > 0;
  }

  type(change: Partial<T>, saved: T): void {
    const now = this.store.getState();
    this.tell({ change: { ...now.change, ...change }, base: this.dirty ? now.base : saved });
  }

  /** What is being saved is not this form's any more. */
  discard(): void {
    this.fresh = {};
    this.tell({ ...nothing<T>(), busy: this.store.getState().busy });
  }

  /** Sends what is typed when its turn comes; what is typed meanwhile stays. */
  save(fresh: T | null): Promise<T | null> {
    return this.queue.add(() => (this.fresh.made ? Promise.resolve(this.fresh.made) : this.send(fresh)));
  }

  /** Over what somebody else saved, and only over that. */
  saveMine(fresh: T | null): Promise<T | null> {
    const { base, conflict } = this.store.getState();
    if (!base || !conflict) return Promise.resolve(null);
    if (fresh) this.fresh.begun = conflict;
    this.tell({ base: { ...base, revision: conflict.revision }, conflict: null, asking: false });
    return this.save(fresh);
  }

  takeTheirs(): T | null {
    const { conflict } = this.store.getState();
    if (conflict) this.keep(conflict);
    this.discard();
    return conflict;
  }

  /** What is typed, as text: of one text the text itself. */
  typed(): string {
    const values = Object.values(this.store.getState().change);
    return values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(this.store.getState().change, null, 2);
  }

  private async send(fresh: T | null): Promise<T | null> {
    const { change, base } = this.store.getState();
    const mine = this.fresh;
    const value = fresh ? { ...fresh, ...change } : base && { ...base, ...change };
    if (!value) return null;
    this.tell({ busy: true, errors: {} });
    try {
      const answer = fresh
        ? await this.create(value, mine)
        : await put<T>(`/api/${this.kind}/${value.id}`, { ...value, revision: undefined }, value.revision);
      this.keep(answer);
      const now = this.store.getState().change;
      const since = Object.fromEntries(Object.entries(now).filter(([key, v]) => v !== change[key as keyof T])) as Partial<T>;
      const rest = { change: since, base: Object.keys(since).length > 0 ? answer : null };
      if (fresh) {
        mine.made = answer;
        if (mine === this.fresh) {
          if (rest.base) FormSession.of<T>(this.kind, answer.id).tell(rest);
          this.tell(nothing());
        }
      } else this.tell({ ...rest, conflict: null, asking: false });
      refresh(`/api/${this.kind}`);
      toast(t('saved'));
      return mine === this.fresh ? answer : null;
    } catch (error) {
      if (mine === this.fresh) this.refused(error);
      else toastError(error);
      return null;
    } finally {
      this.tell({ busy: false });
      this.forget();
    }
  }

  /** What may have been made already is found first, and gets what was typed since. */
  private async create(value: T, mine: New<T>): Promise<T> {
    const place = `/api/${this.kind}`;
    if (!mine.begun) {
      const first = (mine.first ??= value);
      try {
        mine.begun = await make<T>(place, first);
      } catch (error) {
        if (isProblem(error) && [409, 413, 422].includes(error.status) && error.code !== 'idempotency_in_progress') mine.first = null;
        if (mine.first || first === value) throw error;
        return this.create(value, mine);
      }
      if (JSON.stringify(first) === JSON.stringify(value)) return mine.begun;
    }
    const { id, revision } = mine.begun;
    try {
      return await put<T>(`${place}/${id}`, { ...value, id, revision: undefined }, revision);
    } catch (error) {
      // It is gone: the next one is made anew.
      if (isProblem(error) && error.status === 404) mine.begun = mine.first = null;
      throw error;
    }
  }

  private refused(error: unknown): void {
    if (isProblem(error) && error.code === 'revision_conflict' && error.body.current) {
      this.tell({ conflict: error.body.current as T, asking: true, base: this.fresh.begun ?? this.store.getState().base });
      return;
    }
    if (isProblem(error) && error.status === 422) {
      this.tell({ errors: named(error.errors) });
      requestAnimationFrame(() => document.querySelector<HTMLElement>('.form [aria-invalid="true"]')?.focus());
    }
    const told = isProblem(error) && Object.values(named(error.errors))[0]?.[0];
    if (told) toast(t('error.action', { message: told }), { fail: true });
    else toastError(error);
  }

  private keep(answer: T): void {
    // The address may have its slug.
    for (const id of [answer.id, this.id]) queries.setQueryData([`/api/${this.kind}`, id], answer);
  }

  tell(change: Partial<Typed<T>>): void {
    this.store.setState(change);
    markUnsaved(this, this.dirty);
  }

  private forget(): void {
    if (this.shown === 0 && !this.dirty && !this.store.getState().busy) forms.delete(`${this.kind}/${this.id}`);
  }
}
