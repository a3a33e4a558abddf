/** Dates and time zones: what time it is somewhere, what is between two dates, what comes after one. */

import { type Tool, defineTool, err, ok } from "@openfunctions/core";

const CONTRACT = {
  version: "1",
  authority: { level: "none" },
  effects: { kind: "read", openWorld: false },
  idempotency: { mode: "natural" },
} as const;

/** Makes `current_time`, `days_between`, `shift_date` and `convert_time`. */
export function createDateTools(): readonly Tool[] {
  return [currentTime(), daysBetween(), shiftDate(), convertTime()];
}

function currentTime(): Tool {
  return defineTool({
    name: "current_time",
    description: "Tells the current date and time, here or in a city or time zone.",
    inputSchema: {
      type: "object",
      properties: {
        place: {
          type: "string",
          description: 'A city or IANA time zone, such as "Tokyo" or "Europe/Oslo". Left out: here.',
        },
      },
    },
    contract: CONTRACT,
    tags: ["time"],
    examples: [
      { description: "what time is it in Tokyo", input: { place: "Tokyo" } },
      { description: "what time is it", input: {} },
      { description: "what is the date today", input: {} },
      { description: "what is the time in New York", input: { place: "New York" } },
    ],
    tests: [
      {
        description: "knows cities",
        input: { place: "tokyo" },
        expect: { data: { timeZone: "Asia/Tokyo" } },
      },
      {
        description: "knows zones",
        input: { place: "Europe/Oslo" },
        expect: { data: { timeZone: "Europe/Oslo" } },
      },
      {
        description: "says what it does not know",
        input: { place: "Atlantis" },
        expect: { success: false, error: "Atlantis" },
      },
    ],
    handler: ({ place }, { ports }) => {
      const timeZone =
        place === undefined ? Intl.DateTimeFormat().resolvedOptions().timeZone : findZone(place);
      if (timeZone === undefined)
        return err(
          `No time zone is known for "${place}". Use a large city or a zone such as "Europe/Oslo".`,
          { code: "unknown_place" },
        );
      const now = new Date(ports.clock.now());
      const text = new Intl.DateTimeFormat("en-GB", {
        dateStyle: "full",
        timeStyle: "short",
        timeZone,
      }).format(now);
      return ok({ timeZone, iso: localIso(now, timeZone), text }, `It is ${text} in ${place ?? timeZone}.`);
    },
  });
}

function daysBetween(): Tool {
  return defineTool({
    name: "days_between",
    description: "Counts the days between two dates.",
    inputSchema: {
      type: "object",
      properties: {
        from: { type: "string", format: "date", description: "First date, YYYY-MM-DD." },
        to: { type: "string", format: "date", description: "Second date, YYYY-MM-DD." },
      },
      required: ["from", "to"],
    },
    contract: { ...CONTRACT, effects: { kind: "none", openWorld: false } },
    tags: ["time"],
    examples: [
      {
        description: "how many days are there between 2026-01-01 and 2026-03-01",
        input: { from: "2026-01-01", to: "2026-03-01" },
        output: { days: 59 },
      },
      { description: "days from 2026-01-01 to 2026-03-01", input: { from: "2026-01-01", to: "2026-03-01" } },
    ],
    tests: [
      {
        description: "counts over a leap day",
        input: { from: "2028-02-28", to: "2028-03-01" },
        expect: { data: { days: 2 } },
      },
      {
        description: "counts backwards",
        input: { from: "2026-03-01", to: "2026-02-28" },
        expect: { data: { days: -1 } },
      },
    ],
    handler: ({ from, to }) => {
      const days = Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000);
      return ok({ days }, `From ${from} to ${to} it is ${days} ${Math.abs(days) === 1 ? "day" : "days"}.`);
    },
  });
}

function shiftDate(): Tool {
  return defineTool({
    name: "shift_date",
    description: "Gives the date some days, weeks, months or years after (or before) a date.",
    inputSchema: {
      type: "object",
      properties: {
        date: { type: "string", format: "date", description: "The date to begin at, YYYY-MM-DD." },
        amount: {
          type: "integer",
          minimum: -100_000,
          maximum: 100_000,
          description: "How many; negative goes back.",
        },
        unit: { type: "string", enum: ["days", "weeks", "months", "years"], description: "Of what." },
      },
      required: ["date", "amount", "unit"],
    },
    contract: { ...CONTRACT, effects: { kind: "none", openWorld: false } },
    tags: ["time"],
    examples: [
      {
        description: "what date is 10 days after 2026-01-25",
        input: { amount: 10, unit: "days", date: "2026-01-25" },
        output: { date: "2026-02-04" },
      },
    ],
    tests: [
      {
        description: "adds weeks",
        input: { date: "2026-12-28", amount: 1, unit: "weeks" },
        expect: { data: { date: "2027-01-04" } },
      },
      {
        description: "keeps to the end of a short month",
        input: { date: "2026-01-31", amount: 1, unit: "months" },
        expect: { data: { date: "2026-02-28" } },
      },
      {
        description: "goes back",
        input: { date: "2028-02-29", amount: -1, unit: "years" },
        expect: { data: { date: "2027-02-28" } },
      },
    ],
    handler: ({ date, amount, unit }) => {
      const shifted = shift(date, amount, unit);
      if (shifted === undefined)
        return err(`${amount} ${unit} from ${date} is no date the calendar here reaches.`, {
          code: "out_of_range",
        });
      return ok(
        { date: shifted },
        `${Math.abs(amount)} ${unit} ${amount < 0 ? "before" : "after"} ${date} is ${shifted}.`,
      );
    },
  });
}

function convertTime(): Tool {
  return defineTool({
    name: "convert_time",
    description: "Converts a local time of one city or time zone to another.",
    inputSchema: {
      type: "object",
      properties: {
        time: {
          type: "string",
          pattern: "^(\\d{4}-\\d{2}-\\d{2}T)?\\d{1,2}:\\d{2}$",
          description: "HH:MM today, or YYYY-MM-DDTHH:MM.",
        },
        from: { type: "string", description: "City or zone the time is given in." },
        to: { type: "string", description: "City or zone to convert to." },
      },
      required: ["time", "from", "to"],
    },
    contract: CONTRACT,
    tags: ["time"],
    examples: [
      {
        description: "what is 14:30 in London in Tokyo time",
        input: { time: "14:30", from: "London", to: "Tokyo" },
      },
    ],
    tests: [
      {
        description: "knows summer time",
        input: { time: "2026-07-01T12:00", from: "London", to: "UTC" },
        expect: { data: { time: "2026-07-01T11:00" } },
      },
      {
        description: "crosses midnight",
        input: { time: "2026-01-01T23:30", from: "UTC", to: "Tokyo" },
        expect: { data: { time: "2026-01-02T08:30" } },
      },
      {
        description: "says what it does not know",
        input: { time: "12:00", from: "Atlantis", to: "UTC" },
        expect: { success: false, error: "Atlantis" },
      },
    ],
    handler: ({ time, from, to }, { ports }) => {
      const [source, target] = [findZone(from), findZone(to)];
      if (source === undefined || target === undefined)
        return err(`No time zone is known for "${source === undefined ? from : to}".`, {
          code: "unknown_place",
        });
      const local = time.includes("T")
        ? time
        : `${localIso(new Date(ports.clock.now()), source).slice(0, 10)}T${time.padStart(5, "0")}`;
      const instant = instantOf(local, source);
      if (instant === undefined) return err(`"${time}" is no time of day.`, { code: "bad_time" });
      const converted = localIso(instant, target).slice(0, 16);
      return ok(
        { time: converted, timeZone: target },
        `${local.replace("T", " ")} in ${from} is ${converted.replace("T", " ")} in ${to}.`,
      );
    },
  });
}

function findZone(place: string): string | undefined {
  const wanted = place.trim().toLowerCase().replaceAll(" ", "_");
  if (wanted === "utc" || wanted === "gmt") return "UTC";
  const zones = Intl.supportedValuesOf("timeZone");
  const exact = zones.find(
    (zone) => zone.toLowerCase() === wanted || zone.toLowerCase().endsWith(`/${wanted}`),
  );
  return exact ?? OTHER_CITIES.get(wanted);
}

/** Large cities that share the zone of another. Source: the IANA time zone database's zone1970 table. */
const OTHER_CITIES: ReadonlyMap<string, string> = new Map([
  ["san_francisco", "America/Los_Angeles"],
  ["seattle", "America/Los_Angeles"],
  ["boston", "America/New_York"],
  ["washington", "America/New_York"],
  ["miami", "America/New_York"],
  ["dallas", "America/Chicago"],
  ["munich", "Europe/Berlin"],
  ["hamburg", "Europe/Berlin"],
  ["geneva", "Europe/Zurich"],
  ["barcelona", "Europe/Madrid"],
  ["milan", "Europe/Rome"],
  ["beijing", "Asia/Shanghai"],
  ["delhi", "Asia/Kolkata"],
  ["mumbai", "Asia/Kolkata"],
  ["bangalore", "Asia/Kolkata"],
  ["osaka", "Asia/Tokyo"],
  ["rio_de_janeiro", "America/Sao_Paulo"],
  ["kyiv", "Europe/Kiev"],
  ["cape_town", "Africa/Johannesburg"],
]);

/** The wall clock of a zone, `YYYY-MM-DDTHH:MM:SS`. */
function localIso(instant: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "medium",
  }).format(instant);
  return parts.replace(" ", "T");
}

/** The instant at which a zone's wall clock shows `local`. Two rounds settle the offset around a change of summer time. */
function instantOf(local: string, timeZone: string): Date | undefined {
  const wall = Date.parse(`${local}:00Z`);
  if (Number.isNaN(wall)) return undefined;
  let guess = wall;
  for (let round = 0; round < 2; round += 1)
    guess = wall - (Date.parse(`${localIso(new Date(guess), timeZone)}Z`) - guess);
  return new Date(guess);
}

function shift(date: string, amount: number, unit: string): string | undefined {
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  const days = unit === "weeks" ? amount * 7 : unit === "days" ? amount : 0;
  const months = unit === "years" ? amount * 12 : unit === "months" ? amount : 0;
  const first = new Date(Date.UTC(year, month - 1 + months, 1));
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const result = new Date(
    Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), Math.min(day, lastDay) + days),
  );
  return Number.isNaN(result.getTime()) || result.getUTCFullYear() < 1 || result.getUTCFullYear() > 9999
    ? undefined
    : result.toISOString().slice(0, 10);
}
