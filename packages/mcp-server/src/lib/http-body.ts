/** Bodies in and out: read with a limit, relayed with a limit on what a slow reader leaves behind. */

import { refusal } from "./http-gate.ts";
import { toErrorMessage } from "./wire.ts";

const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Reads a JSON body; the answer that refuses where it is too large, too slow or not JSON in UTF-8. */
export async function readJson(
  request: Request,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Response | { readonly body: unknown }> {
  const tooLarge = (): Response =>
    refusal(413, `The body is larger than ${maxBytes} bytes.`, { connection: "close" });
  if (Number(request.headers.get("content-length")) > maxBytes) return tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = request.body?.getReader();
  const stop = (): void => void reader?.cancel().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    let text = "";
    let bytes = 0;
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      bytes += next.value.byteLength;
      if (bytes > maxBytes) return tooLarge();
      text += decoder.decode(next.value, { stream: true });
    }
    if (signal.aborted) return refusal(408, "The request took too long.", { connection: "close" });
    return { body: JSON.parse(text + decoder.decode()) };
  } catch {
    return Response.json(toErrorMessage(-32700, "Parse error: the body is not JSON"), { status: 400 });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Passes a stream on. A reader that leaves more than 1 MiB behind loses its stream and nobody else's. `onEnd` hears
 * once that it is over; `cut` means before its end.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  onEnd: (cut: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isOver = false;
  const end = (cut: boolean): void => {
    if (isOver) return;
    isOver = true;
    onEnd(cut);
    if (cut) reader.cancel().catch(() => {});
  };
  const pump = async (to: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if ((to.desiredSize ?? 0) <= 0) throw new Error("The reader of this stream is too slow.");
      to.enqueue(next.value);
    }
    end(false);
    if (to.desiredSize !== null) to.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start: (to) =>
        void pump(to).catch((cause: unknown) => {
          end(true);
          to.error(cause);
        }),
      cancel: () => end(true),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_BACKLOG_BYTES }),
  );
}
