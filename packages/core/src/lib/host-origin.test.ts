/** Host, Origin and peer checks of a local server. */

import { describe, expect, it } from "vitest";
import { checkHostAndOrigin, isLoopbackPeer } from "./host-origin.ts";

const ok = (headers: Record<string, string>, options = {}): boolean =>
  checkHostAndOrigin({ headers: new Headers(headers) }, options).ok;

describe("checkHostAndOrigin", () => {
  it("security S1: lets loopback names in, with any port", () => {
    for (const host of [
      "localhost",
      "localhost:3000",
      "LOCALHOST:1",
      "127.0.0.1:3000",
      "[::1]:3000",
      "[::1]",
    ])
      expect(ok({ Host: host }), host).toBe(true);
    expect(ok({ host: "localhost:1", origin: "http://localhost:1" })).toBe(true);
    expect(ok({ host: "localhost:1", origin: "http://127.0.0.1:9" })).toBe(true);
  });

  it("security S1: refuses every other host, whole names only", () => {
    for (const host of [
      "evil.example:3000",
      "localhost.evil.example",
      "127.0.0.1.nip.io",
      "localhost.",
      "127.0.0.2",
      "0.0.0.0",
      "evil@localhost",
      "localhost:3000@evil.example",
      "localhost/evil",
      "localhost:3000:3000",
      "local host",
      "",
      "[::1",
      "[::ffff:127.0.0.1]",
    ]) {
      expect(ok({ host }), host).toBe(false);
    }
    expect(ok({})).toBe(false);
    expect(ok({ host: "localhost", Host: "evil.example" })).toBe(false);
  });

  it("security S1: security S17: refuses foreign origins and null", () => {
    for (const origin of [
      "http://evil.example",
      "null",
      "http://localhost.evil.example",
      "http://127.0.0.1.nip.io",
      "file://",
      "http://localhost:1@evil.example",
      "http://user@localhost",
      "",
      "localhost:1",
      "chrome-extension://localhost",
    ]) {
      expect(ok({ host: "localhost:1", origin }), origin).toBe(false);
    }
  });

  it("lets in what the owner allowed", () => {
    const options = {
      allowedHosts: ["box.home:8080", "my.example"],
      allowedOrigins: ["https://app.example"],
    };
    expect(ok({ host: "box.home:8080" }, options)).toBe(true);
    expect(ok({ host: "box.home:9" }, options)).toBe(false);
    expect(ok({ host: "my.example:9", origin: "http://my.example:9" }, options)).toBe(true);
    expect(ok({ host: "localhost", origin: "https://app.example" }, options)).toBe(true);
    expect(ok({ host: "localhost", origin: "https://app.example.evil" }, options)).toBe(false);
  });

  it("answers 403", () => {
    expect(checkHostAndOrigin({ headers: new Headers({ host: "evil.example" }) })).toMatchObject({
      ok: false,
      status: 403,
    });
  });
});

describe("isLoopbackPeer", () => {
  it("security S8: trusts the socket's address, and not when the request was forwarded", () => {
    expect(isLoopbackPeer("127.0.0.1", new Headers({}))).toBe(true);
    expect(isLoopbackPeer("::ffff:127.0.0.1", new Headers({}))).toBe(true);
    expect(isLoopbackPeer("::1", new Headers({}))).toBe(true);
    expect(isLoopbackPeer("203.0.113.5", new Headers({}))).toBe(false);
    expect(isLoopbackPeer(undefined, new Headers({}))).toBe(false);
    expect(isLoopbackPeer("127.0.0.1", new Headers({ "X-Forwarded-For": "203.0.113.5" }))).toBe(false);
    expect(isLoopbackPeer("127.0.0.1", new Headers({ forwarded: "for=127.0.0.1" }))).toBe(false);
    expect(isLoopbackPeer("203.0.113.5", new Headers({ "x-forwarded-for": "127.0.0.1" }))).toBe(false);
  });
});
