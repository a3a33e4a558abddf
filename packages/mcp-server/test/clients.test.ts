/** Every client that has to work, over stdio and HTTP: it lists, calls, hears progress and cancels. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type RunningServer, startServer } from "../src/index.ts";
import { CLIENTS } from "./support/clients.ts";
import { type Fixture, fixtureTools } from "./support/fixture-tools.ts";

describe.each(["stdio", "http"] as const)("over %s", (transport) => {
  let fixture: Fixture;
  let server: RunningServer | undefined;
  beforeAll(async () => {
    fixture = fixtureTools();
    if (transport === "http") server = await startServer(fixture.registry, { transport });
  });
  afterAll(() => server?.close());

  describe.each(CLIENTS)("a client of the $name", ({ open }) => {
    it("lists all tools with their schemas, annotations and contracts", async () => {
      const client = await open(server?.url);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(
        expect.arrayContaining([...fixture.registry.listNames()]),
      );
      expect(tools.find(({ name }) => name === "add")).toMatchObject({
        title: "Add",
        inputSchema: { required: ["a", "b"] },
        outputSchema: { required: ["sum"] },
        annotations: { readOnlyHint: true },
        _meta: { "openfunctions/contract": { effects: { kind: "read" } } },
      });
      await client.close();
    });

    it("calls them: text, structured content, errors and unknown names", async () => {
      const client = await open(server?.url);
      await client.listTools();
      expect((await client.callTool({ name: "echo", arguments: { text: "北" } })).content).toEqual([
        { type: "text", text: "北" },
      ]);
      expect((await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).structuredContent).toEqual({
        sum: 3,
      });
      expect((await client.callTool({ name: "list_trees" })).structuredContent).toMatchObject({
        result: [{ name: "oak" }],
      });
      expect(await client.callTool({ name: "fail" })).toMatchObject({ isError: true });
      expect(await client.callTool({ name: "fail_typed" })).toMatchObject({ isError: true });
      await expect(client.callTool({ name: "nobody" })).rejects.toMatchObject({ code: -32602 });
      await client.close();
    });

    it("hears progress", async () => {
      const client = await open(server?.url);
      const heard: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => void heard.push(progress);
      const call = { name: "count", arguments: { to: 60 } };
      const result = await client.callTool(call, { onprogress });
      expect(result.content).toEqual([{ type: "text", text: "60" }]);
      expect(heard.length).toBeGreaterThan(1);
      // The clients themselves may drop the last one, where they read it together with the answer.
      expect(heard).toEqual(heard.toSorted((one, two) => one - two));
      await client.close();
    });

    it("cancels a call and goes on", async () => {
      const client = await open(server?.url);
      const stop = new AbortController();
      const call = { name: "wait", arguments: { ms: 20_000 } };
      const waiting = client.callTool(call, { signal: stop.signal });
      setTimeout(() => stop.abort(new Error("enough")), 100);
      await expect(waiting).rejects.toThrow(/enough/);
      if (server !== undefined) await expect.poll(() => fixture.waits.running).toBe(0);
      expect((await client.callTool({ name: "echo", arguments: { text: "on" } })).content).toEqual([
        { type: "text", text: "on" },
      ]);
      await client.close();
    });
  });
});
