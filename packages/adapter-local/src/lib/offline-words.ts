/** Words as the offline adapter compares them: folded, without endings, numbers alike. */

const STOP_WORDS = new Set(
  "a an and are as at be by can could do does for from get give has have i in is it its let me my of on one or our please so some that the their them then there these this to us want was we what when where which who will with would you your".split(
    " ",
  ),
);

/** The comparable words of a text: lower case, plural and verb endings off, every number `#`, operators kept. */
export function wordsOf(text: string): readonly string[] {
  const raw = text.toLowerCase().match(/\d[\d.,]*|[\p{L}\p{M}]+|[%+*/^=]/gu) ?? [];
  return raw.filter((word) => !STOP_WORDS.has(word)).map((word) => (/^\d/.test(word) ? "#" : stem(word)));
}

/** Cuts common English endings, so that "tasks", "adding" and "added" meet "task" and "add". */
function stem(word: string): string {
  if (word.length <= 3) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  const cut = word.replace(/(?:ing|ed|es|s)$/, "");
  const base = cut.length >= 3 ? cut : word;
  // "adding" leaves "add", "running" leaves "runn": a doubled consonant other than l, s or d was added by the ending.
  return /([bcfgkmnprtvz])\1$/.test(base) && base !== word ? base.slice(0, -1) : base.replace(/e$/, "");
}
