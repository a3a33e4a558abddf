import { describe, expect, it } from "vitest";
import {
  TEST_KEY,
  TEST_PUBLIC_KEY,
  TEST_SIGNER,
  sampleRecord,
  sampleRun,
} from "./__fixtures__/sample-record.ts";
import { decodeRecordLine, encodeRecordLine, exportRun, readRecord } from "./record-file.ts";
import { chainStart } from "./run-event.ts";
import { makeRedaction, redactLeaf } from "./run-redact.ts";
import { createSigner, keyIdOf, sealRun, verifySeal } from "./run-seal.ts";
import { createMemoryRunStore, type RunStore } from "./run-store.ts";
import { verifyRun } from "./run-verify.ts";

const ABOUT = { by: "owner", at: "2026-02-01T00:00:00.000Z", reason: "asked for" };

async function storedRun(sealed: boolean): Promise<{ readonly store: RunStore; readonly runId: string }> {
  const store = createMemoryRunStore();
  const { events, seal } = await sampleRun({ events: 6, sealed });
  const runId = events[0]?.runId ?? "";
  await store.append(runId, events, { expectedSeq: 0, ...(seal === undefined ? {} : { seal }) });
  return { store, runId };
}

async function exported(store: RunStore, runId: string): Promise<string> {
  const lines: string[] = [];
  for await (const line of exportRun(store, runId)) lines.push(line);
  return lines.join("");
}

describe("record files", () => {
  it("are canonical lines that read back to the same, unknown fields included", async () => {
    const lines = await sampleRecord({ events: 5, sealed: true });
    for (const line of lines) expect(encodeRecordLine(decodeRecordLine(line.trimEnd()))).toBe(line);
    const more = (lines[1] ?? "").replace('"data":{', '"data":{"added":[1,{"later":"x"}],');
    expect(encodeRecordLine(decodeRecordLine(more))).toBe(`${more.trimEnd()}\n`);
    const { events, seal, redactions } = await readRecord(lines.join(""));
    expect(events).toHaveLength(5);
    expect(seal?.events).toBe(5);
    expect(redactions).toEqual([]);
  });

  it("are refused by line where they are broken or newer", async () => {
    const lines = await sampleRecord({ events: 4, sealed: false });
    const newer = lines.with(2, (lines[2] ?? "").replace('"v":1}', '"v":2}'));
    await expect(readRecord(newer.join(""))).rejects.toMatchObject({
      code: "record_invalid",
      message: expect.stringMatching(/^Line 3 .* version 2; this program reads version 1/),
      hint: expect.stringContaining("newer version"),
    });
    for (const [bad, why] of [
      ["{", /Line 2 .*not JSON/],
      ["{}", /Line 2 .*no event, seal or redaction/],
      ['{"type":"x","v":1}', /Line 2 .*lacks a field/],
    ] as const) {
      await expect(readRecord(`${lines[0]}${bad}\n`)).rejects.toThrow(why);
    }
    await expect(readRecord(Uint8Array.of(0xff, 10))).rejects.toThrow(/Line 1 .*not UTF-8/);
  });
});

describe("seals", () => {
  it("verify under their key as they stand, and under no other", async () => {
    const log = { runId: "r", events: 3, head: chainStart("r"), signedAt: ABOUT.at };
    const seal = sealRun(log, TEST_SIGNER);
    expect(seal.keyId).toBe(keyIdOf(TEST_PUBLIC_KEY));
    expect(verifySeal(seal, TEST_PUBLIC_KEY)).toBe(true);
    expect(verifySeal({ ...seal, events: 4 }, TEST_PUBLIC_KEY)).toBe(false);
    expect(verifySeal({ ...seal, signature: `${seal.signature}=` }, TEST_PUBLIC_KEY)).toBe(false);
    const pem = TEST_KEY.export({ type: "pkcs8", format: "pem" }).toString();
    expect(sealRun(log, createSigner(pem))).toEqual(seal);
  });

  it("are made with Ed25519 keys only", () => {
    expect(() => createSigner("no key")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    expect(() => createSigner(TEST_PUBLIC_KEY)).toThrow(/no Ed25519 private key/);
    expect(() => keyIdOf("no key")).toThrow(/no Ed25519 public key/);
  });
});

describe("redactLeaf", () => {
  it.each([true, false])(
    "takes a value out of a stored run that still verifies (sealed: %s)",
    async (sealed) => {
      const { store, runId } = await storedRun(sealed);
      const signer = sealed ? TEST_SIGNER : undefined;
      expect(await exported(store, runId)).toContain("Zeile 2");
      await redactLeaf(store, { ...ABOUT, runId, seq: 2, leaf: "/data/message" }, signer);
      await redactLeaf(store, { ...ABOUT, runId, seq: 5, leaf: "/data/output" }, signer);
      const text = await exported(store, runId);
      expect(text).not.toContain("Zeile 2");
      expect(await verifyRun(text, { publicKeys: [TEST_PUBLIC_KEY] })).toMatchObject({
        status: sealed ? "verified" : "unsigned",
        redacted: 2,
        withoutValue: 2,
      });
    },
  );

  it("refuses an unknown run, a place without a leaf, a value that is gone, and a sealed run without a signer", async () => {
    const { store, runId } = await storedRun(true);
    const redact = (changes: object, signer = TEST_SIGNER): Promise<unknown> =>
      redactLeaf(store, { ...ABOUT, runId, seq: 2, leaf: "/data/message", ...changes }, signer);
    await expect(redact({ runId: "none" })).rejects.toMatchObject({ code: "run_not_found" });
    for (const leaf of ["/data", "/data/role", "/data/message/value", "/data/none", ""])
      await expect(redact({ leaf })).rejects.toThrow(/no sealed leaf/);
    await expect(redact({ seq: 99 })).rejects.toThrow(/no sealed leaf/);
    expect(() =>
      makeRedaction(
        {
          annex: {
            seal: sealRun({ runId, events: 1, head: chainStart("r"), signedAt: "" }, TEST_SIGNER),
            redactions: [],
          },
          head: chainStart("r"),
        },
        { ...ABOUT, seq: 0, leaf: "/data/x" },
      ),
    ).toThrow(/signed/);
    await redact({});
    await expect(redact({})).rejects.toThrow(/no value any more/);
  });
});
