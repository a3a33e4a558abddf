import { describe, expect, it, vi } from "vitest";
import { createPorts, systemClock } from "./ports.ts";
import { fakeClock } from "./testing/fakes.ts";

describe("ports", () => {
  it("ids are UUIDv7: of the clock's time, in order within a millisecond, never going back, never twice", () => {
    const clock = fakeClock();
    const { ids } = createPorts({ clock });
    const made = Array.from({ length: 5_000 }, () => ids());
    for (const id of made)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
    expect(Number.parseInt((made[0] ?? "").replaceAll("-", "").slice(0, 12), 16)).toBe(clock.now());
    clock.advance(10_000);
    expect(ids() > (made.at(-1) ?? "")).toBe(true);
  });

  it("a sleep ends at once on abort, with the signal's reason", async () => {
    const { clock } = createPorts();
    const stop = new AbortController();
    const sleeping = clock.sleep(60_000, stop.signal);
    stop.abort("enough");
    await expect(sleeping).rejects.toBe("enough");
    await expect(clock.sleep(1, AbortSignal.abort("before"))).rejects.toBe("before");
    await clock.sleep(1);
  });
});

describe("systemClock", () => {
  it("keeps a timer that is longer than Node's own, and one without end", () => {
    vi.useFakeTimers();
    try {
      const fired: string[] = [];
      systemClock.after(2 ** 31 + 1_000, () => fired.push("long"));
      const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => fired.push("endless"));
      vi.advanceTimersByTime(2 ** 31 + 999);
      expect(fired).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(fired).toEqual(["long"]);
      cancel();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
