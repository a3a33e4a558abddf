/** Streams of the Messages API, written by hand after MessageStreamEvent of @anthropic-ai/sdk 1.14.0. */

/** One content block and the deltas it grows by. */
export interface Said {
  readonly block: object;
  readonly deltas?: readonly object[];
}

/** How a message ends, and what it counted. */
export interface Ending {
  readonly stop?: string | null;
  readonly id?: string;
  readonly startUsage?: object;
  readonly endUsage?: object;
  /** More fields of the end's `delta`. */
  readonly delta?: object;
}

/** The events of one message. */
export function messageEvents(said: readonly Said[], ending: Ending = {}): object[] {
  const { stop = "end_turn", id = "msg_1", startUsage = { input_tokens: 5, output_tokens: 1 } } = ending;
  return [
    {
      type: "message_start",
      message: { id, type: "message", role: "assistant", model: "m", content: [], usage: startUsage },
    },
    ...said.flatMap(({ block, deltas = [] }, index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null, ...ending.delta },
      usage: ending.endUsage ?? { output_tokens: 7 },
    },
    { type: "message_stop" },
  ];
}

/** Events as the blocks of a server-sent events body. */
export function sse(events: readonly object[]): string[] {
  return events.map((event) => `event: ${Reflect.get(event, "type")}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Text in pieces. */
export const text = (...pieces: readonly string[]): Said => ({
  block: { type: "text", text: "" },
  deltas: pieces.map((piece) => ({ type: "text_delta", text: piece })),
});

/** A call of one of our tools, its input in pieces. */
export const toolUse = (id: string, name: string, ...pieces: readonly string[]): Said => ({
  block: { type: "tool_use", id, name, input: {} },
  deltas: pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
});

/** Signed thinking, in pieces. */
export const thinking = (signature: string, ...pieces: readonly string[]): Said => ({
  block: { type: "thinking", thinking: "", signature: "" },
  deltas: [
    ...pieces.map((piece) => ({ type: "thinking_delta", thinking: piece })),
    { type: "signature_delta", signature },
  ],
});

/** A search that Anthropic runs itself, and what it found. */
export const search = (id: string): readonly Said[] => [
  {
    block: { type: "server_tool_use", id, name: "web_search", input: {} },
    deltas: [
      { type: "input_json_delta", partial_json: '{"query":' },
      { type: "input_json_delta", partial_json: '"é"}' },
    ],
  },
  { block: { type: "web_search_tool_result", tool_use_id: id, content: [{ encrypted_content: "x\u2028" }] } },
];
