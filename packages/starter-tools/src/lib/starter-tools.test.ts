import { link, mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type CallResult, ToolRegistry, createMemoryStore } from "@openfunctions/core";
import { createGuardedFetch } from "@openfunctions/core/http";
import { describeTool } from "@openfunctions/core/testing";
import { createPageReader } from "./read-page.ts";
import { createStarterTools } from "./starter-tools.ts";

async function registry(): Promise<ToolRegistry> {
  const tools = new ToolRegistry();
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-search-"));
  tools.registerAll(createStarterTools({ tasks: createMemoryStore(), notes: createMemoryStore(), folder }));
  return tools;
}

const names = (await registry()).listNames();
for (const name of names) {
  describeTool(
    name,
    async () => {
      const tool = (await registry()).get(name);
      if (tool === undefined) throw new Error(`no ${name}`);
      return tool;
    },
    { describe, it },
  );
}

const data = (result: CallResult): unknown => (result.success ? result.data : result.error);

describe("the starter tools", () => {
  it("refer only to tools that exist", async () => {
    const tools = await registry();
    expect(() => tools.freeze()).not.toThrow();
  });

  it("remove a task once, and say so to whoever comes second", async () => {
    const tools = await registry();
    await tools.execute("add_task", { title: "call the bank" });
    const both = await Promise.all(["1", "bank"].map((task) => tools.execute("remove_task", { task })));
    expect(both.filter(({ success }) => success)).toHaveLength(1);
    expect(both.find(({ success }) => !success)).toMatchObject({ code: "task_not_found" });
  });

  it("search neither dot-files nor folders that begin with a dot", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openfunctions-dots-"));
    await mkdir(join(folder, ".ssh"));
    await writeFile(join(folder, ".env"), "KEY=needle");
    await writeFile(join(folder, ".ssh", "id"), "needle");
    await writeFile(join(folder, "plain.md"), "needle");
    const tools = new ToolRegistry();
    const stores = { tasks: createMemoryStore(), notes: createMemoryStore() };
    tools.registerAll(createStarterTools({ ...stores, folder }));
    expect(data(await tools.execute("search_text", { query: "needle" }))).toMatchObject({
      matches: [{ file: "plain.md" }],
    });
  });

  it("keep tasks per owner: add, list, complete by number or title, remove", async () => {
    const tools = await registry();
    const call = (name: string, args: object, owner = "ada") => tools.execute(name, args, { owner });
    await call("add_task", { title: "call the bank" });
    await call("add_task", { title: "buy milk" });
    await call("add_task", { title: "secret" }, "eve");
    expect(data(await call("list_tasks", {}))).toMatchObject({
      tasks: [{ id: "1", title: "call the bank" }, { id: "2" }],
    });
    expect(data(await call("complete_task", { task: "milk" }))).toMatchObject({ id: "2", done: true });
    expect((data(await call("list_tasks", {})) as { tasks: unknown[] }).tasks).toHaveLength(1);
    expect((data(await call("list_tasks", { all: true })) as { tasks: unknown[] }).tasks).toHaveLength(2);
    await call("remove_task", { task: "1" });
    expect(data(await call("list_tasks", {}))).toEqual({ tasks: [] });
    expect(await call("complete_task", { task: "secret" })).toMatchObject({ code: "task_not_found" });
    expect(JSON.stringify(await call("list_tasks", {}, "ada"))).not.toContain("secret");
  });

  it("50 tasks added side by side get 50 numbers", async () => {
    const tools = await registry();
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => tools.execute("add_task", { title: `task ${index}` })),
    );
    const { tasks } = data(await tools.execute("list_tasks", {})) as { tasks: { id: string }[] };
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(50);
  });

  it("find notes by their words, newest first", async () => {
    const tools = await registry();
    await tools.execute("add_note", { text: "Ada prefers green tea" });
    await tools.execute("add_note", { text: "tea is out" });
    expect(data(await tools.execute("find_notes", { query: "TEA" }))).toMatchObject({
      notes: [{ id: "2" }, { id: "1" }],
    });
    expect(data(await tools.execute("find_notes", { query: "green tea" }))).toMatchObject({
      notes: [{ id: "1" }],
    });
    expect(await tools.execute("remove_note", { id: "1" })).toMatchObject({ success: true });
    expect((data(await tools.execute("find_notes", {})) as { notes: unknown[] }).notes).toHaveLength(1);
  });

  it("security S20: the text search stays in its folder", async () => {
    const root = await mkdtemp(join(tmpdir(), "openfunctions-folder-"));
    const folder = join(root, "allowed");
    await mkdir(join(folder, "deep"), { recursive: true });
    await mkdir(join(root, "allowed-evil"));
    await writeFile(join(root, "allowed-evil", "secret.txt"), "the needle outside");
    await writeFile(join(folder, "deep", "inside.txt"), "one\nthe needle inside\n");
    await symlink(join(root, "allowed-evil"), join(folder, "folder-link"));
    await symlink(join(root, "allowed-evil", "secret.txt"), join(folder, "file-link.txt"));
    await link(join(root, "allowed-evil", "secret.txt"), join(folder, "hard-link.txt"));
    const tools = new ToolRegistry();
    tools.registerAll(createStarterTools({ tasks: createMemoryStore(), notes: createMemoryStore(), folder }));
    expect(data(await tools.execute("search_text", { query: "needle" }))).toMatchObject({
      matches: [{ file: join("deep", "inside.txt"), line: 2 }],
    });
    expect(JSON.stringify(await tools.execute("search_text", { query: "needle" }))).not.toContain("outside");
  });

  it("reads a page as text, and refuses what is no page", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/binary") return response.writeHead(200, { "content-type": "image/png" }).end("x");
      if (request.url === "/gone") return response.writeHead(404).end("gone");
      return response
        .writeHead(200, { "content-type": "text/html" })
        .end(
          "<html><head><title>A &amp; B</title></head><body><script>evil()</script><p>Hello&nbsp;<b>world</b></p><ul><li>one<li>two</ul></body></html>",
        );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const tools = new ToolRegistry();
    tools.register(createPageReader(createGuardedFetch({ allowHosts: [`127.0.0.1:${port}`] })));
    const base = `http://127.0.0.1:${port}`;
    expect(data(await tools.execute("read_page", { url: `${base}/` }))).toMatchObject({
      title: "A & B",
      text: expect.stringContaining("Hello world"),
    });
    expect(JSON.stringify(await tools.execute("read_page", { url: `${base}/` }))).not.toContain("evil");
    expect(await tools.execute("read_page", { url: `${base}/binary` })).toMatchObject({ code: "not_text" });
    expect(await tools.execute("read_page", { url: `${base}/gone` })).toMatchObject({ code: "page_error" });
    server.close();
  });

  it("security S19: the page reader reaches no private address", async () => {
    const tools = await registry();
    for (const url of [
      "http://127.0.0.1/",
      "http://2130706433/",
      "http://[::1]/",
      "http://169.254.169.254/",
      "http://localhost./",
      "http://0x7f.1/",
    ]) {
      expect(await tools.execute("read_page", { url })).toMatchObject({
        success: false,
        code: "address_refused",
      });
    }
  });
});
