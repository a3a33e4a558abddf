/** Facts: kept once, superseded and never overwritten, taken back one step, found by words or meaning. */

import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore, createStore } from "@openfunctions/core";
import type { Embedder } from "@openfunctions/core/search";
import { fakeClock } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { createFactMemory, type Recollection } from "./fact-memory.ts";

const DAY = 86_400_000;
const contents = ({ facts }: Recollection): readonly string[] => facts.map(({ content }) => content);

describe("fact memory", () => {
  it("keeps a fact once, whatever its case and space", async () => {
    const facts = createFactMemory({ store: createMemoryStore() });
    const first = await facts.remember("ada", {
      content: "User likes tea",
      tags: ["drink"],
      source: "chat",
      runId: "r1",
    });
    const again = await facts.remember("ada", { content: "  user   LIKES tea " });
    expect([first.created, again.created, again.fact.id]).toEqual([true, false, first.fact.id]);
    expect(again.fact).toMatchObject({
      content: "User likes tea",
      source: "chat",
      runId: "r1",
      tags: ["drink"],
    });
  });

  it("recalls by any of the words, says by what it went, and lists the newest for no words", async () => {
    const clock = fakeClock();
    const facts = createFactMemory({ store: createMemoryStore(), clock });
    for (const content of ["User likes tea", "User has a dog", "The door code is 4711"]) {
      await facts.remember("ada", { content });
      clock.advance(1_000);
    }
    const found = await facts.recall("ada", "likes green tea");
    expect(contents(found)).toEqual(["User likes tea"]);
    expect(found).toMatchObject({ mode: "keyword", reason: "no embedder configured" });
    const newest = await facts.recall("ada", " ", { limit: 2 });
    expect([newest.mode, contents(newest)]).toEqual(["newest", ["The door code is 4711", "User has a dog"]]);
  });

  it("prefers the newer of two that fit as well, and keeps scores between 0 and 1", async () => {
    const clock = fakeClock();
    const facts = createFactMemory({ store: createMemoryStore(), clock });
    await facts.remember("ada", { content: "tea in the morning" });
    clock.advance(200 * DAY);
    await facts.remember("ada", { content: "tea in the evening" });
    const found = await facts.recall("ada", "tea");
    expect(contents(found)[0]).toBe("tea in the evening");
    for (const { score } of found.facts) expect(score).toSatisfy((value: number) => value > 0 && value <= 1);
  });

  it("supersedes instead of overwriting, and takes the correction back", async () => {
    const facts = createFactMemory({ store: createMemoryStore() });
    const { fact } = await facts.remember("ada", { content: "Ada lives in Bern", tags: ["place"] });
    const corrected = await facts.correct("ada", fact.id, "Ada lives in Oslo");
    expect(corrected).toMatchObject({ supersedes: fact.id, tags: ["place"] });
    expect(contents(await facts.recall("ada", "where does Ada live"))).toEqual(["Ada lives in Oslo"]);
    expect(await facts.undo("ada")).toBe(true);
    expect(contents(await facts.recall("ada", "Ada lives"))).toEqual(["Ada lives in Bern"]);
    expect(await facts.undo("ada")).toBe(false);
    expect(await facts.correct("ada", "fact_0", "x")).toBeUndefined();
  });

  it("forgets with a tombstone that has no words, one step back until the next change", async () => {
    const store = createMemoryStore();
    const facts = createFactMemory({ store });
    const { fact } = await facts.remember("ada", { content: "the secret garden" });
    expect(await facts.forget("ada", fact.id, "bob")).toBe(true);
    expect(await facts.forget("ada", fact.id)).toBe(false);
    expect(contents(await facts.recall("ada", "garden"))).toEqual([]);
    await facts.undo("ada");
    expect(contents(await facts.recall("ada", "garden"))).toEqual(["the secret garden"]);
    await facts.forget("ada", fact.id, "bob");
    await facts.remember("ada", { content: "something else" });
    const all: unknown[] = [];
    for await (const entry of store.entries()) all.push(entry);
    expect(JSON.stringify(all)).not.toContain("garden");
    expect(JSON.stringify(all)).toContain('"by":"bob"');
    // The words may come back as a fact of their own.
    expect((await facts.remember("ada", { content: "the secret garden" })).created).toBe(true);
  });

  it("recalls nothing past its time, and only what has all the tags", async () => {
    const clock = fakeClock();
    const facts = createFactMemory({ store: createMemoryStore(), clock });
    const validUntil = new Date(clock.now() + DAY).toISOString();
    await facts.remember("ada", { content: "tea is on sale", tags: ["shop", "tea"], validUntil });
    await facts.remember("ada", { content: "tea is hot", tags: ["tea"] });
    expect(contents(await facts.recall("ada", "tea", { tags: ["tea", "shop"] }))).toEqual(["tea is on sale"]);
    clock.advance(2 * DAY);
    expect(contents(await facts.recall("ada", "tea"))).toEqual(["tea is hot"]);
  });

  it("keeps whose text a fact was taken from", async () => {
    const facts = createFactMemory({ store: createMemoryStore() });
    await facts.remember("ada", { content: "Call 555 to confirm", origin: "remote:mail" });
    expect((await facts.recall("ada", "confirm")).facts[0]?.origin).toBe("remote:mail");
  });

  it("finds by meaning with an embedder, and by words alone among facts of another model", async () => {
    const meaning = (text: string): readonly number[] => (/cat|feline/.test(text) ? [1, 0] : [0, 1]);
    const embedder: Embedder = {
      model: "m1",
      dimensions: 2,
      maxInputTokens: 100,
      semantic: true,
      embed: async (texts) => texts.map(meaning),
    };
    const store = createMemoryStore();
    const facts = createFactMemory({ store, embedder });
    await facts.remember("ada", { content: "A feline sleeps here" });
    await facts.remember("ada", { content: "The bus is late" });
    const found = await facts.recall("ada", "cat");
    expect([found.mode, contents(found)[0]]).toEqual(["hybrid", "A feline sleeps here"]);
    const other = createFactMemory({ store, embedder: { ...embedder, model: "m2" } });
    expect(contents(await other.recall("ada", "cat"))).toEqual([]);
    expect(contents(await other.recall("ada", "bus"))).toEqual(["The bus is late"]);
  });

  it("writes nothing where the embedder fails", async () => {
    const store = createMemoryStore();
    const embedder = {
      model: "m",
      dimensions: 2,
      maxInputTokens: 9,
      semantic: true,
      embed: async () => [[1]],
    };
    await expect(
      createFactMemory({ store, embedder }).remember("ada", { content: "x" }),
    ).rejects.toMatchObject({
      code: "embedding_failed",
    });
    expect(await store.size()).toBe(0);
  });

  it("field E7: fifty that are remembered side by side, by two programs, are all kept", async () => {
    const dir = await mkdtemp(join(tmpdir(), "openfunctions-facts-"));
    const [one, two] = await Promise.all([createStore("facts", { dir }), createStore("facts", { dir })]);
    const memories = [one, two].map((store) => createFactMemory({ store }));
    const wanted = Array.from({ length: 50 }, (_, index) => `Fact number ${index}`);
    await Promise.all(wanted.map((content, index) => memories[index % 2]?.remember("ada", { content })));
    const again = createFactMemory({ store: await createStore("facts", { dir }) });
    expect(contents(await again.recall("ada", "", { limit: 50 })).toSorted()).toEqual(wanted.toSorted());
    const file = join(dir, "stores", "facts.json");
    const cut = (await readFile(file, "utf8")).slice(0, -100);
    await writeFile(file, cut);
    const broken = createFactMemory({ store: await createStore("facts", { dir }) });
    for (const call of [broken.recall("ada", "fact"), broken.remember("ada", { content: "One more" })])
      await expect(call).rejects.toMatchObject({ code: "store_corrupt" });
    expect(await readFile(file, "utf8")).toBe(cut);
  });

  it("field E5: shows no owner a fact of another, by no id and no query", async () => {
    const facts = createFactMemory({ store: createMemoryStore() });
    const { fact } = await facts.remember("ada", { content: "tea at five" });
    expect(contents(await facts.recall("bob", "tea"))).toEqual([]);
    expect(await facts.get("bob", fact.id)).toBeUndefined();
    expect(await facts.forget("bob", fact.id)).toBe(false);
    expect(await facts.undo("bob")).toBe(false);
    expect(await facts.get("ada", fact.id)).toMatchObject({ owner: "ada" });
    await expect(facts.recall("", "tea")).rejects.toMatchObject({ code: "bad_id" });
    for (const id of ["../x", `fact_${"0".repeat(31)}/`, ""])
      expect(await facts.get("ada", id)).toBeUndefined();
  });

  it.each([
    ["", "empty_document"],
    ["  \n ", "empty_document"],
    ["x".repeat(2_001), "too_large"],
  ])("refuses %j", async (content, code) => {
    const facts = createFactMemory({ store: createMemoryStore() });
    await expect(facts.remember("ada", { content })).rejects.toMatchObject({ code });
  });
});
