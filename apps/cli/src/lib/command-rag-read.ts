/** `openfunctions rag search` and `list`. */

import { InputError } from "@openfunctions/core";
import type { MetadataFilter } from "@openfunctions/core/search";
import type { Hit } from "@openfunctions/rag";
import { note, oneLine, paint, print, printable, printJson } from "./output.ts";
import { withDocuments } from "./with-documents.ts";

/** Options of `search`. */
export interface SearchCommandOptions {
  readonly embedder?: string;
  readonly limit?: string;
  readonly filter?: string;
  readonly json?: boolean;
}

/** Options of `list`. */
export interface ListCommandOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: boolean;
}

/** Prints passages; how they were found is on stderr. */
export async function searchCommand(query: string, options: SearchCommandOptions): Promise<void> {
  const { limit, filter, json } = options;
  const how = { ...limitOf(limit), ...(filter === undefined ? {} : { filter: parseFilter(filter) }) };
  const result = await withDocuments(options.embedder, (rag) => rag.search(query, how));
  if (json === true) return printJson(result);
  const reason = result.reason === undefined ? "" : `: ${result.reason}`;
  note(paint("dim", `${result.total} found by ${result.mode} search${reason}, in ${result.tookMs} ms`));
  for (const [index, hit] of result.hits.entries()) print(describeHit(hit, index + 1));
}

function describeHit(
  { title, sourceId, page, headings, score, start, end, content }: Hit,
  number: number,
): string {
  const place = [
    title ?? sourceId,
    ...headings,
    ...(page === undefined ? [] : [`page ${page}`]),
    `${start} to ${end}`,
    score.toFixed(3),
  ];
  const text = printable(content.trim()).replace(/^/gm, "    ");
  return `[${number}] ${oneLine(place.join(", "))}\n${text}\n`;
}

/** Prints the documents, one a line. */
export async function listCommand({ limit, cursor, json }: ListCommandOptions): Promise<void> {
  const page = { ...limitOf(limit), ...(cursor === undefined ? {} : { cursor }) };
  const found = await withDocuments(undefined, (rag) => rag.listDocuments(page));
  if (json === true) return printJson(found);
  if (found.documents.length === 0) print("There are no documents.");
  for (const { id, sourceId, length, chunkCount } of found.documents)
    print(oneLine(`${id}  ${sourceId}  ${length} characters, ${chunkCount} chunks`));
  if (found.cursor !== undefined) note(`More: --cursor ${found.cursor}`);
}

function limitOf(limit: string | undefined): { readonly limit?: number } {
  if (limit === undefined) return {};
  if (/^[1-9]\d{0,3}$/.test(limit)) return { limit: Number(limit) };
  throw new InputError(`--limit takes a number from 1 to 9999, not "${limit}".`);
}

function parseFilter(text: string): MetadataFilter {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError(`--filter takes JSON, such as '{"path":"type","eq":"md"}'.`);
  }
}
