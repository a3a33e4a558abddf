/** The readable text of an HTML page: its words without tags, scripts and navigation. */

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["mdash", "—"],
  ["ndash", "–"],
  ["hellip", "…"],
  ["rsquo", "’"],
  ["lsquo", "‘"],
  ["ldquo", "“"],
  ["rdquo", "”"],
  ["copy", "©"],
]);

const SILENT =
  /<(script|style|noscript|template|svg|nav|header|footer|form|iframe)\b[^>]*>[\s\S]*?<\/\1\s*>/gi;

/** Title and text of a page. Works on any input; what is broken comes out as text. */
export function pageText(html: string): { readonly title: string; readonly text: string } {
  const title = /<title[^>]*>([\s\S]*?)<\/title>/i.exec(html)?.[1] ?? "";
  const body = html
    .replace(/<!--[\s\S]*?-->/g, " ")
    .replace(/<head\b[\s\S]*?<\/head\s*>/gi, " ")
    .replace(SILENT, " ")
    .replace(/<(?:br|hr)\b[^>]*>/gi, "\n")
    .replace(/<li\b[^>]*>/gi, "\n- ")
    .replace(/<\/?(?:p|div|section|article|main|h[1-6]|ul|ol|table|tr|blockquote|pre)\b[^>]*>/gi, "\n")
    .replace(/<\/t[dh]\s*>/gi, " | ")
    .replace(/<[^>]*>/g, "");
  const text = decode(body)
    .replace(/[^\S\n]+/g, " ")
    .replace(/ *\n */g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return { title: decode(title).replace(/\s+/g, " ").trim(), text };
}

function decode(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});/gi, (whole, reference: string) => {
    if (!reference.startsWith("#")) return ENTITIES.get(reference.toLowerCase()) ?? whole;
    const isHex = reference[1]?.toLowerCase() === "x";
    const code = Number.parseInt(reference.slice(isHex ? 2 : 1), isHex ? 16 : 10);
    const exists = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code <= 0xdfff);
    return exists ? String.fromCodePoint(code) : "\ufffd";
  });
}
