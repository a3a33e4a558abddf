/** Could this text still become a JSON object? Tells a cut from a mistake. */

/**
 * True where `text` is the beginning of some JSON object's text, not yet the whole: more characters could
 * finish it. `{"path":"a` is, `{bad` and a complete object are not. The parser itself decides: what is open is
 * closed, in every way that the last token could go on.
 */
export function isJsonObjectPrefix(text: string): boolean {
  const start = text.trimStart();
  if (!start.startsWith("{")) return false;
  const { closers, inString } = openParts(start);
  if (closers === "" && !inString) return false;
  const endings = inString ? STRING_ENDINGS : TOKEN_ENDINGS;
  return endings.some((ending) => isJson(start + ending + closers));
}

// Inside a string the cut may have hit an escape; the string may be a value or a key.
const ESCAPES = ["", "n", "0", "00", "000", "0000"];
const STRING_ENDINGS: readonly string[] = ESCAPES.flatMap((escape) => [`${escape}"`, `${escape}":0`]);

// Elsewhere it may have hit a number, a literal, or the place before a key, a colon or a value.
const LITERALS = ["rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l"];
const TOKEN_ENDINGS: readonly string[] = ["", "0", '"k":0', ":0", ...LITERALS];

function openParts(text: string): { readonly closers: string; readonly inString: boolean } {
  const closers: string[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{") closers.push("}");
    else if (char === "[") closers.push("]");
    else if (char === "}" || char === "]") closers.pop();
  }
  return { closers: closers.reverse().join(""), inString };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
