// The floor: the same agent with nothing but `fetch`, one JSON reply per round.
const MAX_ROUNDS = 20;
const TOOLS = [
  {
    type: "function",
    name: "add",
    description: "Add two numbers",
    parameters: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    strict: true,
  },
];

export function make(baseUrl) {
  const request = (model, input, stream) =>
    fetch(`${baseUrl}/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer none" },
      body: JSON.stringify({ model, store: false, stream, instructions: "You are a helpful calculator.", tools: TOOLS, input }),
    });

  return {
    async run(model) {
      const input = [{ role: "user", content: "go" }];
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const { output } = await (await request(model, input, false)).json();
        const calls = output.filter((item) => item.type === "function_call");
        if (calls.length === 0) return output[0].content[0].text;
        input.push(...calls);
        for (const call of calls) {
          const { a, b } = JSON.parse(call.arguments);
          input.push({ type: "function_call_output", call_id: call.call_id, output: String(a + b) });
        }
      }
      throw new Error("too many rounds");
    },

    async stream(model, onDelta) {
      const { body } = await request(model, [{ role: "user", content: "go" }], true);
      let text = "";
      for await (const event of readEvents(body)) {
        if (event.type !== "response.output_text.delta") continue;
        text += event.delta;
        onDelta(event.delta);
      }
      return text;
    },
  };
}

async function* readEvents(body) {
  const decoder = new TextDecoder();
  let open = "";
  for await (const bytes of body) {
    const blocks = (open + decoder.decode(bytes, { stream: true })).split("\n\n");
    open = blocks.pop();
    for (const block of blocks) yield JSON.parse(block.slice(block.indexOf("data: ") + "data: ".length));
  }
}
