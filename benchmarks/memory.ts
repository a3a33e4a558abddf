/**
 * npm run -s bench:memory -- --data <folder> [--json]
 *
 * Whether what was said in long conversations is found again: the share of the turns that hold the answer to a question
 * among the first 5 and 10, by `recall` of the memory package and by what one would do without it. README.md says what
 * the folder holds.
 */

import { join } from "node:path";
import { createMemoryStore } from "@openfunctions/core";
import { Bm25Index } from "@openfunctions/core/search";
import { createFactMemory } from "@openfunctions/memory";
import { evaluateRetrieval } from "@openfunctions/rag";
import { readJsonLines } from "./beir.ts";
import { createReferenceBm25 } from "./reference-bm25.ts";
import { readArguments } from "./read-arguments.ts";

const USAGE = "npm run -s bench:memory -- --data <folder with turns.jsonl and qa.jsonl> [--json]";

interface Turn {
  readonly id: string;
  readonly text: string;
}

interface Conversation {
  readonly turns: readonly Turn[];
  readonly questions: readonly { readonly id: string; readonly text: string }[];
  /** The turns that hold the answer, by question. */
  readonly evidence: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

type Search = (text: string, limit: number) => Promise<readonly string[]>;
type Way = (conversation: Conversation) => Promise<Search>;

interface Found {
  readonly recall5: number;
  readonly recall10: number;
  readonly questions: number;
  /** What a model would be given for one question, in characters: the first ten turns, or all. */
  readonly characters: number;
}

const OWNER = "bench";

const WAYS: Readonly<Record<string, Way>> = {
  "memory recall": async ({ turns }) => {
    const facts = createFactMemory({ store: createMemoryStore() });
    for (const { id, text } of turns)
      await facts.remember(OWNER, { content: text.slice(0, 2_000), source: id });
    return async (text, limit) => {
      const recalled = await facts.recall(OWNER, text, { limit });
      return recalled.facts.map(({ source = "" }) => source);
    };
  },
  "core search": async ({ turns }) => {
    const index = new Bm25Index();
    for (const { id, text } of turns) index.add(id, text);
    return async (text, limit) => index.search(text, limit).map(({ id }) => id);
  },
  "plain BM25": async ({ turns }) => {
    const search = createReferenceBm25(turns);
    return async (text, limit) => search(text, limit);
  },
  grep: async ({ turns }) => {
    const lower = turns.map(({ id, text }) => ({ id, text: text.toLowerCase() }));
    return async (text, limit) => {
      const words = [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [])];
      const lines = lower.map(({ id, text: line }) => ({
        id,
        count: words.filter((word) => line.includes(word)).length,
      }));
      const found = lines.filter(({ count }) => count > 0).sort((left, right) => right.count - left.count);
      return found.slice(0, limit).map(({ id }) => id);
    };
  },
};

const { data, json } = readOptions();
const conversations = await readConversations(data);
const results: Record<string, Found> = {};
for (const [name, way] of Object.entries(WAYS)) results[name] = await measure(way);
results["full context"] = fullContext();
if (json) console.log(JSON.stringify({ data, conversations: conversations.length, results }));
else console.table(results);

async function measure(way: Way): Promise<Found> {
  const sums = { recall5: 0, recall10: 0, questions: 0, characters: 0 };
  for (const conversation of conversations) {
    const { turns, questions, evidence } = conversation;
    const lengths = new Map(turns.map(({ id, text }) => [id, text.length]));
    const search = await way(conversation);
    const counted = async (text: string, limit: number): Promise<readonly string[]> => {
      const found = await search(text, limit);
      for (const id of found.slice(0, 10)) sums.characters += lengths.get(id) ?? 0;
      return found;
    };
    const quality = await evaluateRetrieval({
      queries: questions,
      relevant: evidence,
      search: counted,
      k: [5, 10],
    });
    sums.recall5 += (quality.recall[5] ?? 0) * quality.queries;
    sums.recall10 += (quality.recall[10] ?? 0) * quality.queries;
    sums.questions += quality.queries;
  }
  return meanOf(sums);
}

/** Everything is given to the model, so everything is found, at this price. */
function fullContext(): Found {
  const sums = { recall5: 0, recall10: 0, questions: 0, characters: 0 };
  for (const { turns, evidence } of conversations) {
    sums.questions += evidence.size;
    sums.characters += evidence.size * turns.reduce((sum, { text }) => sum + text.length, 0);
  }
  return meanOf({ ...sums, recall5: sums.questions, recall10: sums.questions });
}

function meanOf(sums: Found): Found {
  const { questions } = sums;
  return {
    recall5: Number((sums.recall5 / questions).toFixed(4)),
    recall10: Number((sums.recall10 / questions).toFixed(4)),
    questions,
    characters: Math.round(sums.characters / questions),
  };
}

/** Questions without evidence that is there are left out. */
async function readConversations(folder: string): Promise<readonly Conversation[]> {
  const turns = Map.groupBy(await readJsonLines(join(folder, "turns.jsonl")), (turn) => String(turn["conv"]));
  const questions = Map.groupBy(await readJsonLines(join(folder, "qa.jsonl")), (one) => String(one["conv"]));
  return Array.from(turns, ([conv, said]) => {
    const known = new Set(said.map((turn) => String(turn["dia_id"])));
    const asked = (questions.get(conv) ?? []).map((one, index) => {
      const ids = Array.isArray(one["evidence"]) ? one["evidence"].map(String) : [];
      return {
        id: `${conv}#${index}`,
        text: String(one["question"]),
        ids: ids.filter((id) => known.has(id)),
      };
    });
    return {
      turns: said.map((turn) => ({
        id: String(turn["dia_id"]),
        text: [turn["date"], `${String(turn["speaker"])}:`, turn["text"], turn["image_caption"]]
          .filter((part) => typeof part === "string")
          .join(" "),
      })),
      questions: asked.map(({ id, text }) => ({ id, text })),
      evidence: new Map(
        asked
          .filter(({ ids }) => ids.length > 0)
          .map(({ id, ids }) => [id, new Map(ids.map((one) => [one, 1]))]),
      ),
    };
  });
}

function readOptions(): { readonly data: string; readonly json: boolean } {
  const { values } = readArguments(USAGE, {
    options: { data: { type: "string" }, json: { type: "boolean", default: false } },
  });
  if (values.data !== undefined) return { data: values.data, json: values.json };
  process.stderr.write("Say where the conversations are: --data <folder>.\n");
  process.exit(2);
}
