import { ConfigError } from "@openfunctions/core";
import { describe, expect, it } from "vitest";
import { EXIT, describeError, exitCodeOf, printable } from "./output.ts";

describe("what the command line prints", () => {
  it("security S14: control characters cannot move the cursor, forge a line or hide text", () => {
    expect(printable("a\r\u001b[2Jb\u2028c\u0007")).toBe("a\\u000d\\u001b[2Jb\\u2028c\\u0007");
    expect(printable("two\nlines\tand tabs stay")).toBe("two\nlines\tand tabs stay");
    expect(describeError(new Error("bad \u001b[31mname"))).not.toContain("\u001b");
  });

  it("says what would work, and whose move it is by the exit code", () => {
    const error = new ConfigError("no key", { code: "missing_key", hint: "set it" });
    expect(describeError(error)).toBe("no key\nset it");
    expect(exitCodeOf(error)).toBe(EXIT.environment);
    expect(exitCodeOf(new Error("x"))).toBe(EXIT.failed);
  });
});
