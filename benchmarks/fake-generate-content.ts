/** The fake model in the format of Gemini's streamGenerateContent. */

import { type FakeReply, type FakeRequest, readObjects, readText, type RequestBody } from "./fake-reply.ts";
import { answerDeltas, callsOfRound } from "./fake-script.ts";

const USAGE = { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 };

/** Answers one streamed request: asks for tools until the script's rounds are done, then gives the answer. */
export function answerContent({ body, model, script, replyId }: FakeRequest): FakeReply {
  const round = roundsSoFar(readObjects(body["contents"]));
  const declared = readObjects(readObjects(body["tools"])[0]?.["functionDeclarations"]);
  const toolName = readText(declared[0]?.["name"]) ?? "add";
  const parts: readonly (readonly object[])[] =
    round < script.rounds
      ? [
          callsOfRound(script, { round, replyId, toolName }).map(({ id, name, argsText }) => ({
            functionCall: { id, name, args: JSON.parse(argsText) },
          })),
        ]
      : answerDeltas(script).map((text) => [{ text }]);
  const events = parts.map((content, index) => {
    const isLast = index === parts.length - 1;
    const candidate = {
      content: { role: "model", parts: content },
      index: 0,
      ...(isLast && { finishReason: "STOP" }),
    };
    const chunk = {
      candidates: [candidate],
      modelVersion: model,
      responseId: `r${replyId}`,
      usageMetadata: USAGE,
    };
    return `data: ${JSON.stringify(chunk)}\r\n\r\n`;
  });
  return { type: "events", events };
}

/** Turns of the model with calls since the last text of the user. */
function roundsSoFar(contents: readonly RequestBody[]): number {
  const partsOf = ({ parts }: RequestBody): readonly RequestBody[] => readObjects(parts);
  const lastUser = contents.findLastIndex(
    (content) => content["role"] === "user" && partsOf(content).some(({ text }) => text !== undefined),
  );
  return contents
    .slice(lastUser + 1)
    .filter((content) => partsOf(content).some(({ functionCall }) => functionCall !== undefined)).length;
}
