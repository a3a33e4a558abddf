/** Cuts the endings of English words: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. */

/** An ending, what takes its place, and what has to be true of the part before it. */
type Rule = readonly [ending: string, replacement: string];

const STEP_2: readonly Rule[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
];
const STEP_3: readonly Rule[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];
const STEP_4 = /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|(?<=[st])ion|ou|ism|ate|iti|ous|ive|ize)$/;

/** The stem of a lower case word. Words of other letters, and of one or two, are returned as they are. */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  const plural = word
    .replace(/sses$/, "ss")
    .replace(/ies$/, "i")
    .replace(/(?<!s)s$/, "");
  const base = withoutY(withoutPast(plural));
  const shorter = replaceEnding(replaceEnding(base, STEP_2), STEP_3);
  return withoutE(withoutSuffix(shorter));
}

/** Step 1b: -eed, -ed and -ing. */
function withoutPast(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const part = word.replace(/(?:ed|ing)$/, "");
  if (part === word || !hasVowel(part)) return word;
  if (/(?:at|bl|iz)$/.test(part)) return `${part}e`;
  if (endsDouble(part) && !/[lsz]$/.test(part)) return part.slice(0, -1);
  return measure(part) === 1 && endsShort(part) ? `${part}e` : part;
}

/** Step 1c. */
function withoutY(word: string): string {
  return word.endsWith("y") && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;
}

/** Steps 2 and 3: the longest ending that fits decides, whether the part before it is long enough or not. */
function replaceEnding(word: string, rules: readonly Rule[]): string {
  const [found] = rules
    .filter(([ending]) => word.endsWith(ending))
    .toSorted(([left], [right]) => right.length - left.length);
  if (found === undefined) return word;
  const part = word.slice(0, -found[0].length);
  return measure(part) > 0 ? part + found[1] : word;
}

/** Step 4. */
function withoutSuffix(word: string): string {
  const part = word.replace(STEP_4, "");
  return part !== word && measure(part) > 1 ? part : word;
}

/** Step 5. */
function withoutE(word: string): string {
  const part = word.slice(0, -1);
  const cut = word.endsWith("e") && (measure(part) > 1 || (measure(part) === 1 && !endsShort(part)));
  const last = cut ? part : word;
  return measure(last) > 1 && last.endsWith("ll") ? last.slice(0, -1) : last;
}

function isVowel(word: string, at: number): boolean {
  const letter = word.charAt(at);
  if (letter === "y") return at > 0 && !isVowel(word, at - 1);
  return letter !== "" && "aeiou".includes(letter);
}

/** How often a vowel is followed by a consonant. */
function measure(word: string): number {
  let count = 0;
  for (let at = 1; at < word.length; at += 1) if (isVowel(word, at - 1) && !isVowel(word, at)) count += 1;
  return count;
}

function hasVowel(word: string): boolean {
  return Array.from(word).some((_, at) => isVowel(word, at));
}

function endsDouble(word: string): boolean {
  return word.at(-1) === word.at(-2) && !isVowel(word, word.length - 1);
}

/** Consonant, vowel, consonant, the last of them not w, x or y. */
function endsShort(word: string): boolean {
  const last = word.length - 1;
  return (
    last >= 2 &&
    !isVowel(word, last - 2) &&
    isVowel(word, last - 1) &&
    !isVowel(word, last) &&
    !/[wxy]$/.test(word)
  );
}
