/** Secrets leave text and JSON. */

import { describe, expect, it } from "vitest";
import { createRedactor } from "./redactor.ts";

const { redactText, redactJson } = createRedactor();
const fill = (length: number): string => "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3cE6fG9".repeat(3).slice(0, length);

describe("redactText", () => {
  it("removes tokens of many issuers", () => {
    const tokens = [
      `sk-proj-${fill(40)}`,
      `sk-ant-api03-${fill(40)}`,
      `sk-or-v1-${fill(40)}`,
      `sk-${fill(40)}`,
      `xai-${fill(40)}`,
      `gsk_${fill(40)}`,
      `AIza${fill(35)}`,
      `ya29.${fill(40)}`,
      `hf_${fill(34)}`,
      "AKIAIOSFODNN7EXAMPLE",
      `ghp_${fill(36)}`,
      `github_pat_${fill(60)}`,
      `glpat-${fill(20)}`,
      `xoxb-${"1".repeat(12)}-${fill(20)}`,
      `https://hooks.slack.com/services/T0/B0/${fill(24)}`,
      `https://discord.com/api/webhooks/123/${fill(40)}`,
      `123456789:AA${fill(33)}`,
      `sk_live_${fill(24)}`,
      `npm_${fill(36)}`,
      `SG.${fill(22)}.${fill(43)}`,
      `eyJ${fill(20)}.eyJ${fill(20)}.${fill(20)}`,
      `dop_v1_${"ab12".repeat(16)}`,
      `whsec_${fill(32)}`,
      `pypi-${fill(60)}`,
    ];
    for (const token of tokens) {
      const clean = redactText(`before ${token} after`);
      expect(clean, token).toMatch(/^before \[redacted:[a-z_]+\] after$/);
    }
  });

  it("removes authorization values, credentials in URLs and private keys", () => {
    expect(redactText("Authorization: Bearer abcdef1234567890")).not.toContain("abcdef1234567890");
    expect(redactText("postgres://user:hunter2@db/x")).toBe("postgres://user:[redacted:password]@db/x");
    expect(
      redactText("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest"),
    ).toBe("[redacted:private_key]\nrest");
    expect(redactText("-----BEGIN PRIVATE KEY-----\ncut off")).toBe("[redacted:private_key]");
  });

  it("removes named values in running text and in JSON text", () => {
    expect(redactText('{"api_key": "plainvalue", "n": 1}')).toBe('{"api_key": "[redacted:named]", "n": 1}');
    expect(redactText("password=hunter2&x=1")).toBe("password=[redacted:named]&x=1");
    expect(redactText("client_secret: s3cr3t!")).not.toContain("s3cr3t");
  });

  it("leaves ordinary text alone", () => {
    for (const text of [
      "max_tokens: 4096",
      "The token count is 12.",
      "Unexpected token } in JSON",
      "a task-list of risk-averse people",
      "https://example.com/a:b@c",
      "sk-short",
      "",
    ])
      expect(redactText(text)).toBe(text);
  });

  it("removes exact secrets, whatever they look like", () => {
    const own = createRedactor({ secrets: ["my odd key", "my odd", "abc"] });
    expect(own.redactText("x my odd key y my odd z abc")).toBe("x [redacted:key] y [redacted:key] z abc");
  });

  it("stays fast on hostile text", () => {
    const start = performance.now();
    for (const part of [
      "-----BEGIN PRIVATE KEY-----",
      "sk-",
      "eyJa.",
      "https://",
      "bearer ",
      "password",
      "a://b:",
      "1234567890:",
    ])
      redactText(part.repeat(20_000));
    expect(performance.now() - start).toBeLessThan(3000);
  });
});

describe("redactJson", () => {
  it("removes values under secret names, in any spelling", () => {
    const value = {
      Authorization: "x",
      "X-Api-Key": "y",
      refreshToken: "z",
      client_secret: "s",
      "set-cookie": ["a=1", "b=2"],
      pwd: "kept",
      nested: { password: 1234 },
    };
    expect(redactJson(value)).toEqual({
      Authorization: "[redacted:authorization]",
      "X-Api-Key": "[redacted:api_key]",
      refreshToken: "[redacted:token]",
      client_secret: "[redacted:secret]",
      "set-cookie": ["[redacted:cookie]", "[redacted:cookie]"],
      pwd: "kept",
      nested: { password: "[redacted:password]" },
    });
  });

  it("keeps schemas, counts and empty values", () => {
    const schema = {
      properties: { password: { type: "string" } },
      required: ["password"],
      max_tokens: 5,
      costPerToken: 0.1,
      token: "",
      secret: null,
    };
    expect(redactJson(schema)).toBe(schema);
  });

  it("gives the same value back where there is nothing to remove", () => {
    const value = { a: [1, { b: "text" }], __proto__: null };
    expect(redactJson(value)).toBe(value);
  });

  it("security S32: keeps an own __proto__ key as data", () => {
    const value = JSON.parse('{"__proto__":{"password":"x"}}');
    expect(JSON.stringify(redactJson(value))).toBe('{"__proto__":{"password":"[redacted:password]"}}');
  });
});
