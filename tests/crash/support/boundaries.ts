/** Numbers every step that leaves the process, and ends the process at one of them as `kill -9` does. */

/** The steps of one process, in the order they were passed. */
export class Boundaries {
  readonly passed: string[] = [];
  readonly #killAt: number | string | undefined;

  /** `killAt` is a number, from 1, or the name of a step; without it every step is passed. */
  constructor(killAt?: number | string) {
    this.#killAt = killAt;
  }

  pass(name: string): void {
    this.passed.push(name);
    if (this.passed.length === this.#killAt || name === this.#killAt) process.kill(process.pid, "SIGKILL");
  }
}

/**
 * The same object with a boundary before and after each call. The change given to `update` is a boundary of its own: it
 * runs inside the transaction.
 */
export function watch<T extends object>(target: T, name: string, boundaries: Boundaries): T {
  return new Proxy(target, {
    get: (of, key) => {
      const member: unknown = Reflect.get(of, key);
      if (typeof member !== "function") return member;
      return (...given: readonly unknown[]): unknown => {
        const step = `${name}.${String(key)}`;
        boundaries.pass(`before ${step}`);
        const args = given.map((one) => (typeof one === "function" ? inside(one, step, boundaries) : one));
        const result: unknown = Reflect.apply(member, of, args);
        if (!(result instanceof Promise)) return result;
        return result.then((value: unknown) => {
          boundaries.pass(`after ${step}`);
          return value;
        });
      };
    },
  });
}

function inside(change: Function, step: string, boundaries: Boundaries): unknown {
  return (...given: readonly unknown[]): unknown => {
    const decision: unknown = Reflect.apply(change, undefined, given);
    boundaries.pass(`inside ${step}`);
    return decision;
  };
}
