/** Notes in a store: add, find, remove. Each owner sees only their own. */

import { type Json, type Store, type Tool, defineTool, err, ok } from "@openfunctions/core";
import { nextNumber, ownerPrefix, readAll } from "./owned-items.ts";

/** One note as it is stored. */
type Note = { readonly id: string; readonly text: string; readonly createdAt: string };

const WRITE = {
  version: "1",
  authority: { level: "session" },
  effects: {
    kind: "write",
    openWorld: false,
    domains: ["notes"],
    undo: "compensable",
    compensateWith: "remove_note",
  },
  idempotency: { mode: "none" },
} as const;

/** Makes `add_note`, `find_notes` and `remove_note` over a store. */
export function createNoteTools(store: Store): readonly Tool[] {
  return [addNote(store), findNotes(store), removeNote(store)];
}

function addNote(store: Store): Tool {
  return defineTool({
    name: "add_note",
    description: "Writes a note down.",
    inputSchema: {
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, maxLength: 20_000, description: "What to write down." },
      },
      required: ["text"],
    },
    contract: WRITE,
    tags: ["notes"],
    examples: [
      {
        description: "add a note: the door code is on the fridge",
        input: { text: "the door code is on the fridge" },
      },
      { description: "note that Ada prefers tea", input: { text: "Ada prefers tea" } },
      {
        description: "write down the idea of a shared garden",
        input: { text: "the idea of a shared garden" },
      },
    ],
    tests: [
      {
        description: "stores a note",
        input: { text: "Ada prefers tea" },
        expect: { data: { text: "Ada prefers tea" } },
      },
      { description: "wants a text", input: {}, expect: { success: false, error: "text" } },
    ],
    handler: async ({ text }, { owner, ports }) => {
      const id = String(await nextNumber(store, owner, "note"));
      const note: Note = { id, text, createdAt: new Date(ports.clock.now()).toISOString() };
      await store.set(keyOf(owner, id), note);
      return ok(note, `Noted (${id}).`);
    },
  });
}

function findNotes(store: Store): Tool {
  return defineTool({
    name: "find_notes",
    description: "Finds notes that hold some words, or shows the newest.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words to look for. Left out: the newest notes." },
        limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many at most." },
      },
    },
    contract: {
      version: "1",
      authority: { level: "none" },
      effects: { kind: "read", openWorld: false, domains: ["notes"] },
      idempotency: { mode: "natural" },
    },
    tags: ["notes"],
    examples: [
      { description: "show my notes", input: {} },
      { description: "find notes about tea", input: { query: "tea" } },
      { description: "what did I note about the garden", input: { query: "the garden" } },
    ],
    tests: [
      {
        description: "finds nothing for words that no note holds",
        input: { query: "qqzzyyxx" },
        expect: { data: { notes: [] } },
      },
    ],
    handler: async ({ query = "", limit }, { owner }) => {
      const words = query
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
      const all = (await readAll(store, owner, "note")).map(({ value }) => value as Json & Note); // Proof: only notes are stored under this prefix
      const notes = all
        .filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)))
        .reverse()
        .slice(0, limit);
      const lines = notes.map(({ id, text }) => `- ${id}. ${text}`);
      return ok({ notes }, notes.length === 0 ? "There are no such notes." : `Notes:\n${lines.join("\n")}`);
    },
  });
}

function removeNote(store: Store): Tool {
  return defineTool({
    name: "remove_note",
    description: "Removes a note by its number.",
    inputSchema: {
      type: "object",
      properties: { id: { type: "string", pattern: "^\\d{1,8}$", description: "The note's number." } },
      required: ["id"],
    },
    contract: {
      ...WRITE,
      effects: { kind: "write", openWorld: false, domains: ["notes"], undo: "impossible" },
    },
    tags: ["notes"],
    examples: [{ description: "remove note 3", input: { id: "3" } }],
    tests: [
      {
        description: "says when there is no such note",
        input: { id: "99999999" },
        expect: { success: false, error: "99999999" },
      },
    ],
    handler: async ({ id }, { owner }) => {
      const removed = await store.delete(keyOf(owner, id));
      return removed
        ? ok({ id }, `Removed note ${id}.`)
        : err(`There is no note ${id}.`, { code: "note_not_found" });
    },
  });
}

function keyOf(owner: string, id: string): string {
  return `${ownerPrefix(owner, "note")}${id.padStart(8, "0")}`;
}
