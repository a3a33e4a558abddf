/** The contract suite of `Store`: every implementation runs it. */

import assert from "node:assert/strict";
import { OpenFunctionsError } from "../errors.ts";
import type { Store } from "../store.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** What the suite needs: a store that is empty, and where state lasts, the same store opened again. */
export interface StoreFixture {
  readonly store: Store;
  /** Opens the same place a second time; left out where nothing lasts. */
  readonly reopen?: () => Promise<Store>;
}

/** Runs the contract of `Store` against what `make` gives; `make` is called once per test. */
export function describeStore(
  name: string,
  make: () => Promise<StoreFixture>,
  { describe, it }: SuiteRunner,
): void {
  const test = (title: string, body: (fixture: StoreFixture) => Promise<void>): unknown =>
    it(title, async () => {
      const fixture = await make();
      try {
        await body(fixture);
      } finally {
        await fixture.store.close();
      }
    });
  describe(`Store contract: ${name}`, () => {
    describeValues(test);
    describeKeys(test);
    describeUpdates(test);
    describeLife(test);
  });
}

type Test = (title: string, body: (fixture: StoreFixture) => Promise<void>) => unknown;

function describeValues(test: Test): void {
  test("gives undefined for a missing key, and false for deleting it", async ({ store }) => {
    assert.equal(await store.get("missing"), undefined);
    assert.equal(await store.has("missing"), false);
    assert.equal(await store.delete("missing"), false);
    assert.equal(await store.size(), 0);
  });
  test("gives back what was set, as a copy", async ({ store }) => {
    const value = { list: [1, { deep: "x" }], text: "å北😀", none: null };
    await store.set("k", value);
    value.list.push(2);
    const got = await store.get("k");
    assert.deepEqual(got, { list: [1, { deep: "x" }], text: "å北😀", none: null });
    Object.assign(Object(got), { text: "changed" });
    assert.deepEqual(await store.get("k"), { list: [1, { deep: "x" }], text: "å北😀", none: null });
  });
  test("keeps each kind of JSON value apart", async ({ store }) => {
    for (const [key, value] of [
      ["null", null],
      ["false", false],
      ["zero", 0],
      ["empty", ""],
      ["list", []],
    ] as const) {
      await store.set(key, value);
      assert.deepEqual(await store.get(key), value);
      assert.equal(await store.has(key), true);
    }
    assert.equal(await store.size(), 5);
  });
  test("refuses what is not JSON, and keeps the old value", async ({ store }) => {
    await store.set("k", 1);
    for (const bad of [Number.NaN, undefined, () => 1, 1n, new Map()]) {
      await assert.rejects(
        async () => store.set("k", bad as never), // Proof: wrong on purpose
        (error) => OpenFunctionsError.is(error) && error.code === "invalid_argument",
      );
    }
    assert.equal(await store.get("k"), 1);
  });
}

function describeKeys(test: Test): void {
  test("refuses empty, long and control-character keys", async ({ store }) => {
    for (const key of ["", "x".repeat(513), "a\nb", "a\u0000"]) {
      await assert.rejects(
        async () => store.set(key, 1),
        (error) => OpenFunctionsError.is(error) && error.code === "invalid_argument",
      );
    }
  });
  test("security S32: takes keys named like object members", async ({ store }) => {
    for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      assert.equal(await store.get(key), undefined);
      await store.set(key, { polluted: true });
      assert.deepEqual(await store.get(key), { polluted: true });
    }
    assert.equal(Reflect.get({}, "polluted"), undefined);
    assert.equal(await store.size(), 4);
  });
  test("lists by code unit, by prefix and in pages that survive writes", async ({ store }) => {
    for (const key of ["b", "a/2", "a/10", "Z", "a/1", "ä"]) await store.set(key, key);
    const all = (await store.list()).entries.map(([key]) => key);
    assert.deepEqual(all, ["Z", "a/1", "a/10", "a/2", "b", "ä"]);
    const first = await store.list({ prefix: "a/", limit: 2 });
    assert.deepEqual(first.entries, [
      ["a/1", "a/1"],
      ["a/10", "a/10"],
    ]);
    await store.delete("a/10");
    await store.set("a/0", "new");
    const second = await store.list({
      prefix: "a/",
      limit: 2,
      ...(first.cursor === undefined ? {} : { cursor: first.cursor }),
    });
    assert.deepEqual(second.entries, [["a/2", "a/2"]]);
    assert.equal(second.cursor, undefined);
    const seen: string[] = [];
    for await (const [key] of store.entries()) seen.push(key);
    assert.deepEqual(seen, ["Z", "a/0", "a/1", "a/2", "b", "ä"]);
  });
}

function describeUpdates(test: Test): void {
  test("update sets, keeps and deletes, and returns the value afterwards", async ({ store }) => {
    assert.equal(await store.update("n", (value) => ({ set: Number(value ?? 0) + 1 })), 1);
    assert.equal(await store.update("n", () => ({ keep: true })), 1);
    assert.equal(await store.update("n", () => ({ delete: true })), undefined);
    assert.equal(await store.has("n"), false);
  });
  test("field E7: 50 updates side by side lose nothing", async ({ store }) => {
    await Promise.all(
      Array.from({ length: 50 }, () => store.update("n", (value) => ({ set: Number(value ?? 0) + 1 }))),
    );
    assert.equal(await store.get("n"), 50);
  });
  test("an update whose change throws changes nothing", async ({ store }) => {
    await store.set("n", 1);
    await assert.rejects(
      async () =>
        store.update("n", () => {
          throw new Error("no");
        }),
      /no/,
    );
    assert.equal(await store.get("n"), 1);
    assert.equal(await store.update("n", (value) => ({ set: Number(value) + 1 })), 2);
  });
  test("clear empties the store", async ({ store }) => {
    await store.set("a", 1);
    await store.set("b", 2);
    await store.clear();
    assert.equal(await store.size(), 0);
  });
}

function describeLife(test: Test): void {
  test("every call after close is store_closed, and close is idempotent", async ({ store }) => {
    await store.set("a", 1);
    await store.close();
    await store.close();
    for (const call of [
      () => store.get("a"),
      () => store.set("a", 2),
      () => store.list(),
      () => store.update("a", () => ({ keep: true })),
    ]) {
      await assert.rejects(
        async () => call(),
        (error) => OpenFunctionsError.is(error) && error.code === "store_closed",
      );
    }
  });
  test("keeps its state for the next one who opens it, where it is durable", async ({ store, reopen }) => {
    assert.equal(
      reopen === undefined,
      store.durability === "memory",
      "a store with durability gives a way to reopen it",
    );
    if (reopen === undefined) return;
    await store.set("a", { kept: true });
    const second = await reopen();
    assert.deepEqual(await second.get("a"), { kept: true });
    await second.set("a", 2);
    assert.equal(await store.get("a"), 2);
    await second.close();
  });
}
