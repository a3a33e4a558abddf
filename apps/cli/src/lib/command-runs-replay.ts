/** `openfunctions runs replay|fork`: a recorded run made again, or gone on with differently. */

import { type ForkOptions, ReplayError, forkRun, replayRun } from "@openfunctions/core/records";
import { chooseAdapter, wishLike } from "./choose-adapter.ts";
import { reportResult, untilInterrupted } from "./command-run.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { withHomeStores } from "./home-stores.ts";
import { openRecord } from "./open-record.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, print, printJson, printable } from "./output.ts";

/** Options of `runs replay`. */
export interface ReplayCommandOptions {
  readonly from?: readonly string[];
  readonly json?: boolean;
}

/** Exit 0 where the same record comes out, 1 where it does not. No network, and no tool runs. */
export async function replayCommand(name: string, options: ReplayCommandOptions): Promise<void> {
  const home = dataHome();
  const { from } = options;
  const tools = from === undefined ? undefined : await openTools({ home, from });
  await withHomeStores(home, async ({ runs }) => {
    const { events } = await openRecord(name, runs);
    try {
      const report = await replayRun(events, tools === undefined ? {} : { tools });
      if (options.json === true) return printJson({ ok: true, ...report });
      const part = report.complete ? "" : `, up to an end that came from outside`;
      print(`replayed ${report.events} of ${events.length} events to the same digest${part}: ${report.head}`);
    } catch (cause) {
      if (!(cause instanceof ReplayError)) throw cause;
      const { seq, expected, got, nearest } = cause;
      if (options.json === true) printJson({ ok: false, seq, expected, got, nearest });
      throw new CommandFailure(printable(cause.message), EXIT.failed);
    }
  });
}

/** Options of `runs fork`. */
export interface ForkCommandOptions {
  readonly at: string;
  readonly provider?: string;
  readonly model?: string;
  readonly from?: readonly string[];
  readonly live?: boolean;
  readonly say?: string;
  readonly json?: boolean;
}

/** Goes live from a point of a record as a new run, with the model that was asked or another. */
export async function forkCommand(name: string, options: ForkCommandOptions): Promise<void> {
  const home = dataHome();
  const at = pointOf(options.at);
  const live = options.live === true || options.from !== undefined;
  const tools = await openTools({ home, ...(options.from === undefined ? {} : { from: options.from }) });
  await withHomeStores(home, async (stores) => {
    const { events } = await openRecord(name, stores.runs);
    const asked = events[0]?.type === "run.started" ? events[0].data.model : undefined;
    const { adapter } = await chooseAdapter(wishLike(asked, options));
    const result = await untilInterrupted((signal) =>
      followRun(
        forkRun(events, {
          ...stores.loop,
          at,
          adapter,
          signal,
          capture: "full",
          ...(live ? { tools } : {}),
          ...(options.say === undefined ? {} : { messages: [{ role: "user", content: options.say }] }),
        }),
        () => {},
      ),
    );
    await reportResult(result, { asJson: options.json === true, stores, from: options.from });
  });
}

/** `7` is an event, `round:1` a round. */
function pointOf(text: string): ForkOptions["at"] {
  const [, round, seq] = /^(?:round:(\d+)|(\d+))$/.exec(text) ?? [];
  if (round !== undefined) return { round: Number(round) };
  if (seq !== undefined) return Number(seq);
  throw new CommandFailure(`--at is "${text}"; use an event number, or round:<n>.`, EXIT.usage);
}
