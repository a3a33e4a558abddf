import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { hashEmbedder } from "@openfunctions/core/search";
import {
  type FakeModelServer,
  type FakeReply,
  type FakeRequest,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pdfOf } from "../../../packages/rag/src/lib/__fixtures__/office-files.ts";
import { createProgressBar } from "../src/lib/progress-bar.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");
const KEY = "sk-secret-0123456789abcdef";

let folder: string;
let server: FakeModelServer;
const inner = hashEmbedder({ dimensions: 16 });
const vectors = new Map<string, readonly number[]>();

/** Ollama, as far as the command asks it: a model's sizes, and OpenAI-shaped embeddings. */
function ollama(request: FakeRequest): FakeReply {
  if (request.path === "/api/show") {
    const { model } = request.body as { model: string }; // Proof: what the command sends
    if (model !== "words") return { status: 404, json: { error: "model not found" } };
    const info = { "general.architecture": "bert", "bert.context_length": 2048, "bert.embedding_length": 16 };
    return { json: { parameters: "num_ctx                        1024", model_info: info } };
  }
  const { input } = request.body as { input: readonly string[] }; // Proof: what the embedder sends
  return {
    json: {
      data: input.map((text, index) => ({ index, embedding: vectors.get(text) ?? Array(16).fill(1) })),
    },
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openfunctions-rag-"));
  await mkdir(join(folder, "notes"));
  await mkdir(join(folder, "folders", "corpus.jsonl"), { recursive: true });
  await writeFile(join(folder, "notes", "tea.md"), "# Tea\n\nGreen tea is steamed.\n");
  await writeFile(join(folder, "notes", "coffee.txt"), "Coffee is roasted.\u001b[2J\n");
  await writeFile(join(folder, "notes", "picture.png"), Buffer.from([1, 0, 2]));
  await writeFile(
    join(folder, "corpus.jsonl"),
    '{"_id":"d1","title":"Tea","text":"Green tea is steamed."}\n{"_id":"d2","text":"Coffee is roasted."}\n{"_id":"d3","text":" "}\n',
  );
  await writeFile(
    join(folder, "queries.jsonl"),
    '{"_id":"q1","text":"steamed tea"}\n{"_id":"q2","text":"coffee"}\n{"_id":"q3","text":"nobody judged"}\n',
  );
  await writeFile(join(folder, "qrels.tsv"), "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t1\n");
  for (const text of ["# Tea\n\nGreen tea is steamed.\n", "tea"])
    vectors.set(text, (await inner.embed([text], { kind: "document" }))[0] ?? []);
  server = await startFakeModelServer(Array.from({ length: 60 }, () => ollama));
});
afterAll(() => server.close());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function rag(
  args: readonly string[],
  { home = "home", environment = {} }: { home?: string; environment?: Record<string, string> } = {},
): Promise<Outcome> {
  const kept = Object.entries(process.env).filter(([name]) => !/(_API_KEY|_MODEL|_BASE_URL)$/.test(name));
  const env = {
    ...Object.fromEntries(kept),
    OPENFUNCTIONS_HOME: join(folder, home),
    OLLAMA_BASE_URL: server.url,
    ...environment,
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, "rag", ...args],
      { cwd: folder, env, timeout: 30_000 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}

describe("openfunctions rag", () => {
  it("adds, finds, lists and removes files, and says what did not go in", async () => {
    const added = await rag([
      "add",
      "notes/tea.md",
      "notes/picture.png",
      "notes/coffee.txt",
      "notes/none.md",
    ]);
    expect(added.code).toBe(1);
    expect(added.stdout).toMatch(
      /created {2}doc_\w+ {2}.*tea\.md {2}1 chunks, 0 embedded\ncreated .*coffee\.txt/,
    );
    expect(added.stderr).toContain("NUL bytes");
    expect(added.stderr).toContain("none.md");
    expect(added.stderr).toContain("2 of 4 files did not go in.");
    expect((await rag(["add", "notes/tea.md"])).stdout).toMatch(/^unchanged/);

    const found = await rag(["search", "steamed tea"]);
    expect(found.stdout).toMatch(/^\[1\] tea\.md, Tea, 0 to \d+, 1\.000\n {4}# Tea/);
    expect(found.stderr).toContain("keyword search: no embedder configured");
    expect((await rag(["search", "roasted"])).stdout).toContain("\\u001b[2J");
    const filtered = await rag(["search", "is", "--filter", '{"path":"type","eq":"txt"}', "--json"]);
    expect(JSON.parse(filtered.stdout)).toMatchObject({
      mode: "keyword",
      total: 1,
      hits: [{ title: "coffee.txt" }],
    });

    const listed = await rag(["list"]);
    expect(listed.stdout.trim().split("\n")).toHaveLength(2);
    const id = /doc_\w+(?=.*tea\.md)/.exec(listed.stdout)?.[0] ?? "";
    expect(await rag(["remove", id])).toMatchObject({ code: 0, stdout: `Removed ${id}.\n` });
    expect(await rag(["remove", "notes/coffee.txt"])).toMatchObject({ code: 0 });
    expect(await rag(["remove", "notes/coffee.txt"])).toMatchObject({ code: 2 });
    expect((await rag(["list"])).stdout).toBe("There are no documents.\n");
  });

  it("embeds with the embedder that is named, refuses another, and reindexes", async () => {
    const home = "embedded";
    const named = ["--embedder", "ollama:words"];
    expect((await rag(["add", "notes/tea.md", ...named], { home })).stdout).toContain("1 embedded");
    const found = await rag(["search", "tea", ...named], { home });
    expect(found).toMatchObject({ code: 0, stderr: expect.stringContaining("hybrid search") });
    const other = { home, environment: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${server.url}/v1` } };
    const refused = await rag(["search", "tea", "--embedder", "openai"], other);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('"words" (16 dimensions)');
    expect(refused.stderr).toContain("openfunctions rag reindex --embedder");
    expect(`${refused.stdout}${refused.stderr}`).not.toContain(KEY);
    const bare = await rag(["add", "notes/coffee.txt"], { home });
    expect(bare.stderr).toContain('embedded with "words" and no embedder is given');
    const again = await rag(["reindex", ...named], { home });
    expect(again).toMatchObject({ code: 0, stdout: "1 chunks embedded with words (16 dimensions).\n" });
    expect(await rag(["search", "tea", "--embedder", "ollama:none"], { home })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("ollama pull none"),
    });
  });

  it("waits for no pipe, and lets no name reach the terminal as it is", async () => {
    await promisify(execFile)("mkfifo", [join(folder, "pipe")]);
    const names = ["pipe", "notes", "none\nnotes/tea.md: forged", "none\u001b[2J"];
    const { code, stderr } = await rag(["add", ...names], { home: "odd" });
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toEqual([
      "pipe: It is no file, but a pipe or a device.",
      expect.stringMatching(/^notes: It is a folder/),
      "none\\u000anotes/tea.md: forged: There is no such file.",
      "none\\u001b[2J: There is no such file.",
      "4 of 4 files did not go in.",
    ]);
  });

  it("is stopped in the middle of a file that holds it up, with nothing written of it", async () => {
    await writeFile(join(folder, "hang.pdf"), pdfOf(["again"], { nested: 8 }));
    const env = { ...process.env, OPENFUNCTIONS_HOME: join(folder, "stopped") };
    const adding = spawn(process.execPath, [MAIN, "rag", "add", "notes/tea.md", "hang.pdf"], {
      cwd: folder,
      env,
    });
    const ended = once(adding, "exit");
    await wait(1_500);
    expect(adding.exitCode).toBeNull();
    adding.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect((await rag(["list"], { home: "stopped" })).stdout).not.toContain("hang.pdf");
  });

  it("contacts no vendor without being told to", async () => {
    const before = server.requests.length;
    const environment = {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: server.url,
      GEMINI_API_KEY: KEY,
      GEMINI_BASE_URL: server.url,
    };
    await rag(["add", "notes/tea.md"], { home: "quiet", environment });
    expect((await rag(["search", "tea"], { home: "quiet", environment })).stderr).toContain(
      "no embedder configured",
    );
    expect(server.requests).toHaveLength(before);
  });

  it("refuses what cannot work, saying what would", async () => {
    const wrong = [
      [["search", "x", "--embedder", "nonsense"], 3, "openai, gemini or ollama:<model>"],
      [["search", "x", "--embedder", "openai"], 3, "OPENAI_API_KEY"],
      [["search", "x", "--embedder", "ollama"], 3, "ollama:<model>"],
      [["search", "x", "--limit", "0"], 2, "--limit"],
      [["search", "x", "--filter", "{"], 2, "--filter"],
      [["search", "x", "--filter", '{"path":"a b","eq":1}'], 3, "filter"],
      [["eval", "nowhere"], 2, "corpus.jsonl"],
      [["eval", "folders"], 2, "holds no corpus.jsonl"],
      [["reindex"], 2, "--embedder"],
    ] as const;
    const outcomes = await Promise.all(wrong.map(([args]) => rag(args)));
    for (const [index, [, code, said]] of wrong.entries())
      expect(outcomes[index]).toMatchObject({ code, stderr: expect.stringContaining(said) });
  });

  it("measures search on a folder in the layout of BEIR", async () => {
    const { stdout, stderr, code } = await rag(["eval", folder, "--json"]);
    expect(code).toBe(0);
    expect(stderr).toContain("d3 was left out");
    expect(JSON.parse(stdout)).toEqual({
      documents: 2,
      modes: ["keyword (no embedder configured)"],
      queries: 2,
      ndcg10: 0.5,
      recall: { 10: 0.5, 100: 0.5 },
      mrr: 0.5,
    });
    expect((await rag(["eval", folder])).stdout).toContain(
      "nDCG@10 0.500\nRecall@10 0.500\nRecall@100 0.500\nMRR 0.500\n",
    );
  });
});

describe("the bar of a long work", () => {
  it("is drawn on a terminal alone, on one line, and leaves nothing", () => {
    const drawn: string[] = [];
    const terminal = { isTTY: true, columns: 60, write: (text: unknown) => drawn.push(String(text)) > 0 };
    const bar = createProgressBar(terminal);
    bar.clear();
    bar.show(6, 12, "a very long name of a file\nthat would not fit the line of a terminal");
    bar.clear();
    expect(drawn).toEqual([
      expect.stringContaining(`[${"#".repeat(12)}${" ".repeat(12)}] 6/12 a very`),
      "\r\u001b[2K",
    ]);
    expect((drawn[0] ?? "").replace("\r\u001b[2K", "").length).toBeLessThan(60);
    createProgressBar({ ...terminal, isTTY: false }).show(1, 2, "x");
    expect(drawn).toHaveLength(2);
  });
});
