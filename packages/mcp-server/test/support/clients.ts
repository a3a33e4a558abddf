/** Real clients of both SDK lines, in both eras, over every transport that the server has. */
import { fileURLToPath } from "node:url";

import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstLineClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstLineStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as FirstLineHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import type { McpServerHandle } from "../../src/index.ts";

/** The revision of the modern era. */
export const MODERN = "2026-07-28";
const INFO = { name: "test-client", version: "1.0.0" };

/** What the tests use of a client; both lines have it. */
export interface AnyClient {
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }, options?: unknown): Promise<Called>;
  close(): Promise<void>;
}

/** A tool as clients list it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The result of a call as clients have it. */
export interface Called {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A second-line client. */
export function newClient(era: "older" | "modern"): Client {
  return new Client(INFO, { versionNegotiation: { mode: era === "modern" ? { pin: MODERN } : "legacy" } });
}

/** A client joined to a server in this process. */
export async function connectInMemory(
  server: McpServerHandle,
  era: "older" | "modern" = "older",
): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  server.connect(ours);
  const client = newClient(era);
  await client.connect(theirs);
  return client;
}

const PROGRAM = fileURLToPath(new URL("stdio-program.ts", import.meta.url));

/** How to start the fixture tools as a child process. */
export function stdioCommand(): { command: string; args: string[]; stderr: "ignore" } {
  return { command: process.execPath, args: [PROGRAM], stderr: "ignore" };
}

/** Every kind of client that has to work: `open` connects it over stdio to a child, or over HTTP to `url`. */
export const CLIENTS: readonly {
  readonly name: string;
  open(url: string | undefined): Promise<AnyClient>;
}[] = [
  ...(["older", "modern"] as const).map((era) => ({
    name: `second line, ${era} era`,
    open: async (url: string | undefined): Promise<AnyClient> => {
      const client = newClient(era);
      await client.connect(
        url === undefined
          ? new StdioClientTransport(stdioCommand())
          : new StreamableHTTPClientTransport(new URL(url)),
      );
      return asAny(client);
    },
  })),
  {
    name: "first line",
    open: async (url) => {
      const client = new FirstLineClient(INFO);
      const transport =
        url === undefined ? new FirstLineStdio(stdioCommand()) : new FirstLineHttp(new URL(url));
      await client.connect(transport as never); // Proof: its types are written without exactOptionalPropertyTypes
      const any = asAny(client);
      // It takes a result schema before its options.
      return {
        listTools: () => any.listTools(),
        callTool: (call, options) => Reflect.apply(client.callTool, client, [call, undefined, options]),
        close: () => client.close(),
      };
    },
  },
];

function asAny(client: Client | FirstLineClient): AnyClient {
  return client as unknown as AnyClient; // Proof: both lines have these three methods
}
