import {
  describeEmbedder,
  type FakeReply,
  type FakeRequest,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { type Embedder, hashEmbedder } from "@openfunctions/core/search";
import { beforeAll, describe, expect, it } from "vitest";
import { createCompatibleEmbedder, createGeminiEmbedder, createOpenAIEmbedder } from "./embedders.ts";

const KEY = "sk-secret-0123456789abcdef";
const DIMENSIONS = 8;
const inner = hashEmbedder({ dimensions: 256 });

interface OpenAIBody {
  readonly input: readonly string[];
}

interface GeminiBody {
  readonly requests: readonly {
    readonly content: { readonly parts: readonly [{ readonly text: string }] };
  }[];
}

/** A vector that only this text has. */
async function vectorOf(text: string): Promise<readonly number[]> {
  const [vector = []] = await inner.embed([text], { kind: "document" });
  let hash = 7;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return [hash, ...vector.slice(0, DIMENSIONS - 1)];
}

type Wire = (texts: readonly (readonly number[])[]) => unknown;

/** OpenAI's answer, whose order is only in `index`. */
const openAIAnswer: Wire = (vectors) => ({
  object: "list",
  data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).toReversed(),
});
const geminiAnswer: Wire = (vectors) => ({ embeddings: vectors.map((values) => ({ values })) });

function textsOf({ body }: FakeRequest): readonly string[] {
  const parsed = body as OpenAIBody | GeminiBody; // Proof: what the embedder under test sent
  return "input" in parsed ? parsed.input : parsed.requests.map(({ content }) => content.parts[0].text);
}

const PROVIDERS = {
  openai: {
    answer: openAIAnswer,
    most: 2_048,
    make: (baseUrl: string): Embedder =>
      createOpenAIEmbedder({ apiKey: KEY, baseUrl, dimensions: DIMENSIONS }),
  },
  gemini: {
    answer: geminiAnswer,
    most: 100,
    make: (baseUrl: string): Embedder =>
      createGeminiEmbedder({ apiKey: KEY, baseUrl, dimensions: DIMENSIONS }),
  },
  compatible: {
    answer: openAIAnswer,
    most: 64,
    make: (baseUrl: string): Embedder =>
      createCompatibleEmbedder({
        apiKey: KEY,
        baseUrl,
        model: "nomic",
        dimensions: DIMENSIONS,
        maxInputTokens: 2_048,
      }),
  },
} as const;

/** Computed before, as the fake answers at once. */
const known = new Map<string, readonly number[]>();
beforeAll(async () => {
  const numbered = Array.from({ length: 2_100 }, (_, index) => `text number ${index}`);
  for (const text of ["green tea", "我喜欢绿茶 🍵", "tea", ...numbered])
    known.set(text, await vectorOf(text));
});

/** A fake that answers every request with the vectors of its texts. */
async function serve(
  { answer, make }: (typeof PROVIDERS)[keyof typeof PROVIDERS],
  first: readonly FakeReply[] = [],
) {
  const reply = (request: FakeRequest): FakeReply => ({
    json: answer(textsOf(request).map((text) => known.get(text) ?? [])),
  });
  const server = await startFakeModelServer([...first, ...Array.from({ length: 80 }, () => reply)]);
  return { server, embedder: make(server.url) };
}

describeEmbedder(
  "hash",
  { make: async () => ({ embedder: hashEmbedder() }), bounded: false },
  { describe, it },
);

for (const [name, provider] of Object.entries(PROVIDERS)) {
  describeEmbedder(
    name,
    {
      make: async () => {
        const { server, embedder } = await serve(provider);
        return { embedder, release: () => server.close() };
      },
    },
    { describe, it },
  );

  describe(`${name} embeddings over HTTP`, () => {
    async function using(
      first: readonly FakeReply[],
      body: (fixture: Awaited<ReturnType<typeof serve>>) => Promise<void>,
    ): Promise<void> {
      const fixture = await serve(provider, first);
      try {
        await body(fixture);
      } finally {
        await fixture.server.close();
      }
    }

    it("keeps to the texts that one request takes", () =>
      using([], async ({ server, embedder }) => {
        const texts = Array.from({ length: 2_100 }, (_, index) => `text number ${index}`);
        await embedder.embed(texts, { kind: "document" });
        const sizes = server.requests.map((request) => textsOf(request).length);
        expect(Math.max(...sizes)).toBe(provider.most);
        expect(sizes).toHaveLength(Math.ceil(2_100 / provider.most));
      }));

    it("sends the key in a header alone", () =>
      using([], async ({ server, embedder }) => {
        await embedder.embed(["tea"], { kind: "query" });
        const { path, headers, text } = server.requests[0] ?? {};
        expect(path).not.toContain(KEY);
        expect(text).not.toContain(KEY);
        expect(name === "gemini" ? headers?.["x-goog-api-key"] : headers?.authorization).toContain(KEY);
      }));

    it("asks again as a busy server says, and then gives up", () =>
      using(
        [{ status: 429, headers: { "retry-after-ms": "5" }, json: { error: { message: "slow down" } } }],
        async ({ server, embedder }) => {
          expect(await embedder.embed(["tea"], { kind: "query" })).toEqual([await vectorOf("tea")]);
          expect(server.requests).toHaveLength(2);
          const busy = {
            status: 503,
            headers: { "retry-after-ms": "1" },
            json: { error: { message: `no, ${KEY}` } },
          };
          const down = await startFakeModelServer([busy, busy, busy, busy]);
          const failing = provider.make(down.url).embed(["tea"], { kind: "query" });
          await expect(failing).rejects.toMatchObject({
            code: "embedding_failed",
            retryable: true,
            index: 0,
          });
          await expect(failing).rejects.not.toThrow(KEY);
          expect(down.requests).toHaveLength(3);
          await down.close();
        },
      ));

    it.each([
      ["a refused key", { status: 401, json: { error: { message: `Incorrect API key: ${KEY}` } } }],
      [
        "a text that is too long",
        { status: 400, json: { error: { message: "maximum context length is 8192 tokens" } } },
      ],
      ["an answer that is no JSON", { blocks: ["<html>"] }],
      ["an answer without vectors", { json: { data: [], embeddings: [] } }],
      ["a vector of another size", { json: provider.answer([[1, 2]]) }],
      ["a vector with holes", { json: provider.answer([[1, 2, 3, 4, 5, 6, 7, "8" as never]]) }],
    ])("throws an EmbedderError without the key for %s", (_, reply: FakeReply) =>
      using([reply, reply, reply], async ({ embedder }) => {
        const error: unknown = await embedder
          .embed(["tea"], { kind: "document" })
          .catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code: "embedding_failed", model: embedder.model, index: 0 });
        for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
          expect(`${cause.message} ${cause.stack} ${JSON.stringify(cause)}`).not.toContain(KEY);
        }
      }),
    );

    it("carries the key to no other place", async () => {
      const other = await startFakeModelServer([{ json: provider.answer([await vectorOf("tea")]) }]);
      const away = { status: 307, headers: { location: `${other.url}/embeddings` } };
      await using([away, away, away], async ({ embedder }) => {
        await expect(embedder.embed(["tea"], { kind: "query" })).rejects.toMatchObject({
          code: "embedding_failed",
        });
      });
      expect(other.requests).toEqual([]);
      await other.close();
    });

    it("ends a request that is under way on abort", () =>
      using([{ silent: true }], async ({ server, embedder }) => {
        const controller = new AbortController();
        const asking = embedder.embed(["tea"], { kind: "query", signal: controller.signal });
        await expect.poll(() => server.requests.length).toBe(1);
        controller.abort(new Error("enough"));
        await expect(asking).rejects.toThrow("enough");
        expect(await server.requests[0]?.left).toBe(true);
      }));
  });
}

describe("the bodies of requests", () => {
  it("are what each provider documents", async () => {
    const bodies: unknown[] = [];
    for (const provider of Object.values(PROVIDERS)) {
      const { server, embedder } = await serve(provider);
      await embedder.embed(["tea"], { kind: "query" });
      const { path, body } = server.requests[0] ?? {};
      bodies.push([path, body]);
      await server.close();
    }
    expect(bodies).toEqual([
      [
        "/embeddings",
        { model: "text-embedding-3-small", input: ["tea"], encoding_format: "float", dimensions: 8 },
      ],
      [
        "/models/gemini-embedding-001:batchEmbedContents",
        {
          requests: [
            {
              model: "models/gemini-embedding-001",
              content: { parts: [{ text: "tea" }] },
              taskType: "RETRIEVAL_QUERY",
              outputDimensionality: 8,
            },
          ],
        },
      ],
      ["/embeddings", { model: "nomic", input: ["tea"], encoding_format: "float" }],
    ]);
  });

  it.each([
    [() => createOpenAIEmbedder({ apiKey: "" }), "missing_key"],
    [() => createGeminiEmbedder({ apiKey: "" }), "missing_key"],
    [() => createOpenAIEmbedder({ apiKey: KEY, model: "unknown" }), "invalid_config"],
    [() => createOpenAIEmbedder({ apiKey: KEY, baseUrl: `https://x:${KEY}@example.com` }), "invalid_config"],
    [
      () => createCompatibleEmbedder({ baseUrl: "nonsense", model: "m", dimensions: 8, maxInputTokens: 9 }),
      "invalid_config",
    ],
    [
      () =>
        createCompatibleEmbedder({
          baseUrl: "http://127.0.0.1:1",
          model: "m",
          dimensions: 0,
          maxInputTokens: 9,
        }),
      "invalid_config",
    ],
    [
      () =>
        createCompatibleEmbedder({
          baseUrl: "http://127.0.0.1:1",
          model: "m",
          dimensions: 8,
          maxInputTokens: 0,
        }),
      "invalid_config",
    ],
    [() => createOpenAIEmbedder({ apiKey: `${KEY}\nx` }), "invalid_config"],
    [() => createGeminiEmbedder({ apiKey: `${KEY}\u20ac` }), "invalid_config"],
    [() => createOpenAIEmbedder({ apiKey: "k", headers: { [`x ${KEY}`]: "a" } }), "invalid_config"],
    [() => createOpenAIEmbedder({ apiKey: KEY, baseUrl: `https://:${KEY}@example.com` }), "invalid_config"],
    [() => createOpenAIEmbedder({ apiKey: KEY, baseUrl: `ftp://example.com/${KEY}` }), "invalid_config"],
  ])("are refused before they are made where an option cannot work", (make, code) => {
    expect(make).toThrowError(expect.objectContaining({ code, message: expect.not.stringContaining(KEY) }));
    // A cause is printed with its error.
    expect(make).not.toThrowError(expect.objectContaining({ cause: expect.anything() }));
  });
});
