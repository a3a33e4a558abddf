import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { digest } from "@openfunctions/core";
import {
  type RecordLine,
  type VerifyResult,
  encodeRecordLine,
  makeRedaction,
  sealRun,
  verifyRun,
} from "@openfunctions/core/records";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TEST_PUBLIC_KEY, TEST_SIGNER, sampleRecord } from "../src/lib/__fixtures__/sample-record.ts";
import { redactEvent } from "../src/lib/redact-event.ts";
import { type AnyRunEvent, chainStart, hashEvent } from "../src/lib/run-event.ts";
import { createSealer } from "../src/lib/sealed.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const CONTRACTS = join(import.meta.dirname, "..", "..", "..", "contracts");
const VECTORS = join(CONTRACTS, "vectors");
const PYTHON = spawnSync("python3", ["--version"]).status === 0;
const AT = "2026-01-01T00:00:00.000Z";
const RUN_ID = "0192f0c0-5e1f-7000-8000-000000000001";

/** A short log with fixed times and salts, so that its bytes are the same on every machine. */
function fixedEvents(sealed: boolean): readonly AnyRunEvent[] {
  let salts = 0;
  const salt = (): string => (salts += 1).toString(16).padStart(32, "0");
  const seal = createSealer("full", { redact: (value) => value, salt });
  const parts: readonly (readonly [string, object])[] = [
    [
      "run.started",
      { capture: "full", kind: "agent", sealed: sealed ? { keyId: TEST_SIGNER.keyId } : false },
    ],
    [
      "message.appended",
      { role: "user", message: seal({ role: "user", content: 'Grüße, "😀" \\ \n\u0001' }) },
    ],
    [
      "model.responded",
      { round: 1, usage: { costUsd: 0.000001, total: 1e21 }, reply: seal([{ n: [1.5, -0, 1e-7] }]) },
    ],
    ["later.type", { "10": 1, "9": [seal("x"), { "a/b~c": seal(null) }], "\ue000": {}, "\u{1f600}": [] }],
    ["run.completed", { stopReason: "model_response", output: seal("done") }],
  ];
  const events: AnyRunEvent[] = [];
  for (const [seq, [type, data]] of parts.entries()) {
    const prev = events.at(-1)?.hash ?? chainStart(RUN_ID);
    const open = { v: 1, runId: RUN_ID, seq, at: AT, type, data, prev } as unknown as AnyRunEvent; // Proof: the vectors test bytes, not what events carry
    events.push({ ...open, hash: hashEvent(open) });
  }
  return events;
}

/** The files of the corpus: good and broken ones, small enough to read. */
function corpus(): ReadonlyMap<string, string> {
  const events = fixedEvents(true);
  const last = events.at(-1);
  if (last === undefined) throw new Error("There are no events.");
  const seal = sealRun({ runId: RUN_ID, events: events.length, head: last.hash, signedAt: AT }, TEST_SIGNER);
  const about = { by: "owner", at: AT, reason: "asked for" };
  const base = { head: last.hash, signer: TEST_SIGNER };
  const one = makeRedaction(
    { ...base, annex: { seal, redactions: [] } },
    { ...about, seq: 1, leaf: "/data/message" },
  );
  const two = makeRedaction(
    { ...base, annex: { seal, redactions: [one] } },
    { ...about, seq: 3, leaf: "/data/9/1/a~1b~0c" },
  );
  const redacted = events.map((event) =>
    [one, two].reduce(
      (left, redaction) => (redaction.seq === left.seq ? redactEvent(left, redaction) : left),
      event,
    ),
  );
  const text = (lines: readonly RecordLine[]): readonly string[] =>
    lines.map((line) => encodeRecordLine(line));
  const sealed = text([...events, seal]);
  const unsealed = text(fixedEvents(false));
  const line = (index: number): string => sealed[index] ?? "";
  const { keyId: _keyId, signature: _signature, ...unsigned } = one;
  const files: Readonly<Record<string, readonly string[]>> = {
    sealed: sealed,
    redacted: text([...redacted, seal, one, two]),
    unsigned: unsealed,
    open: unsealed.slice(0, 3),
    "torn-tail": unsealed.with(4, (unsealed[4] ?? "").slice(0, 40)),
    "altered-field": sealed.with(
      1,
      line(1).replace('"role":"user","type"', '"role":"tool","type"').replace(AT, "2026-01-02T00:00:00.000Z"),
    ),
    "altered-value": sealed.with(3, line(3).replace('"value":"x"', '"value":"y"')),
    "altered-without-salt": sealed.with(3, line(3).replace(/"salt":"[0-9a-f]*","value":"x"/, '"value":"x"')),
    gap: sealed.toSpliced(2, 1),
    "gap-at-end": sealed.toSpliced(3, 2),
    extra: sealed.toSpliced(3, 0, line(1)),
    order: sealed.with(1, line(2)).with(2, line(1)),
    "order-after-seal": sealed.with(4, line(5)).with(5, line(4)),
    "malformed-space": sealed.with(2, line(2).replace(',"hash"', ', "hash"')),
    "malformed-key-twice": sealed.with(2, line(2).replace('"round":1', '"round":1,"round":1')),
    "malformed-number": sealed.with(2, line(2).replace("1e+21", "1e21")),
    "malformed-escape": sealed.with(1, line(1).replace("\\u0001", "\\u0041")),
    "malformed-key-order": sealed.with(
      3,
      line(3).replace('"\u{1f600}":[],"\ue000":{}', '"\ue000":{},"\u{1f600}":[]'),
    ),
    "malformed-field": sealed.with(2, line(2).replace('"v":1}', '"v":1,"w":1}')),
    "malformed-leaf": sealed.with(2, line(2).replace('"salt":', '"more":1,"salt":')),
    "malformed-blank": sealed.toSpliced(2, 0, "\n"),
    unsupported: sealed.with(2, line(2).replace('"v":1}', '"v":2}')),
    truncated: sealed.slice(0, 5),
    "truncated-in-seal": sealed.with(5, line(5).slice(0, 50)),
    "seal-changed": sealed.with(5, line(5).replace(AT, "2026-01-02T00:00:00.000Z")),
    "seal-other-key": sealed.with(5, line(5).replace(TEST_SIGNER.keyId, `sha256:${"1".repeat(64)}`)),
    "seal-twice": [...sealed, line(5)],
    "redaction-changed": text([...redacted, seal, { ...one, reason: "none" }, two]),
    "redaction-gap": text([...redacted, seal, two]),
    "redaction-unsigned": text([...redacted, seal, unsigned, two]),
    empty: [],
  };
  return new Map(Object.entries(files).map(([name, lines]) => [`${name}.jsonl`, lines.join("")]));
}

const verdict = ({ status, findings }: VerifyResult): Verdict => ({
  status,
  findings: findings.map(({ kind, line }) => `${kind} ${line}`),
});

interface Verdict {
  readonly status: string;
  readonly findings: readonly string[];
}

/** What the verifier in Python says of each file of a folder, by file name. One process for all. */
async function askPython(folder: string): Promise<Readonly<Record<string, Verdict>>> {
  const args = [
    join(CONTRACTS, "verify_run.py"),
    "--json",
    "--key",
    join(VECTORS, "test-key.pub.pem"),
    folder,
  ];
  const output = await new Promise<string>((resolve, reject) => {
    execFile("python3", args, { maxBuffer: 1e8 }, (error, stdout, stderr) => {
      if (stdout === "") reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
  const results: Readonly<Record<string, Verdict>> = JSON.parse(output);
  return Object.fromEntries(
    Object.entries(results).map(([path, { status, findings }]) => [
      basename(path),
      { status, findings: inOrder(findings) },
    ]),
  );
}

/** Findings of one line may come in any order. */
function inOrder(findings: readonly string[]): readonly string[] {
  return findings.toSorted();
}

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "openfunctions-vectors-"));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

describe("the shared vectors", () => {
  it("are what this code makes, and says of them (vitest -u writes them anew)", async () => {
    const expected: Record<string, Verdict> = {};
    for (const [name, text] of corpus()) {
      await expect(text).toMatchFileSnapshot(join(VECTORS, "records", name));
      expected[name] = verdict(await verifyRun(text, { publicKeys: [TEST_PUBLIC_KEY] }));
    }
    await expect(`${JSON.stringify(expected, null, 2)}\n`).toMatchFileSnapshot(
      join(VECTORS, "expected.json"),
    );
    expect((await readdir(join(VECTORS, "records"))).toSorted()).toEqual([...corpus().keys()].toSorted());
    expect(expected["sealed.jsonl"]).toEqual({ status: "verified", findings: [] });
    expect(expected["redacted.jsonl"]).toEqual({ status: "verified", findings: [] });
    expect(expected["unsigned.jsonl"]).toEqual({ status: "unsigned", findings: [] });
    const good = Object.values(expected).filter(
      ({ status }) => status === "verified" || status === "unsigned",
    );
    expect(good).toHaveLength(3);
    const key = TEST_PUBLIC_KEY.export({ type: "spki", format: "pem" }).toString();
    await expect(key).toMatchFileSnapshot(join(VECTORS, "test-key.pub.pem"));
    const values = [
      ["run/1", RUN_ID],
      ["event/1", { b: 1, a: [true, null, "é\u2028"] }],
      ["seal/1", {}],
      ["x", -0.5],
      ["", "😀"],
    ] as const;
    const digests = values.map(([tag, value]) => ({ tag, value, digest: digest(tag, value) }));
    await expect(`${JSON.stringify({ digests }, null, 2)}\n`).toMatchFileSnapshot(
      join(VECTORS, "digests.json"),
    );
  });

  it.skipIf(!PYTHON)("get the same verdict from the verifier in Python", async () => {
    const expected: Readonly<Record<string, Verdict>> = JSON.parse(
      await readFile(join(VECTORS, "expected.json"), "utf8"),
    );
    const found = await askPython(join(VECTORS, "records"));
    for (const [name, { status, findings }] of Object.entries(expected))
      expect(found[name], name).toEqual({ status, findings: inOrder(findings) });
  });
});

describe.skipIf(!PYTHON)("the verifier in Python", () => {
  it("accepts and rejects the same random edits, drops, swaps and cuts, at the same lines", async () => {
    const lines = await sampleRecord({ events: 40, sealed: true });
    const files = [...edits(lines, Math.max(100, 1_000 * SCALE))];
    const folder = join(scratch, "edits");
    await mkdir(folder);
    for (const [index, bytes] of files.entries()) await writeFile(join(folder, `${index}.jsonl`), bytes);
    const found = await askPython(folder);
    for (const [index, bytes] of files.entries()) {
      const { status, findings } = verdict(await verifyRun(bytes, { publicKeys: [TEST_PUBLIC_KEY] }));
      expect(found[`${index}.jsonl`], `edit ${index}`).toEqual({ status, findings: inOrder(findings) });
    }
  }, 120_000);
});

/** Each damage in turn; the same on every run. */
function* edits(lines: readonly string[], count: number): Generator<Uint8Array> {
  const bytes = Buffer.from(lines.join(""));
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  yield bytes;
  for (let index = 1; index < count; index += 1) {
    const [one, two] = [random(lines.length), random(lines.length)];
    if (index % 4 === 0) yield Buffer.from(lines.toSpliced(one, 1).join(""));
    else if (index % 4 === 1)
      yield Buffer.from(
        lines
          .with(one, lines[two] ?? "")
          .with(two, lines[one] ?? "")
          .join(""),
      );
    else if (index % 4 === 2) yield bytes.subarray(0, random(bytes.length));
    else {
      const edited = Buffer.from(bytes);
      edited[random(bytes.length)] = random(256);
      yield edited;
    }
  }
}
