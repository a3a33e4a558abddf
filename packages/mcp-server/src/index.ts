export type { McpChannel } from "./lib/channel.ts";
export type { HttpPeer } from "./lib/http-endpoint.ts";
export { type McpServerHandle, createMcpServer } from "./lib/mcp-server.ts";
export type {
  McpHttpOptions,
  McpRequestInfo,
  McpServerOptions,
  TokenOwner,
  TokenVerifier,
} from "./lib/options.ts";
export { type RunningServer, startServer } from "./lib/start-server.ts";
