// Runs named steps one after the other and prints what each cost: milliseconds, CPU milliseconds, and (under
// count-loads.mjs) how many files it loaded. The first entry is Node's own start.

/** Takes `[name, work]` pairs in order; prints one line of JSON. */
export async function takeSteps(steps) {
  let before = { ms: 0, cpuMs: 0, files: 0 };
  const taken = [];
  const note = (name) => {
    const now = readings();
    taken.push({ name, ms: now.ms - before.ms, cpuMs: now.cpuMs - before.cpuMs, files: now.files - before.files });
    before = now;
  };
  note("Node starts");
  for (const [name, work] of steps) {
    await work();
    note(name);
  }
  console.log(JSON.stringify({ steps: taken }));
  process.exit(0);
}

function readings() {
  const { user, system } = process.cpuUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1000, files: globalThis.loadedFiles ?? 0 };
}
