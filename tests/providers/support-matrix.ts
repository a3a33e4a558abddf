/** The support matrix: what the conformance suite saw of every adapter, as a page. */

import type { CaseResult } from "./conformance.ts";

/** A column: an adapter on one of its wires, by the name of its suite. */
export interface Column {
  readonly suite: string;
  /** Markdown. */
  readonly heading: string;
}

const INTRO = `<!-- Written by \`npm run providers\` from the results of the conformance suite. Do not edit. -->

# Support matrix

What \`describeAdapter\` of \`@openfunctions/core/testing\` saw when it last ran: every adapter through its real SDK, against
a fake server on the loopback. The checks run it again and fail where this page no longer says what happens.

| word | means |
|---|---|
| yes | the case passed |
| – | not declared: the adapter's suite leaves the case out, because the provider's API has no such thing; its page says what happens instead |
| FAILED | the case failed; no release has this word |

The offline adapter is no model and plays no script, so the suite does not run for it; its own tests do.
`;

/** The page. The cases stand in the order of the suite, and each once, however many adapters ran it. */
export function supportMatrix(results: readonly CaseResult[], columns: readonly Column[]): string {
  const known = new Set(columns.map(({ suite }) => suite));
  const stray = results.find(({ suite }) => !known.has(suite));
  if (stray !== undefined) throw new Error(`There is no column for the suite "${stray.suite}".`);
  const sections = unique(results.map(({ section }) => section));
  const tables = sections.map((section) => sectionTable(section, results, columns));
  return [INTRO, ...tables, totals(results, columns)].join("\n");
}

function sectionTable(section: string, results: readonly CaseResult[], columns: readonly Column[]): string {
  const own = results.filter((result) => result.section === section);
  const rows = inSuiteOrder(own).map((title) => {
    const cells = columns.map(({ suite }) =>
      cellOf(own.find((one) => one.suite === suite && one.title === title)),
    );
    return line([behaviourOf(title), ...cells]);
  });
  return `## ${capital(section)}\n\n${head(["", ...columns.map(({ heading }) => heading)])}\n${rows.join("\n")}\n`;
}

/** As in the suite that ran most of them; a title that it left out stands behind the one before it elsewhere. */
function inSuiteOrder(results: readonly CaseResult[]): readonly string[] {
  const titlesOf = (suite: string): readonly string[] =>
    results.filter((result) => result.suite === suite).map(({ title }) => title);
  const lists = unique(results.map(({ suite }) => suite)).map(titlesOf);
  const order: string[] = [];
  for (const titles of lists.toSorted((left, right) => right.length - left.length)) {
    let before = -1;
    for (const title of titles) {
      if (!order.includes(title)) order.splice(before + 1, 0, title);
      before = order.indexOf(title);
    }
  }
  return order;
}

function cellOf(result: CaseResult | undefined): string {
  if (result === undefined) return "–";
  return result.failure === undefined ? "yes" : "FAILED";
}

/** A title without the rows of the case tables that it proves. */
function behaviourOf(title: string): string {
  return title.replace(/^(?:[a-z]+ [A-Z]\d+: )+/, "").replaceAll("|", "\\|");
}

function totals(results: readonly CaseResult[], columns: readonly Column[]): string {
  const rows = columns.map(({ suite, heading }) => {
    const own = results.filter((result) => result.suite === suite);
    const failed = own.filter(({ failure }) => failure !== undefined).length;
    return line([heading, String(own.length - failed), String(failed)]);
  });
  return `## In numbers\n\n${head(["", "passed", "failed"])}\n${rows.join("\n")}\n`;
}

function head(cells: readonly string[]): string {
  return `${line(cells)}\n|${cells.map(() => "---|").join("")}`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
