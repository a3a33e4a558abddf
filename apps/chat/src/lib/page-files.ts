/** The page's own files, with headers under which nothing but they can run. */

import { readFile } from "node:fs/promises";

const TYPES = { "index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css" } as const;

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** One file of the page. */
export async function pageFile(name: keyof typeof TYPES): Promise<Response> {
  const content = await readFile(new URL(`../page/${name}`, import.meta.url));
  return new Response(content, { headers: { ...HEADERS, "content-type": `${TYPES[name]}; charset=utf-8` } });
}
