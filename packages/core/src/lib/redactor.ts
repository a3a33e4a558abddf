/** Secrets leave text and JSON before anything is stored, shown or thrown. */

import type { Json } from "./json.ts";

/** Replaces secrets by `[redacted:<kind>]`. */
export interface Redactor {
  redactText(text: string): string;
  /** The same value where nothing was found; else a copy. */
  redactJson(value: Json): Json;
}

/** Exact values to remove too, such as the key in use. Values under 4 characters are ignored. */
export interface RedactorOptions {
  readonly secrets?: readonly string[];
}

const MIN_SECRET_CHARS = 4;
/** No token pattern fits into less: the shortest is a URL with a password. */
const MIN_TOKEN_CHARS = 9;

/**
 * Token shapes, each with the name that replaces it. Sources: the issuers' own documentation of their prefixes
 * and GitHub's list of supported secret scanning patterns (2026-11). Order matters: the first that fits wins.
 */
const TOKEN_PATTERNS: readonly (readonly [kind: string, pattern: string])[] = [
  [
    "private_key",
    "-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)",
  ],
  ["anthropic_key", "\\bsk-ant-[A-Za-z0-9_-]{16,}"],
  ["openrouter_key", "\\bsk-or-[A-Za-z0-9_-]{16,}"],
  ["openai_key", "\\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{16,}"],
  ["xai_key", "\\bxai-[A-Za-z0-9]{20,}"],
  ["groq_key", "\\bgsk_[A-Za-z0-9]{20,}"],
  ["google_key", "\\bAIza[A-Za-z0-9_-]{30,}"],
  ["google_token", "\\bya29\\.[A-Za-z0-9_-]{20,}"],
  ["huggingface_token", "\\bhf_[A-Za-z0-9]{20,}"],
  ["aws_key_id", "\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b"],
  ["github_token", "\\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"],
  ["gitlab_token", "\\bglpat-[A-Za-z0-9_-]{20,}"],
  ["slack_token", "\\bxox[abeoprs]-[A-Za-z0-9-]{10,}"],
  ["slack_webhook", "\\bhttps://hooks\\.slack\\.com/services/[A-Za-z0-9/]{20,}"],
  ["discord_webhook", "\\bhttps://discord(?:app)?\\.com/api/webhooks/\\d+/[A-Za-z0-9_-]{20,}"],
  ["telegram_token", "\\b\\d{8,10}:AA[A-Za-z0-9_-]{32,}"],
  ["stripe_key", "\\b(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"],
  ["npm_token", "\\bnpm_[A-Za-z0-9]{30,}"],
  ["pypi_token", "\\bpypi-[A-Za-z0-9_-]{50,}"],
  ["sendgrid_key", "\\bSG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}"],
  ["digitalocean_token", "\\bdo[opr]_v1_[a-f0-9]{32,}"],
  ["jwt", "\\beyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{4,}"],
  ["authorization", "(?<=\\b[Bb]earer\\s{1,4})[A-Za-z0-9._~+/=-]{8,}"],
  ["authorization", "(?<=\\b[Bb]asic\\s{1,4})[A-Za-z0-9+/]{12,}={0,2}"],
  ["password", "(?<=\\b[a-z][a-z0-9+.-]{1,20}://[^\\s/:@]{0,64}:)[^\\s/@]{1,256}(?=@)"],
];

/** `password=...`, `"api_key": "..."` and the like, inside running text. The name stays, the value goes. */
const NAMED_VALUE =
  /((?:password|passwd|passphrase|secret|api[_-]?key|(?:access|auth|refresh|session|bearer|bot|client)[_-]?token|authorization|(?:set-)?cookie)["']?\s{0,4}[:=]\s{0,4}["']?)(?!\[redacted:)([^\s"',;&{}[\]()<>]{4,})/gi;

const ONE_PASS = new RegExp(TOKEN_PATTERNS.map(([, pattern]) => `(${pattern})`).join("|"), "g");

/** How the name of a secret ends, once in lower case and without separators; what it ends with names the secret. */
const SECRET_KEY =
  /(authorization|token|password|passwd|passphrase|secret|apikey|privatekey|secretkey|accesskey|cookie|credentials?)$/;

/**
 * Makes a redactor (spec runs.md section 2). Text loses known token shapes, named values (`password=...`) and
 * the given exact secrets; JSON loses, besides that, every string and number under a key whose name ends in
 * `authorization`, `token`, `password`, `secret`, `api_key`, `cookie` and close relatives. Objects under such
 * a key are searched, not removed, so that a schema with a property `password` stays a schema.
 */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const secrets = (options.secrets ?? [])
    .map((secret) => secret.trim())
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .toSorted((left, right) => right.length - left.length);
  const redactText = (text: string): string => {
    let clean = text;
    for (const secret of secrets) clean = clean.replaceAll(secret, "[redacted:key]");
    if (clean.length >= MIN_TOKEN_CHARS) clean = clean.replace(ONE_PASS, nameMatch);
    return /[:=]/.test(clean) ? clean.replace(NAMED_VALUE, "$1[redacted:named]") : clean;
  };
  return Object.freeze({ redactText, redactJson: (value: Json) => redactValue(value, redactText) });
}

/** What a record loses where nobody says otherwise: known token shapes, named values, values under names of secrets. */
export const redactSecrets: Redactor["redactJson"] = createRedactor().redactJson;

function nameMatch(match: string, ...groups: readonly unknown[]): string {
  for (const [index, [kind]] of TOKEN_PATTERNS.entries()) {
    if (groups[index] !== undefined) return `[redacted:${kind}]`;
  }
  return match;
}

function redactValue(value: Json, redactText: (text: string) => string): Json {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return redactList(value, (item) => redactValue(item, redactText));
  let changed = false;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const kind = secretKindOf(key);
    const clean = kind === undefined ? redactValue(item, redactText) : redactNamed(item, kind, redactText);
    changed ||= clean !== item;
    return [key, clean];
  });
  // fromEntries defines own properties, so a key "__proto__" stays data.
  return changed ? Object.fromEntries(entries) : value;
}

function redactNamed(value: Json, kind: string, redactText: (text: string) => string): Json {
  if (typeof value === "string") return value === "" ? value : `[redacted:${kind}]`;
  // A number under "...token" is a count or a price far more often than a secret.
  if (typeof value === "number") return kind === "token" ? value : `[redacted:${kind}]`;
  if (isList(value)) return redactList(value, (item) => redactNamed(item, kind, redactText));
  return redactValue(value, redactText);
}

function redactList(list: readonly Json[], redact: (item: Json) => Json): readonly Json[] {
  const clean = list.map(redact);
  return clean.some((item, index) => item !== list[index]) ? clean : list;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

// The keys of one program are few, and the answer to each is always the same.
const KINDS = new Map<string, string | undefined>();
const MAX_KINDS = 2_000;

function secretKindOf(key: string): string | undefined {
  if (key.length < 5) return undefined;
  if (KINDS.has(key)) return KINDS.get(key);
  const plain = key.toLowerCase().replace(/[-_.\s]/g, "");
  const kind = SECRET_KEY.exec(plain)?.[1]?.replace(/key$/, "_key");
  if (KINDS.size < MAX_KINDS) KINDS.set(key, kind);
  return kind;
}
