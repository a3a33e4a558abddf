/** Argument text becomes an object, a cut or an error. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObjectPrefix } from "./json-prefix.ts";
import { parseToolArguments } from "./tool-arguments.ts";

describe("parseToolArguments", () => {
  it("field A1: field A2: takes nothing, white space and null as {}", () => {
    for (const raw of ["", "  \n", "null", null, undefined, {}])
      expect(parseToolArguments(raw).args).toEqual({});
    for (const raw of ["", "null", null, undefined, {}])
      expect(parseToolArguments(raw).argsError).toBeUndefined();
  });

  it("takes an object in place of text", () => {
    expect(parseToolArguments({ a: [1] })).toEqual({ args: { a: [1] }, argsText: '{"a":[1]}' });
  });

  it("names what is not an object", () => {
    expect(parseToolArguments("[1]").argsError).toBe("The arguments are an array, not a JSON object.");
    expect(parseToolArguments('"x"').argsError).toBe("The arguments are a string, not a JSON object.");
    expect(parseToolArguments("7").argsError).toBe("The arguments are a number, not a JSON object.");
    expect(parseToolArguments(true).argsError).toBe("The arguments are a boolean, not a JSON object.");
  });

  it("field A13: tells a cut from a mistake", () => {
    expect(parseToolArguments('{"path":"a')).toMatchObject({
      truncated: true,
      args: {},
      argsText: '{"path":"a',
    });
    expect(parseToolArguments("{bad")).toEqual({
      args: {},
      argsText: "{bad",
      argsError: "The arguments are not valid JSON.",
    });
    expect(parseToolArguments('{"a":1} trailing').truncated).toBeUndefined();
  });

  it("security S32: keeps __proto__ as data", () => {
    const { args } = parseToolArguments('{"__proto__":{"polluted":1}}');
    expect(Object.hasOwn(args, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("isJsonObjectPrefix", () => {
  it("is true for every proper prefix of an object's text", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()),
        fc.constantFrom(0, 2),
        (value, indent) => {
          const text = JSON.stringify(value, undefined, indent).replaceAll("é", "\\u00e9");
          for (let end = 1; end < text.length; end += 1)
            expect(isJsonObjectPrefix(text.slice(0, end)), text.slice(0, end)).toBe(true);
          expect(isJsonObjectPrefix(text)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is false where no JSON object could follow", () => {
    for (const text of [
      "{bad",
      "{'a'",
      "{,",
      '{"a" 1',
      '{"a":,',
      '{"a":1,,',
      '{"a":01',
      '{"a":1.e',
      '{"a":--',
      '{"a":tru1',
      '{"a":+1',
      '{"a":"\\x',
      '{"a":"\\u00g',
      '{"a":"\n',
      '{"a":[1 2',
      '{"a":[,',
      '{"a":1]',
      "[1",
      '"a',
      "x",
      "",
      '{"a":1}}',
      '{"a":1} {',
    ]) {
      expect(isJsonObjectPrefix(text), text).toBe(false);
    }
  });

  it("agrees with the parser about numbers cut anywhere", () => {
    for (const text of ['{"a":-', '{"a":0', '{"a":0.', '{"a":1e', '{"a":1e+', '{"a":-1.5E-2', '{"a":12'])
      expect(isJsonObjectPrefix(text), text).toBe(true);
    for (const text of ['{"a":1e+ ', '{"a":0. ', '{"a":- '])
      expect(isJsonObjectPrefix(text), text).toBe(false);
  });

  it("security S34: reads deep nesting without recursion", () => {
    expect(isJsonObjectPrefix(`{"a":${"[".repeat(100_000)}`)).toBe(true);
  });
});
