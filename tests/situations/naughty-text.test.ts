import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ToolRegistry, createStore, loadPromptPreset, ok, runLoop } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { createStarterTools } from "@openfunctions/starter-tools";

/** Strings that have broken programs: a few of our own, and the public list where it lies beside the project. */
const OWN = [
  "",
  "undefined",
  "null",
  "__proto__",
  "constructor.prototype",
  "a' OR 1=1--",
  '{"lc":1,"type":"constructor","id":["os","system"]}',
  "$.store.book[*]",
  "../../.env",
  "\r\nSet-Cookie: x=1",
  "\u001b[2J\u001b[31mred",
  "\u2028\u2029",
  "\ufeffbom",
  "\u202Ertl",
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "<script>alert(1)</script>",
  "${7*7} {{7*7}} %s %n",
  "x".repeat(5_000),
];
const PUBLIC = join(
  import.meta.dirname,
  "..",
  "..",
  "..",
  "shared",
  "fixtures",
  "security",
  "blns",
  "blns.json",
);
const NAUGHTY: readonly string[] = existsSync(PUBLIC)
  ? [...OWN, ...JSON.parse(readFileSync(PUBLIC, "utf8"))]
  : OWN;

it("security S35, security S31: naughty strings go through arguments, notes, keys and messages unchanged, or are refused with a reason", async () => {
  const dir = await mkdtemp(join(tmpdir(), "openfunctions-naughty-"));
  const [tasks, notes] = [await createStore("tasks", { dir }), await createStore("notes", { dir })];
  const tools = new ToolRegistry();
  tools.registerAll(createStarterTools({ tasks, notes }));
  const kept: string[] = [];
  for (const text of NAUGHTY) {
    const result = await tools.execute("add_note", { text });
    if (result.success) kept.push(text);
    else expect(result).toMatchObject({ code: "invalid_input", outcome: "not_started" });
    const key = await notes.set(`k/${text}`, text).then(
      () => "stored",
      (error: unknown) => error,
    );
    if (key === "stored") expect(await notes.get(`k/${text}`)).toBe(text);
    else expect(key).toMatchObject({ code: "invalid_argument" });
  }
  const found = await tools.execute("find_notes", { limit: 100 });
  expect(found).toMatchObject({ success: true });
  const newest = kept.slice(-100).toReversed();
  expect(found.success ? Object(found.data).notes.map(({ text }: { text: string }) => text) : []).toEqual(
    newest,
  );
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

it("security S31: text that looks like a serialized object, a path or a template is only text", async () => {
  for (const name of ["../../.env", "__proto__", "constructor"]) {
    expect(() => loadPromptPreset(name)).toThrow(expect.objectContaining({ code: "bad_prompt" }));
  }
  const seen: unknown[] = [];
  const tools = new ToolRegistry();
  tools.register({
    name: "echo",
    description: "says it again",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    contract: "read",
    handler: (params) => {
      seen.push(Object(params).text);
      return ok(Object(params).text);
    },
  });
  const texts = OWN.filter((text) => text !== "");
  const adapter = scriptedAdapter([
    { toolCalls: texts.map((text, index) => ({ name: "echo", args: { text }, callId: `c${index}` })) },
    { text: "done" },
  ]);
  const result = await runLoop({
    adapter,
    tools,
    messages: [{ role: "user", content: texts.join("\n") }],
    capture: "full",
  }).result;
  expect(result.status).toBe("completed");
  expect(seen).toEqual(texts);
  expect(result.record.toolCalls.map(({ args }) => Object(args.value).text)).toEqual(texts);
});
