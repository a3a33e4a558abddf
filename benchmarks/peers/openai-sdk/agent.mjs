// The agent written by hand on the bare `openai` SDK. It makes the calls that adapter-openai makes: streamed
// Responses, nothing stored, the whole history in each request.
import OpenAI from "openai";

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
  const client = new OpenAI({ apiKey: "none", baseURL: baseUrl, maxRetries: 0 });

  const request = (model, input) =>
    client.responses.create({
      model,
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      instructions: "You are a helpful calculator.",
      tools: TOOLS,
      input,
    });

  return {
    async run(model) {
      const input = [{ role: "user", content: "go" }];
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const { items, text } = await readReply(await request(model, input));
        const calls = items.filter((item) => item.type === "function_call");
        if (calls.length === 0) return text;
        for (const call of calls) {
          input.push({ type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments });
        }
        for (const call of calls) {
          const { a, b } = JSON.parse(call.arguments);
          input.push({ type: "function_call_output", call_id: call.call_id, output: String(a + b) });
        }
      }
      throw new Error("too many rounds");
    },

    async stream(model, onDelta) {
      const { text } = await readReply(await request(model, [{ role: "user", content: "go" }]), onDelta);
      return text;
    },
  };
}

async function readReply(stream, onDelta) {
  let text = "";
  const items = [];
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") {
      text += event.delta;
      onDelta?.(event.delta);
    } else if (event.type === "response.output_item.done") items.push(event.item);
  }
  return { items, text };
}
