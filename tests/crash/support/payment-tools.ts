/** Tools that charge: one hands its key on, one cannot, one can find out, and one needs a person's word. */

import { type CapabilityContract, type ToolDefinition, ToolRegistry, err, ok } from "@openfunctions/core";
import type { Boundaries } from "./boundaries.ts";

const base: CapabilityContract = {
  version: "1",
  authority: { level: "session" },
  effects: { kind: "write" },
  idempotency: { mode: "none" },
  concurrency: { parallelSafe: true },
};

/** The contracts, by tool. */
const CONTRACTS: Readonly<Record<string, CapabilityContract>> = {
  charge_keyed: { ...base, idempotency: { mode: "keyed", scope: "task" } },
  charge_once: base,
  charge_asked: base,
  transfer: { ...base, authority: { level: "human" }, effects: { kind: "destructive" } },
};

/** Where the tools send, and how long they wait for an answer. */
export interface PaymentToolOptions {
  readonly url: string;
  readonly boundaries: Boundaries;
  /** In milliseconds; what was not answered by then is unknown. */
  readonly patienceMs?: number;
}

/** All tools, in a registry without ledger: the run has one. */
export function createPaymentTools({
  url,
  boundaries,
  patienceMs = 20_000,
}: PaymentToolOptions): ToolRegistry {
  const tools = new ToolRegistry();
  for (const [name, contract] of Object.entries(CONTRACTS)) {
    tools.register({
      name,
      description: "Charges an order.",
      inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
      contract,
      handler: async ({ order }, { idempotencyKey, signal: stop }) => {
        boundaries.pass(`before charge ${order}`);
        const key = idempotencyKey === undefined ? {} : { key: idempotencyKey };
        const signal = AbortSignal.any([stop, AbortSignal.timeout(patienceMs)]);
        const body = JSON.stringify({ order, ...key });
        // The headers come once the effect has happened, the body when the service likes.
        const response = await fetch(`${url}/charge`, { method: "POST", body, signal });
        boundaries.pass(`inside charge ${order}`);
        if (!response.ok) return err(`The service answered ${response.status}.`);
        const { receipt } = Object(await response.json());
        boundaries.pass(`after charge ${order}`);
        return ok({ receipt: String(receipt) });
      },
      ...(name === "charge_asked" ? { reconcile: reconcileAt(url) } : {}),
    });
  }
  return tools;
}

function reconcileAt(url: string): NonNullable<ToolDefinition["reconcile"]> {
  return async ({ args }, { signal }) => {
    const order = typeof args["order"] === "string" ? args["order"] : "";
    const response = await fetch(`${url}/charges/${order}`, { signal });
    const { receipt } = Object(await response.json());
    return receipt === undefined
      ? { outcome: "failed", error: "The service knows of no such charge." }
      : { outcome: "succeeded", result: { receipt: String(receipt) } };
  };
}
