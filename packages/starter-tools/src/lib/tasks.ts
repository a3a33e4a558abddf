/** Tasks in a store: add, list, complete, remove. Each owner sees only their own. */

import {
  type FailureResult,
  type Json,
  type Store,
  type Tool,
  defineTool,
  err,
  ok,
} from "@openfunctions/core";
import { nextNumber, ownerPrefix, readAll } from "./owned-items.ts";

/** One task as it is stored. */
type Task = {
  readonly id: string;
  readonly title: string;
  readonly done: boolean;
  readonly createdAt: string;
  readonly due?: string;
};

const READ = {
  version: "1",
  authority: { level: "none" },
  effects: { kind: "read", openWorld: false, domains: ["tasks"] },
  idempotency: { mode: "natural" },
} as const;

function write(undo: "reversible" | "compensable" | "impossible", mode: "natural" | "none") {
  return {
    version: "1",
    authority: { level: "session" },
    effects: { kind: "write", openWorld: false, domains: ["tasks"], undo },
    idempotency: { mode },
  } as const;
}

/** Makes `add_task`, `list_tasks`, `complete_task` and `remove_task` over a store. */
export function createTaskTools(store: Store): readonly Tool[] {
  return [addTask(store), listTasks(store), completeTask(store), removeTask(store)];
}

function addTask(store: Store): Tool {
  return defineTool({
    name: "add_task",
    description: "Adds a task to the list of things to do.",
    inputSchema: {
      type: "object",
      properties: {
        title: { type: "string", minLength: 1, maxLength: 500, description: "What is to be done." },
        due: { type: "string", format: "date", description: "The day it is due, YYYY-MM-DD." },
      },
      required: ["title"],
    },
    contract: {
      ...write("compensable", "none"),
      effects: { ...write("compensable", "none").effects, compensateWith: "remove_task" },
    },
    tags: ["tasks"],
    examples: [
      { description: "add a task: call the bank tomorrow", input: { title: "call the bank tomorrow" } },
      { description: "add the task buy milk", input: { title: "buy milk" } },
      { description: "remind me to water the plants", input: { title: "water the plants" } },
      { description: "new todo: renew passport", input: { title: "renew passport" } },
    ],
    tests: [
      {
        description: "stores a task",
        input: { title: "buy milk" },
        expect: { data: { title: "buy milk", done: false } },
      },
      {
        description: "keeps the due date",
        input: { title: "pay rent", due: "2026-12-01" },
        expect: { data: { due: "2026-12-01" } },
      },
      { description: "wants a title", input: { title: "" }, expect: { success: false, error: "title" } },
    ],
    handler: async ({ title, due }, { owner, ports }) => {
      const id = String(await nextNumber(store, owner, "task"));
      const task: Task = {
        id,
        title,
        done: false,
        createdAt: new Date(ports.clock.now()).toISOString(),
        ...(due === undefined ? {} : { due }),
      };
      await store.set(`${ownerPrefix(owner, "task")}${id.padStart(8, "0")}`, task);
      return ok(task, `Added task ${id}: ${title}${due === undefined ? "" : `, due ${due}`}.`);
    },
  });
}

function listTasks(store: Store): Tool {
  return defineTool({
    name: "list_tasks",
    description: "Lists the tasks that are open, or all of them.",
    inputSchema: {
      type: "object",
      properties: { all: { type: "boolean", default: false, description: "True lists finished tasks too." } },
    },
    contract: READ,
    tags: ["tasks"],
    examples: [
      { description: "what are my tasks", input: {} },
      { description: "show my tasks", input: {} },
      { description: "list all tasks", input: { all: true } },
      { description: "what do I have to do", input: {} },
    ],
    tests: [{ description: "answers with a list", input: {}, expect: { success: true } }],
    handler: async ({ all }, { owner }) => {
      const tasks = (await readTasks(store, owner)).filter((task) => all || !task.done);
      const lines = tasks.map(
        ({ id, title, done, due }) =>
          `- ${id}. ${title}${due === undefined ? "" : ` (due ${due})`}${done ? " (done)" : ""}`,
      );
      return ok({ tasks }, tasks.length === 0 ? "There are no open tasks." : `Tasks:\n${lines.join("\n")}`);
    },
  });
}

function completeTask(store: Store): Tool {
  return defineTool({
    name: "complete_task",
    description: "Marks a task as done.",
    inputSchema: {
      type: "object",
      properties: { task: { type: "string", minLength: 1, description: "The task's number, or its title." } },
      required: ["task"],
    },
    contract: { ...write("reversible", "natural"), concurrency: { conflictParam: "task" } },
    tags: ["tasks"],
    examples: [
      { description: "complete task 2", input: { task: "2" } },
      { description: "mark task 2 as done", input: { task: "2" } },
      { description: "I have done the task buy milk", input: { task: "buy milk" } },
    ],
    tests: [
      {
        description: "says when there is no such task",
        input: { task: "no such task" },
        expect: { success: false, error: "no such task" },
      },
    ],
    handler: async ({ task: wanted }, { owner }) => {
      const found = await findTask(store, owner, wanted);
      if ("error" in found) return found;
      const after = await store.update(found.key, (value) =>
        value === undefined ? { keep: true } : { set: { ...found.task, done: true } },
      );
      // Another call may have removed it since it was found.
      if (after === undefined) return goneTask(wanted);
      return ok({ ...found.task, done: true }, `Done: ${found.task.title}.`);
    },
  });
}

function removeTask(store: Store): Tool {
  return defineTool({
    name: "remove_task",
    description: "Removes a task from the list.",
    inputSchema: {
      type: "object",
      properties: { task: { type: "string", minLength: 1, description: "The task's number, or its title." } },
      required: ["task"],
    },
    contract: { ...write("impossible", "none"), concurrency: { conflictParam: "task" } },
    tags: ["tasks"],
    examples: [
      { description: "remove task 2", input: { task: "2" } },
      { description: "delete the task buy milk", input: { task: "buy milk" } },
    ],
    tests: [
      {
        description: "says when there is no such task",
        input: { task: "no such task" },
        expect: { success: false, error: "no such task" },
      },
    ],
    handler: async ({ task: wanted }, { owner }) => {
      const found = await findTask(store, owner, wanted);
      if ("error" in found) return found;
      if (!(await store.delete(found.key))) return goneTask(wanted);
      return ok(found.task, `Removed: ${found.task.title}.`);
    },
  });
}

function goneTask(wanted: string): FailureResult {
  return err(`There is no task "${wanted}" any more.`, { code: "task_not_found" });
}

async function readTasks(store: Store, owner: string): Promise<readonly Task[]> {
  return (await readAll(store, owner, "task")).map(({ value }) => value as Json & Task); // Proof: only tasks are stored under this prefix
}

async function findTask(
  store: Store,
  owner: string,
  wanted: string,
): Promise<{ readonly key: string; readonly task: Task } | FailureResult> {
  const tasks = await readTasks(store, owner);
  const folded = wanted.trim().toLowerCase();
  const byTitle = tasks.filter(({ title }) => title.toLowerCase().includes(folded));
  const task = tasks.find(({ id }) => id === folded) ?? (byTitle.length === 1 ? byTitle[0] : undefined);
  if (task !== undefined) return { key: `${ownerPrefix(owner, "task")}${task.id.padStart(8, "0")}`, task };
  const several = byTitle.length > 1;
  const error = several
    ? `${byTitle.length} tasks fit "${wanted}": ${byTitle.map(({ id, title }) => `${id}. ${title}`).join("; ")}. Give the number.`
    : `There is no task "${wanted}".`;
  return err(error, { code: several ? "several_tasks" : "task_not_found" });
}
