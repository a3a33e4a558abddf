import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

describe("nearest", () => {
  it("finds a swapped letter, a wrong letter and other case", () => {
    expect(nearest("minLenght", ["maxLength", "minLength", "minItems"], 1)).toEqual(["minLength"]);
    expect(nearest("raed_file", ["write_file", "read_file"])[0]).toBe("read_file");
    expect(nearest("READ_FILE", ["read_file"])).toEqual(["read_file"]);
  });
  it("finds a name that contains the other one, after closer names", () => {
    expect(nearest("file", ["read_file_lines", "fire"])).toEqual(["fire", "read_file_lines"]);
  });
  it("finds nothing when nothing is near", () => {
    expect(nearest("foo", ["read_file", "list_tasks"])).toEqual([]);
    expect(nearest("", ["a"])).toEqual([]);
  });
  it("gives at most three, or as many as asked", () => {
    const names = ["aab", "aac", "aad", "aae"];
    expect(nearest("aaa", names)).toHaveLength(3);
    expect(nearest("aaa", names, 1)).toHaveLength(1);
  });
  it("does not compare text of a megabyte", () => {
    expect(nearest("x".repeat(1_000_000), ["read_file"])).toEqual([]);
  });
});
