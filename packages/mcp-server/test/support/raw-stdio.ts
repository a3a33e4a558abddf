/** A stdio peer that keeps every line it gets, for tests that look at frames. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { MODERN, stdioCommand } from "./clients.ts";

/** A JSON-RPC message as it came. */
export interface Frame {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What a modern client sends with every request. */
export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The child and its lines. */
export class RawStdio {
  /** Every line of stdout, as text. */
  readonly lines: string[] = [];
  stderr = "";
  readonly child: ChildProcessWithoutNullStreams;
  /** The exit code, once the process has ended. */
  readonly exited: Promise<unknown>;
  readonly #waiting = new Set<{
    readonly matches: (frame: Frame) => boolean;
    readonly resolve: (frame: Frame) => void;
  }>();
  #id = 0;

  constructor() {
    const { command, args } = stdioCommand();
    this.child = spawn(command, args);
    this.exited = once(this.child, "exit").then(([code]: unknown[]) => code);
    this.child.stdin.on("error", () => {});
    this.child.stderr.on("data", (text: Buffer) => {
      this.stderr += text.toString();
    });
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      this.lines.push(line);
      const frame = readFrame(line);
      for (const one of this.#waiting) if (frame !== undefined && one.matches(frame)) one.resolve(frame);
    });
  }

  /** Writes text as it is. */
  write(text: string | Uint8Array): void {
    this.child.stdin.write(text);
  }

  /** Writes one message. */
  send(message: object): void {
    this.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** The next frame that matches. */
  next(matches: (frame: Frame) => boolean): Promise<Frame> {
    return new Promise((resolve) => {
      const one = {
        matches,
        resolve: (frame: Frame) => {
          this.#waiting.delete(one);
          resolve(frame);
        },
      };
      this.#waiting.add(one);
    });
  }

  /** Sends a request and waits for its answer. */
  ask(method: string, params: object = {}): Promise<Frame> {
    this.#id += 1;
    const id = this.#id;
    const answer = this.next((frame) => frame.id === id);
    this.send({ id, method, params });
    return answer;
  }

  /** The older era's handshake. */
  async greet(): Promise<void> {
    await this.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    this.send({ method: "notifications/initialized" });
  }

  /** Every line as a message; throws where one is none. */
  frames(): readonly Frame[] {
    return this.lines.map((line) => {
      const frame: Frame = JSON.parse(line);
      if (frame.jsonrpc !== "2.0") throw new Error(`not a JSON-RPC message: ${line}`);
      return frame;
    });
  }

  /** Ends stdin and waits for the process; gives its exit code. */
  end(): Promise<unknown> {
    this.child.stdin.end();
    return this.exited;
  }
}

function readFrame(line: string): Frame | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // `frames` says so
  }
}
