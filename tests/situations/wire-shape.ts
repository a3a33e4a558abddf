/** What a provider would refuse in a request's conversation, per wire, as far as its documentation says. */

import { expect } from "vitest";

const ANY = Number.POSITIVE_INFINITY;

type Fields = Readonly<Record<string, unknown>>;

/** Fails where the body of a request holds what the wire's servers answer 400 to. */
export function expectLegalHistory(name: string, body: unknown): void {
  if (name === "anthropic") return expectMessages(list(body, "messages"));
  if (name === "gemini") return expectContents(list(body, "contents"));
  if (name === "openai responses" || name === "xai")
    return expectItems(list(body, "input"), name === "xai" ? ANY : 64);
  expectChat(list(body, "messages"), {
    isNative: name === "ollama",
    maxIdChars: name === "openai chat" ? 40 : ANY,
  });
}

/** Results right after their turn, first in it and one for each call; roles alternate; nothing is empty. */
function expectMessages(messages: readonly Fields[]): void {
  expect(messages[0]?.["role"]).toBe("user");
  for (const [index, message] of messages.entries()) {
    expect(message["role"]).toBe(index % 2 === 0 ? "user" : "assistant");
    const content = list(message, "content");
    expect(content).not.toEqual([]);
    for (const block of content)
      if (block["type"] === "text") expect(String(block["text"]).trim()).not.toBe("");
    const results = content.filter(({ type }) => type === "tool_result");
    expect(content.slice(0, results.length)).toEqual(results);
    const before = index === 0 ? [] : list(messages[index - 1], "content");
    const calls = before.filter(({ type }) => type === "tool_use");
    expect(new Set(results.map((result) => result["tool_use_id"]))).toEqual(
      new Set(calls.map((call) => call["id"])),
    );
    expect(results).toHaveLength(calls.length);
    for (const call of calls) {
      expect(call["id"]).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(call["name"]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    }
    if (message["role"] === "assistant")
      expect(content.at(-1)?.["type"]).not.toMatch(/^(redacted_)?thinking$/);
  }
  expect(list(messages.at(-1), "content").some(({ type }) => type === "tool_use")).toBe(false);
}

/** A turn of calls is followed by one of as many responses, in its order; every part has content. */
function expectContents(contents: readonly Fields[]): void {
  expect(contents[0]?.["role"]).toBe("user");
  for (const [index, content] of contents.entries()) {
    const parts = list(content, "parts");
    expect(parts).not.toEqual([]);
    for (const part of parts) expect(Object.keys(part)).not.toEqual([]);
    const before = index === 0 ? [] : list(contents[index - 1], "parts");
    const calls = before.flatMap((part) => fieldsIn(part["functionCall"]));
    const responses = parts.flatMap((part) => fieldsIn(part["functionResponse"]));
    expect(responses.map(({ id, name }) => [id, name])).toEqual(calls.map(({ id, name }) => [id, name]));
    for (const { response } of responses)
      expect([typeof response, Array.isArray(response)]).toEqual(["object", false]);
    for (const { name } of calls) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
  }
}

/** Every call has one output after it; reasoning is followed by what it led to. */
function expectItems(items: readonly Fields[], maxIdChars: number): void {
  const open = new Set<unknown>();
  for (const [index, item] of items.entries()) {
    if (item["type"] === "function_call") {
      expect(open.has(item["call_id"])).toBe(false);
      expect(String(item["call_id"]).length).toBeLessThanOrEqual(maxIdChars);
      expect(item["name"]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(JSON.parse(String(item["arguments"]))).toBeTypeOf("object");
      open.add(item["call_id"]);
    } else if (item["type"] === "function_call_output") {
      expect(open.delete(item["call_id"])).toBe(true);
    } else if (item["type"] === "reasoning") {
      const next = items[index + 1];
      expect(next?.["type"] === "function_call" || next?.["role"] === "assistant").toBe(true);
    } else {
      expect(["user", "assistant"]).toContain(item["role"]);
      expect(open.size).toBe(0);
      expect(item["content"]).not.toBe("");
      expect(item["content"]).not.toEqual([]);
    }
  }
  expect(open.size).toBe(0);
}

/** Tool messages right after the turn that asked, one for each call; no assistant turn says nothing. */
function expectChat(
  messages: readonly Fields[],
  { isNative, maxIdChars }: { readonly isNative: boolean; readonly maxIdChars: number },
): void {
  for (const [index, message] of messages.entries()) {
    const calls = list(message, "tool_calls");
    expect(["system", "user", "assistant", "tool"]).toContain(message["role"]);
    if (message["role"] === "assistant" && calls.length === 0) expect(message["content"]).toBeTruthy();
    if (message["role"] === "user") expect(message["content"]).toBeTruthy();
    if (message["role"] === "tool") expect(message["content"]).toBeTypeOf("string");
    const results = messages.slice(index + 1, index + 1 + calls.length);
    expect(results.every(({ role }) => role === "tool")).toBe(true);
    expect(messages[index + 1 + calls.length]?.["role"] === "tool" && calls.length > 0).toBe(false);
    const names = calls.map((call) => fields(call["function"])?.["name"]);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    if (isNative) expect(results.map((result) => result["tool_name"])).toEqual(names);
    else expect(results.map((result) => result["tool_call_id"])).toEqual(calls.map(({ id }) => id));
    for (const { id } of calls) expect(String(id).length).toBeLessThanOrEqual(maxIdChars);
  }
}

function fields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? (value as Fields) : undefined; // Proof: checked here
}

function fieldsIn(value: unknown): readonly Fields[] {
  return [fields(value) ?? []].flat();
}

function list(value: unknown, name: string): readonly Fields[] {
  const found = fields(value)?.[name];
  return Array.isArray(found) ? found : [];
}
