import { describe, expect, it } from "vitest";
import { TEST_PUBLIC_KEY, TEST_SIGNER, sampleRecord, sampleRun } from "./__fixtures__/sample-record.ts";
import { encodeRecordLine } from "./record-file.ts";
import type { VerifyResult } from "./record-finding.ts";
import type { SealLine } from "./record-line.ts";
import { chainStart, hashEvent } from "./run-event.ts";
import { makeRedaction } from "./run-redact.ts";
import { redactEvent } from "./redact-event.ts";
import { sealRun } from "./run-seal.ts";
import { verifyRun } from "./run-verify.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const TRUST = { publicKeys: [TEST_PUBLIC_KEY] };

const verify = (lines: readonly string[]): Promise<VerifyResult> => verifyRun(lines.join(""), TRUST);

/** What was found: the kind and the line of each finding. */
function places(result: VerifyResult): readonly string[] {
  return result.findings.map(({ kind, line }) => `${kind} ${line}`);
}

/** Small, fast and the same on every run: an edit that is not found can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function lineOf(bytes: Buffer, offset: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) line += 1;
  return line;
}

describe("verifyRun", () => {
  it("verifies an untouched record, in whatever pieces its bytes come", async () => {
    const lines = await sampleRecord({ events: 200, sealed: true });
    const bytes = Buffer.from(lines.join(""));
    const whole = await verifyRun(bytes, TRUST);
    expect(whole).toMatchObject({
      status: "verified",
      events: 200,
      failures: 0,
      signedBy: TEST_SIGNER.keyId,
      sealed: TEST_SIGNER.keyId,
      capture: "full",
      withoutValue: 0,
    });
    for (const size of [1, 7, 1_000, 65_536]) {
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      };
      expect(await verifyRun(pieces(), TRUST)).toEqual(whole);
    }
  });

  it("detects and locates random byte edits, dropped lines, swaps and cuts, sealed", async () => {
    const lines = await sampleRecord({ events: 200, sealed: true });
    const bytes = Buffer.from(lines.join(""));
    const random = randomNumbers(20_261_130);
    for (let round = 0; round < Math.max(100, 1_000 * SCALE); round += 1) {
      const offset = random(bytes.length);
      const edited = Buffer.from(bytes);
      edited[offset] = (random(255) + 1 + (edited[offset] ?? 0)) % 256;
      const edit = await verifyRun(edited, TRUST);
      expect(edit.status, `byte ${offset}`).toBe("failed");
      const line = lineOf(bytes, offset);
      const near = edit.findings.filter((finding) => Math.abs(finding.line - line) <= 1);
      expect(near, `byte ${offset} in line ${line}: ${places(edit).join()}`).not.toEqual([]);
      expect(edit.failures, places(edit).join()).toBeLessThanOrEqual(3);

      const dropped = random(lines.length);
      const drop = await verify(lines.filter((_, index) => index !== dropped));
      expect(places(drop), `line ${dropped + 1} dropped`).toEqual([
        dropped === 200 ? "truncated 200" : dropped === 0 ? "gap 1" : `gap ${dropped + 1}`,
      ]);

      const [one, two] = [random(lines.length), random(lines.length)].toSorted((left, right) => left - right);
      if (one !== undefined && two !== undefined && one !== two) {
        const swapped = lines.with(one, lines[two] ?? "").with(two, lines[one] ?? "");
        const swap = await verify(swapped);
        expect(swap.status).toBe("failed");
        expect(
          swap.findings.every(({ kind, line: at }) => kind === "order" && at > one && at <= two + 1),
          `${one + 1} and ${two + 1}: ${places(swap).join()}`,
        ).toBe(true);
      }

      const cut = random(bytes.length);
      const short = await verifyRun(bytes.subarray(0, cut), TRUST);
      expect(["failed", "open"], `cut at ${cut}`).toContain(short.status);
      const end = bytes[cut - 1] === 10 ? lineOf(bytes, cut - 1) : lineOf(bytes, cut);
      expect(
        short.findings.some((finding) => finding.line === end),
        `cut at ${cut}: ${places(short).join()}`,
      ).toBe(true);
    }
  });

  it("names the leaf whose value was changed, and the hashes of a changed event", async () => {
    const lines = await sampleRecord({ events: 5, sealed: true });
    const value = await verify(lines.with(2, (lines[2] ?? "").replace("Zeile 2", "Zeile 9")));
    expect(value.findings).toEqual([
      expect.objectContaining({
        kind: "altered",
        line: 3,
        seq: 2,
        type: "message.appended",
        leaf: "/data/message",
      }),
    ]);
    const field = await verify(
      lines.with(
        2,
        (lines[2] ?? "").replace('"role":"user","type"', '"role":"tool","type"').replace('"at":"', '"at":"1'),
      ),
    );
    expect(field.findings).toEqual([
      expect.objectContaining({
        kind: "altered",
        seq: 2,
        expected: expect.stringMatching(/^sha256:/),
        found: expect.stringMatching(/^sha256:/),
      }),
    ]);
  });

  it("finds an event that was changed together with its hash, by the event after it or by the seal", async () => {
    const { events, seal } = await sampleRun({ events: 5, sealed: true });
    const forge = (index: number): readonly string[] => {
      const lines = [...events, ...(seal === undefined ? [] : [seal])].map((line) => encodeRecordLine(line));
      const event = events[index];
      if (event === undefined) return lines;
      const open = { ...event, at: "2030-01-01T00:00:00.000Z" };
      return lines.with(index, encodeRecordLine({ ...open, hash: hashEvent(open) }));
    };
    expect(places(await verify(forge(2)))).toEqual(["altered 3"]);
    expect(places(await verify(forge(4)))).toEqual(["altered 5"]);
  });

  it("says which events are missing at the end, before the seal", async () => {
    const lines = await sampleRecord({ events: 9, sealed: true });
    expect((await verify([...lines.slice(0, 6), ...lines.slice(9)])).findings).toEqual([
      expect.objectContaining({ kind: "gap", line: 7, after: 5, before: 9 }),
    ]);
  });

  it("finds lines that were added: copies, events of another run, a second seal, events after the seal", async () => {
    const lines = await sampleRecord({ events: 9, sealed: true });
    const other = await sampleRecord({
      events: 9,
      sealed: true,
      runId: "0192f0c0-5e1f-7000-8000-00000000000b",
    });
    const line = (index: number, from = lines): string => from[index] ?? "";
    expect((await verify(lines.toSpliced(5, 0, line(2)))).findings).toEqual([
      expect.objectContaining({ kind: "extra", line: 6, seq: 2, after: 1, before: 3 }),
    ]);
    expect(places(await verify(lines.toSpliced(5, 0, line(5, other))))).toEqual(["extra 6"]);
    expect(places(await verify([...lines, line(9)]))).toEqual(["extra 11"]);
    expect(places(await verify([...lines.slice(0, 8), line(9), line(8)]))).toEqual(["order 10"]);
    expect(places(await verify([...lines, "{}\n"]))).toEqual(["malformed 11"]);
  });

  it("tells unsigned, open and torn logs from cut ones", async () => {
    const unsealed = await sampleRecord({ events: 6, sealed: false });
    expect(await verify(unsealed)).toMatchObject({ status: "unsigned", sealed: false, failures: 0 });
    expect(await verify(unsealed.slice(0, 4))).toMatchObject({
      status: "open",
      findings: [{ kind: "open", line: 4 }],
    });
    const torn = await verifyRun(unsealed.join("").slice(0, -5), TRUST);
    expect(places(torn)).toEqual(["torn_tail 6"]);
    const sealed = await sampleRecord({ events: 6, sealed: true });
    expect(places(await verify(sealed.slice(0, 6)))).toEqual(["truncated 6"]);
    expect(places(await verifyRun(sealed.join("").slice(0, -1), TRUST))).toEqual(["malformed 7"]);
    expect(places(await verifyRun(sealed.join("").slice(0, -9), TRUST))).toEqual([
      "malformed 7",
      "truncated 7",
    ]);
    expect(await verify([])).toMatchObject({ status: "open", events: 0 });
  });

  it("tells an unknown key from a wrong signature and from another key than the log names", async () => {
    const lines = await sampleRecord({ events: 4, sealed: true });
    expect(await verifyRun(lines.join(""))).toMatchObject({
      status: "failed",
      findings: [{ kind: "unknown_key", line: 5 }],
    });
    const seal: SealLine = JSON.parse(lines[4] ?? "");
    const late = encodeRecordLine({ ...seal, signedAt: "2027-01-01T00:00:00.000Z" });
    expect(places(await verify(lines.with(4, late)))).toEqual(["bad_signature 5"]);
    const foreign = sealRun(seal, { ...TEST_SIGNER, keyId: `sha256:${"1".repeat(64)}` });
    expect(places(await verify(lines.with(4, encodeRecordLine(foreign))))).toEqual(["bad_signature 5"]);
  });

  it("counts redactions, verifies what is left, and checks the redactions' own chain", async () => {
    const { events, seal } = await sampleRun({ events: 6, sealed: true });
    const last = events.at(-1);
    if (seal === undefined || last === undefined) throw new Error("The sample has no seal.");
    const about = { leaf: "/data/message", by: "owner", at: "2026-02-01T00:00:00.000Z", reason: "asked for" };
    const base = { head: last.hash, signer: TEST_SIGNER };
    const first = makeRedaction({ ...base, annex: { seal, redactions: [] } }, { ...about, seq: 2 });
    const second = makeRedaction({ ...base, annex: { seal, redactions: [first] } }, { ...about, seq: 3 });
    const left = events.map((event, seq) =>
      seq === 2 || seq === 3 ? redactEvent(event, { ...first, seq }) : event,
    );
    const lines = [...left, seal, first, second].map((line) => encodeRecordLine(line));
    expect(await verify(lines)).toMatchObject({
      status: "verified",
      redacted: 2,
      withoutValue: 2,
      failures: 0,
    });
    const found = async (changed: readonly string[]): Promise<readonly string[]> =>
      places(await verify(changed));
    const line = (index: number): string => lines[index] ?? "";
    expect(await found(lines.with(7, line(7).replace("asked for", "no reason")))).toEqual(["altered 8"]);
    expect(await found(lines.toSpliced(7, 1))).toEqual(["gap 8"]);
    expect(await found([...lines.slice(0, 7), line(8), line(7)])).toEqual(["gap 8", "order 9"]);
    expect(await found([...lines.slice(0, 6), line(7), line(6), line(8)])).toEqual(["order 8"]);
    const { keyId: _keyId, signature: _signature, ...bare } = first;
    expect(await found(lines.with(7, encodeRecordLine(bare)))).toEqual(["bad_signature 8"]);
    const elsewhere = makeRedaction({ ...base, annex: { redactions: [] } }, { ...about, seq: 2 });
    const signed = { ...elsewhere, keyId: TEST_SIGNER.keyId, signature: TEST_SIGNER.sign(elsewhere.hash) };
    expect(await found([...lines.slice(0, 7), encodeRecordLine(signed)])).toEqual(["altered 8"]);
  });

  it("refuses events of a newer version by name", async () => {
    const lines = await sampleRecord({ events: 4, sealed: false });
    const newer = await verify(lines.map((line) => line.replace('"v":1}', '"v":2}')));
    expect(newer.findings[0]).toMatchObject({
      kind: "unsupported",
      line: 1,
      message: expect.stringContaining("version 2"),
    });
  });

  it("never throws on hostile bytes, and calls what is not canonical malformed, at the byte", async () => {
    const [start = ""] = await sampleRecord({ events: 3, sealed: false });
    const bare = { v: 1, runId: "r", seq: 0, at: "x", type: "t", prev: chainStart("r") } as const;
    const hostile: readonly (string | Uint8Array)[] = [
      "\n",
      "\n\n\n",
      "null\n",
      "[]\n",
      '{"a":1,"a":2}\n',
      '{"__proto__":{"type":"seal"}}\n',
      `${"[".repeat(100_000)}\n`,
      `{"at":"x","data":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}\n`,
      Uint8Array.of(0xff, 0xfe, 10),
      Uint8Array.of(0xef, 0xbb, 0xbf, 10),
      `\u0000\n`,
      start.replace('"seq":0', '"seq":-1'),
      start.replace('"seq":0', '"seq":0.5'),
      start.replace('"seq":0', '"seq":"0"'),
      start.replace('"data":{', '"data":[{').replace('},"hash"', '}],"hash"'),
      start.replace('"v":1}', '"v":1,"x":2}'),
      start.replace('{"at"', '{ "at"'),
      start.replace("\n", "\r\n"),
      JSON.stringify({ ...bare, data: { a: { $sealed: "sha256:0", salt: "AA", value: 1 } }, hash: "" }),
    ];
    for (const bytes of hostile) {
      const result = await verifyRun(bytes, TRUST);
      expect(["failed", "open"], String(bytes).slice(0, 60)).toContain(result.status);
      expect(result.failures).toBeGreaterThan(0);
    }
    const space = await verifyRun(start.replace(',"hash"', ', "hash"'), TRUST);
    expect(space.findings[0]).toMatchObject({
      kind: "malformed",
      line: 1,
      offset: start.indexOf(',"hash"') + 1,
    });
  });

  it("holds no more than one line of what it reads, and drops a line that has no end", async () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 80; index += 1) yield piece;
      yield Buffer.from("\n{}\n");
    };
    const { findings } = await verifyRun(endless());
    expect(findings.slice(0, 2)).toMatchObject([
      { kind: "malformed", line: 1, message: expect.stringContaining("longer than") },
      { kind: "malformed", line: 2, offset: 80 * 1024 * 1024 + 2 },
    ]);
  });

  it("finds a leaf that hides something beside its value, or a value without its salt", async () => {
    const lines = await sampleRecord({ events: 4, sealed: true });
    const second = lines[1] ?? "";
    const hidden = second.replace('"salt":', '"more":1,"salt":');
    expect(places(await verify(lines.with(1, hidden)))).toEqual(["malformed 2"]);
    const unsalted = second.replace(/"salt":"[0-9a-f]*",/, "");
    expect((await verify(lines.with(1, unsalted))).findings).toEqual([
      expect.objectContaining({ kind: "altered", line: 2, leaf: "/data/message" }),
    ]);
  });
});
