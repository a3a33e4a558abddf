/** Concurrency: how many calls run at once, and which must wait for each other. */

/** Something with a signal that is read only when somebody has to wait. */
export interface Signalled {
  readonly signal: AbortSignal;
}

/** Lets at most `limit` in at once; the others wait in order. */
export class Turnstile {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** True while somebody is inside or waiting. */
  get busy(): boolean {
    return this.#inside > 0 || this.#waiting.length > 0;
  }

  /** Enters at once (undefined) or when it is this caller's turn. Rejects with the signal's reason on abort. */
  enter(control: Signalled): Promise<void> | undefined {
    if (this.#inside < this.#limit) {
      this.#inside += 1;
      return undefined;
    }
    const { signal } = control;
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(signal.reason);
      };
      this.#waiting.push(admit);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Leaves; the first who waits takes the place. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }
}

/** One turnstile per key, kept only while somebody uses it. */
export class KeyedLock {
  readonly #turnstiles = new Map<string, Turnstile>();

  /** Enters the lock of `key`, waiting for whoever holds it. */
  enter(key: string, control: Signalled): Promise<void> | undefined {
    const turnstile = this.#turnstiles.get(key) ?? new Turnstile(1);
    this.#turnstiles.set(key, turnstile);
    return turnstile.enter(control);
  }

  /** Leaves the lock of `key`. */
  leave(key: string): void {
    const turnstile = this.#turnstiles.get(key);
    turnstile?.leave();
    if (turnstile?.busy === false) this.#turnstiles.delete(key);
  }
}

/** The gate of one scope (a run, or all direct calls of a registry). */
export interface CallGate {
  readonly places: Turnstile;
  /** Calls of a tool that is not parallel-safe wait for each other within the scope. */
  readonly tools: KeyedLock;
}

/** A gate that lets `limit` calls run at once. */
export function createGate(limit: number): CallGate {
  return { places: new Turnstile(limit), tools: new KeyedLock() };
}

/** One thing to hold while a call runs. */
export interface Holding {
  enter(control: Signalled): Promise<void> | undefined;
  leave(): void;
}

/**
 * Enters everything in order and returns the function that leaves all of it. Waits only where it must, so a free
 * gate costs no tick. On abort it leaves what it entered and rejects with the signal's reason.
 */
export function holdAll(
  holdings: readonly Holding[],
  control: Signalled,
): (() => void) | Promise<() => void> {
  const held: Holding[] = [];
  const release = (): void => {
    for (const holding of held.splice(0).reverse()) holding.leave();
  };
  for (const [index, holding] of holdings.entries()) {
    const wait = holding.enter(control);
    if (wait !== undefined)
      return enterRest({ wait, first: holding, rest: holdings.slice(index + 1) }, { held, release, control });
    held.push(holding);
  }
  return release;
}

async function enterRest(
  queue: { readonly wait: Promise<void>; readonly first: Holding; readonly rest: readonly Holding[] },
  state: { readonly held: Holding[]; readonly release: () => void; readonly control: Signalled },
): Promise<() => void> {
  try {
    await queue.wait;
    state.held.push(queue.first);
    for (const holding of queue.rest) {
      await holding.enter(state.control);
      state.held.push(holding);
    }
    return state.release;
  } catch (cause) {
    state.release();
    throw cause;
  }
}
