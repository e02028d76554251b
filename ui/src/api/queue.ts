/** Owns doing one thing after another: a job begins when the one before it has ended, however it ended. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();

  add<T>(job: () => Promise<T>): Promise<T> {
    const mine = this.last.then(job);
    this.last = mine.catch(() => undefined);
    return mine;
  }
}
