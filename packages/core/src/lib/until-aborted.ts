/** A wait that an abort ends. */

/** The value, or undefined as soon as the signal is aborted; then nobody waits for the value any more. */
export function untilAborted<T>(value: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return value;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    value.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
