/** Serves, through our registry and server, the fixture tools that the public conformance suite asks for. */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { ToolRegistry, defineTool, err, ok } from "@openfunctions/core";

import { startServer } from "../../src/index.ts";

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A header and no samples. */
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const NO_PARAMS = { type: "object", properties: {} } as const;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const EXTRA = defineTool({
  name: "test_extra",
  description: "Comes and goes.",
  inputSchema: NO_PARAMS,
  contract: "read",
  handler: () => ok("extra"),
});

const registry = new ToolRegistry();
registry.registerAll([
  defineTool({
    name: "test_simple_text",
    description: "Answers with a line of text.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok("This is a simple text response for testing."),
  }),
  defineTool({
    name: "test_image_content",
    description: "Answers with an image.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok("a red pixel"),
    toModel: () => [{ type: "image", mediaType: "image/png", data: PNG }],
  }),
  defineTool({
    name: "test_audio_content",
    description: "Answers with a sound.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok("silence"),
    toModel: () => [{ type: "file", mediaType: "audio/wav", data: WAV }],
  }),
  defineTool({
    name: "test_embedded_resource",
    description: "Answers with an embedded text.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok("This is an embedded resource content."),
    toModel: (result) => [
      {
        type: "file",
        mediaType: "text/plain",
        url: "test://embedded-resource",
        data: base64(String(result.success && result.data)),
      },
    ],
  }),
  defineTool({
    name: "test_multiple_content_types",
    description: "Answers with a text, an image and an embedded document.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok({ test: "data", value: 123 }),
    toModel: (result) => [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", mediaType: "image/png", data: PNG },
      {
        type: "file",
        mediaType: "application/json",
        url: "test://mixed-content-resource",
        data: base64(JSON.stringify(result.success && result.data)),
      },
    ],
  }),
  defineTool({
    name: "test_error_handling",
    description: "Always fails.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => err("This tool intentionally returns an error for testing"),
  }),
  defineTool({
    name: "test_tool_with_progress",
    description: "Reports progress in three steps.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: async (_params, { progress, signal }) => {
      for (const step of [0, 50, 100]) {
        progress({ progress: step, total: 100 });
        await sleep(step === 100 ? 0 : 120, undefined, { signal });
      }
      return ok("done");
    },
  }),
  defineTool({
    name: "test_missing_capability",
    description: "Would need the client's sampling, which this server does not use.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () =>
      err("This tool needs the client's sampling.", {
        code: "missing_client_capability",
        details: { requiredCapabilities: { sampling: {} } },
      }),
  }),
  defineTool({
    name: "test_streaming_elicitation",
    description: "Streams progress and asks the client for nothing.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: (_params, { progress }) => {
      progress({ progress: 1, total: 1 });
      return ok("done");
    },
  }),
  defineTool({
    name: "test_logging_tool",
    description: "Sends no log message, since none was asked for.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok("done"),
  }),
  defineTool({
    name: "test_trigger_tool_change",
    description: "Adds a tool to the list, or takes it away again.",
    inputSchema: NO_PARAMS,
    contract: "write",
    handler: () => {
      if (!registry.unregister(EXTRA.name)) registry.register(EXTRA);
      return ok("changed");
    },
  }),
  defineTool({
    name: "json_schema_2020_12_tool",
    description: "Tool with JSON Schema 2020-12 features",
    contract: "read",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    handler: (params) => ok(params),
  }),
]);

const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
const server = await startServer(registry, {
  transport: "http",
  name: "openfunctions-conformance",
  http: { port: Number(values.port) },
});
console.log(`listening on ${server.url}`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
