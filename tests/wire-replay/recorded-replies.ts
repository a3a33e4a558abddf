/** The replies that one file of recorded traffic holds, ready to be sent again. */

import { readFileSync } from "node:fs";

/** One HTTP reply. Events are kept apart, so that a body can be cut between them. */
export interface RecordedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly blocks: readonly string[];
}

type Wire = Readonly<Record<string, unknown>>;

/**
 * Reads a file. `.json` is one body; `.sse` a raw event stream; `.chunks.txt` one event's JSON per line, without
 * framing; `.cassette.json` a list of requests and responses. `api` says how events without framing are framed.
 * Throws for any other name, and for a file that is not what its name says.
 */
export function recordedReplies(path: string, api: string): readonly RecordedReply[] {
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".cassette.json")) return listOf(JSON.parse(text)).map(cassetteReply);
  if (path.endsWith(".chunks.txt")) return chunkReplies(text, api);
  if (path.endsWith(".sse")) return [stream(framed(text))];
  if (path.endsWith(".json")) return [json(200, text)];
  throw new Error(`"${path}" is no .json, .sse, .chunks.txt or .cassette.json file.`);
}

function stream(blocks: readonly string[], status: number = 200): RecordedReply {
  return { status, headers: { "content-type": "text/event-stream" }, blocks };
}

function json(status: number, text: string, headers: Readonly<Record<string, string>> = {}): RecordedReply {
  return { status, headers: { ...headers, "content-type": "application/json" }, blocks: [text] };
}

/** A raw stream, cut behind each blank line. */
function framed(text: string): readonly string[] {
  return text.split(/(?<=\r\n\r\n|(?<!\r)\n\n)/).filter((block) => block !== "");
}

const BEGINS = /^\{\s*"type"\s*:\s*"(?:message_start|response\.created)"/;
const ENDS = /^\{\s*"type"\s*:\s*"(?:message_stop|response\.(?:completed|failed|incomplete))"/;

/** A file may hold the replies of a whole tool loop; where each has a beginning and an end, they are apart. */
function chunkReplies(text: string, api: string): readonly RecordedReply[] {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const [begun, ended] = [BEGINS, ENDS].map((mark) => lines.filter((line) => mark.test(line)).length);
  if (begun !== ended || (begun ?? 0) < 2) return [stream(frame(lines, api))];
  const groups: string[][] = [[]];
  for (const line of lines) {
    groups.at(-1)?.push(line);
    if (ENDS.test(line)) groups.push([]);
  }
  return groups.filter((group) => group.length > 0).map((group) => stream(frame(group, api)));
}

function frame(lines: readonly string[], api: string): readonly string[] {
  if (/generateContent/.test(api)) return lines.map((line) => `data: ${line}\r\n\r\n`);
  if (/Messages|Responses/.test(api))
    return lines.map((line) => `event: ${eventName(line)}\ndata: ${line}\n\n`);
  return [...lines.map((line) => `data: ${line}\n\n`), "data: [DONE]\n\n"];
}

/** The event's type; of a line that is cut off too, which some files hold on purpose. */
function eventName(line: string): string {
  return /"type"\s*:\s*"([^"]+)"/.exec(line)?.[1] ?? "message";
}

function cassetteReply(entry: Wire): RecordedReply {
  const response = recordOf(entry["response"]);
  const status = Number(response["status"] ?? 200);
  const headers = Object.fromEntries(
    Object.entries(recordOf(response["headers"]))
      .filter(([name]) => /^(content-type|retry-after)/i.test(name))
      .map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
  const { bodySegments, bodyText, body } = response;
  const isStream = /event-stream/.test(headers["content-type"] ?? "text/event-stream");
  if (Array.isArray(bodySegments) && isStream)
    return stream(
      bodySegments.map((segment) => `data: ${JSON.stringify(segment)}\r\n\r\n`),
      status,
    );
  if (typeof bodyText === "string")
    return isStream ? stream(framed(bodyText), status) : json(status, bodyText, headers);
  return json(status, JSON.stringify(body ?? listOf(bodySegments)[0] ?? {}), headers);
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

function recordOf(value: unknown): Wire {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
