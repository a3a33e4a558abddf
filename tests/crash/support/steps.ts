/** The steps of a process, and checks that say at which of them they failed. */

import { type ProcessEnd, type World, type WorldOptions, inWorld } from "./processes.ts";

/** One step, by number from 1. */
export interface Step {
  readonly n: number;
  readonly name: string;
}

/** The steps of a process that nobody kills. */
export async function stepsOf(
  work: (world: World) => Promise<ProcessEnd>,
  options: WorldOptions = {},
): Promise<readonly Step[]> {
  const { passed } = await inWorld(work, options);
  return passed.map((step, index) => ({ n: index + 1, name: `step ${index + 1}, ${step}` }));
}

/** Does the work in a world of its own; says at which step it failed. */
export async function killedAt(
  step: string,
  work: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  try {
    await inWorld(work, options);
  } catch (cause) {
    throw new Error(`Killed at ${step}: ${String(cause)}`, { cause });
  }
}
