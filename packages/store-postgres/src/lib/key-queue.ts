/** Work on one key waits for the work before it; other keys go on. */
export class KeyQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` when all that was given for this key before is over, however it ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
