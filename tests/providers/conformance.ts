/** The conformance suite as a program: every case of every adapter, one after the other, and how it came out. */

import { type AdapterSuite, describeAdapter } from "@openfunctions/core/testing";

/** How one case of the suite came out for one adapter. */
export interface CaseResult {
  readonly suite: string;
  /** The part of the suite: replies, streams, failures, requests. */
  readonly section: string;
  readonly title: string;
  /** Why it failed; absent where it passed. */
  readonly failure?: string;
}

interface CollectedCase {
  readonly section: string;
  readonly title: string;
  readonly run: () => Promise<void> | void;
}

const CASE_TIMEOUT_MS = 30_000;

/**
 * Runs the suites. Cases run one at a time: some replace the global fetch, some measure time. A case that does not end
 * within the limit has failed.
 */
export async function runConformance(
  suites: Readonly<Record<string, AdapterSuite>>,
  { timeoutMs = CASE_TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const [suite, its] of Object.entries(suites)) {
    for (const { section, title, run } of casesOf(suite, its)) {
      const failure = await failureOf(run, timeoutMs);
      results.push({ suite, section, title, ...(failure === undefined ? {} : { failure }) });
    }
  }
  return results;
}

/** What the suite would run, collected where a test runner would register it. */
function casesOf(name: string, suite: AdapterSuite): readonly CollectedCase[] {
  const cases: CollectedCase[] = [];
  const open: string[] = [];
  describeAdapter(name, suite, {
    describe: (title, body) => {
      open.push(title);
      body();
      open.pop();
    },
    it: (title, run) => void cases.push({ section: open.at(-1) ?? "", title, run }),
  });
  return cases;
}

async function failureOf(run: CollectedCase["run"], timeoutMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not end within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    await Promise.race([Promise.resolve().then(run), late]);
    return undefined;
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  } finally {
    clearTimeout(timer);
  }
}
