/** Slows down whoever guesses tokens: twenty wrong ones a minute from one address. */

const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Counts per address; an unknown address (no socket at hand) is not limited. Forwarding headers are nobody's address. */
export class FailureLimiter {
  readonly #failures = new Map<string, { count: number; readonly endsAtMs: number }>();

  /** Seconds until this address may try again; 0 for now. */
  blockedFor(address: string | undefined): number {
    const known = address === undefined ? undefined : this.#failures.get(plain(address));
    if (known === undefined || known.count < MAX_FAILURES) return 0;
    return Math.max(0, Math.ceil((known.endsAtMs - Date.now()) / 1000));
  }

  /** Counts one wrong token. The oldest address is forgotten where there are too many. */
  note(address: string | undefined): void {
    if (address === undefined) return;
    const key = plain(address);
    const known = this.#failures.get(key);
    if (known !== undefined && known.endsAtMs > Date.now()) {
      known.count += 1;
      return;
    }
    this.#failures.delete(key);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(key, { count: 1, endsAtMs: Date.now() + WINDOW_MS });
  }
}

/** One address, one spelling: an IPv4 peer of a dual-stack socket is written as IPv4-mapped. */
function plain(address: string): string {
  return address.toLowerCase().replace(/^::ffff:/, "");
}
