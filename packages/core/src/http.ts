/** HTTP safety and streaming for everything that serves or fetches: guarded fetch, Host and Origin, server-sent events. */

export {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedRequest,
  type GuardedResponse,
  type Resolver,
} from "./lib/guarded-fetch.ts";
export {
  checkHostAndOrigin,
  type HostOriginOptions,
  type HostOriginVerdict,
  isLoopbackPeer,
} from "./lib/host-origin.ts";
export { isLoopbackAddress } from "./lib/ip-address.ts";
export {
  openSseStream,
  SSE_HEADERS,
  type SseMessage,
  type SseStream,
  type SseStreamOptions,
} from "./lib/sse-writer.ts";
