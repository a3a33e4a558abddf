/** The parts of a page that are generated: what stands between `<!-- begin <name> -->` and `<!-- end -->`. */

const PART = /(<!-- begin ([^\n]+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The page with every part written anew. Throws for a part that nobody writes. */
export function withGeneratedParts(page: string, partOf: (name: string) => string): string {
  return page.replaceAll(
    PART,
    (_, begin: string, name: string, end: string) => `${begin}${partOf(name)}\n${end}`,
  );
}

/** The names of the page's parts. */
export function partsOf(page: string): readonly string[] {
  return [...page.matchAll(PART)].map(([, , name = ""]) => name);
}
