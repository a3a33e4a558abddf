/** `openfunctions resume`: goes on with a run that waited for a person. */

import { OpenFunctionsError, resumeRun } from "@openfunctions/core";
import { createCompactor } from "@openfunctions/memory";
import { chooseAdapter, wishLike } from "./choose-adapter.ts";
import { promptOf } from "./command-chat.ts";
import { reportResult, untilInterrupted } from "./command-run.ts";
import { conversationPrompt } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { withHomeStores } from "./home-stores.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT } from "./output.ts";

/** Options of the command. */
export interface ResumeCommandOptions {
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly json?: boolean;
  /** As the conversation was started with. */
  readonly prompt?: string;
  readonly preset?: string;
  readonly allowDrift?: boolean;
}

/** Resumes and prints the answer; exits as `run` does. The model is the one that was asked, unless another is named. */
export async function resumeCommand(runId: string, options: ResumeCommandOptions): Promise<void> {
  const home = dataHome();
  const tools = await openTools({ home, ...(options.from === undefined ? {} : { from: options.from }) });
  await withHomeStores(home, async (stores) => {
    if (runId === "") throw new CommandFailure("The id of the run is empty.", EXIT.usage);
    const asked = (await stores.runs.get(runId))?.model;
    const { adapter } = await chooseAdapter(wishLike(asked, options));
    const names = (await stores.runs.get(runId))?.toolCalls.map(
      ({ callId, toolName }) => [callId, toolName] as const,
    );
    const result = await untilInterrupted(async (signal) => {
      const run = await resumeRun(runId, {
        ...stores.loop,
        adapter,
        tools,
        compactor: createCompactor({ adapter }),
        signal,
        system: conversationPrompt(await promptOf(options)),
        allowDrift: options.allowDrift === true,
      });
      return followRun(run, () => {}, names);
    }).catch((cause: unknown) => {
      if (!OpenFunctionsError.is(cause) || cause.code !== "resume_mismatch") throw cause;
      const how = "Resume it with the --from and --prompt it was started with, or go on with --allow-drift.";
      throw new CommandFailure(`${cause.message} ${how}`, EXIT.failed);
    });
    await reportResult(result, { asJson: options.json === true, stores, from: options.from });
  });
}
