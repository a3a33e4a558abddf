/** Artifacts: results too large for a model to read at once, kept for paging. */

import { type Digest, sha256 } from "./digest.ts";
import { err, ok } from "./result.ts";
import { type Tool, defineTool } from "./tool.ts";

/** What an artifact belongs to. */
export interface ArtifactInfo {
  readonly runId?: string;
  readonly owner: string;
  readonly mediaType: string;
}

/** Keeps large results by owner. Another owner's artifact is reported exactly like a missing one. */
export interface ArtifactStore {
  put(
    content: Uint8Array | string,
    about: ArtifactInfo,
  ): Promise<{ readonly id: string; readonly digest: Digest; readonly bytes: number }>;
  /** Bytes from `start` (default 0), `length` of them (default all); undefined for an unknown id. */
  read(
    id: string,
    options: { readonly owner: string; readonly start?: number; readonly length?: number },
  ): Promise<Uint8Array | undefined>;
  delete(id: string, options: { readonly owner: string }): Promise<boolean>;
}

/** An artifact store in memory. */
export function createMemoryArtifactStore(): ArtifactStore {
  const artifacts = new Map<string, { readonly content: Uint8Array; readonly owner: string }>();
  const find = (id: string, owner: string): Uint8Array | undefined => {
    const artifact = artifacts.get(id);
    return artifact?.owner === owner ? artifact.content : undefined;
  };
  return {
    put: async (content, { owner }) => {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
      const digest = sha256(bytes);
      const id = `artifact_${sha256(`${owner} ${digest}`).slice("sha256:".length, "sha256:".length + 24)}`;
      artifacts.set(id, { content: bytes, owner });
      return { id, digest, bytes: bytes.length };
    },
    read: async (id, { owner, start = 0, length }) =>
      find(id, owner)?.slice(start, length === undefined ? undefined : start + length),
    delete: async (id, { owner }) => find(id, owner) !== undefined && artifacts.delete(id),
  };
}

const PAGE_BYTES = 16_000;

/** The built-in `read_artifact` tool: pages through what was too large to inline. */
export function createReadArtifactTool(store: ArtifactStore): Tool {
  return defineTool({
    name: "read_artifact",
    description: "Reads a part of a tool result that was too long to show whole.",
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "string", description: "The artifact id named in the shortened result." },
        start: { type: "integer", minimum: 0, default: 0, description: "First byte to read." },
        length: {
          type: "integer",
          minimum: 1,
          maximum: PAGE_BYTES,
          default: PAGE_BYTES,
          description: "How many bytes.",
        },
      },
      required: ["id"],
    },
    contract: "read",
    tags: ["artifacts"],
    handler: async ({ id, start, length }, { owner }) => {
      const bytes = await store.read(id, { owner, start, length });
      if (bytes === undefined) return err(`There is no artifact "${id}".`, { code: "artifact_not_found" });
      return ok({ text: new TextDecoder().decode(bytes), start, bytes: bytes.length });
    },
  });
}
