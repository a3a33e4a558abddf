/** `openfunctions doctor`: whether this machine has what the command needs. */

import { access, constants, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type FoundServer, probeLocal } from "@openfunctions/adapter-local";
import type { EffectEntry } from "@openfunctions/core";
import { chooseAdapter } from "./choose-adapter.ts";
import { describeEffect } from "./command-effects.ts";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { CommandFailure, EXIT, describeError, oneLine, print, printJson } from "./output.ts";
import {
  HOSTED_PROVIDERS,
  type HostedProvider,
  keyVariable,
  loadHosted,
  modelOf,
  valueOf,
} from "./providers.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Variables of local servers. */
const LOCAL_VARIABLES = ["LOCAL_BASE_URL", "LOCAL_MODEL", "LOCAL_API_KEY"];

/**
 * Checks runtime, providers (whether a key is set, never the key; the model that would be asked), data folder and
 * stores. Exit 1 when one is wrong.
 */
export async function doctorCommand(options: { readonly json?: boolean }): Promise<void> {
  const findings = [
    checkRuntime(),
    ...(await Promise.all(HOSTED_PROVIDERS.map(checkProvider))),
    checkLocalVariables(),
    await checkLocalServers(),
    await checkChoice(),
    ...(await checkHome(dataHome())),
  ];
  if (options.json === true) printJson({ findings });
  else
    for (const { check, ok, detail } of findings)
      print(`${ok ? "ok  " : "FAIL"}  ${check}: ${oneLine(detail)}`);
  const wrong = findings.filter(({ ok }) => !ok);
  if (wrong.length > 0) throw new CommandFailure(`${wrong.length} check(s) failed.`, EXIT.failed);
}

function checkRuntime(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const ok = major > 22 || (major === 22 && minor >= 18);
  return {
    check: "Node",
    ok,
    detail: ok ? process.versions.node : `${process.versions.node}; 22.18 or later is needed`,
  };
}

/** A provider without a key is fine; one with a key and without its package is not. */
async function checkProvider(provider: HostedProvider): Promise<Finding> {
  const { id, name, keys } = provider;
  const check = `${name} (${id})`;
  const variable = keyVariable(provider, process.env);
  const state = variable === undefined ? `${keys.join(" and ")} not set` : `${variable} set`;
  const detail = `${state}, model ${modelOf(provider, process.env)}`;
  if (variable === undefined) return { check, ok: true, detail };
  return loadHosted(provider).then(
    () => ({ check, ok: true, detail }),
    (cause: unknown) => ({ check, ok: false, detail: `${state}. ${inOneLine(cause)}` }),
  );
}

function checkLocalVariables(): Finding {
  const states = LOCAL_VARIABLES.map(
    (name) => `${name} ${valueOf(process.env, name) === undefined ? "not set" : "set"}`,
  );
  return { check: "Local", ok: true, detail: states.join(", ") };
}

async function checkLocalServers(): Promise<Finding> {
  const servers = await probeLocal();
  const detail =
    servers.length === 0
      ? "none answers; the offline adapter works without"
      : servers.map(describeServer).join("; ");
  return { check: "Local model servers", ok: true, detail };
}

function describeServer({ server, baseUrl, models, toolModels, streamsTools }: FoundServer): string {
  const tools =
    toolModels === undefined
      ? `model ${models[0]}`
      : toolModels.length === 0
        ? `model ${models[0]}, none takes tools`
        : `model ${toolModels[0]}, which takes tools`;
  return `${server} at ${baseUrl}, ${tools}${streamsTools ? "" : ", not while streaming"}`;
}

/** Who answers where no --provider is given. */
async function checkChoice(): Promise<Finding> {
  const check = "Answers by default";
  try {
    const { adapter, reason } = await chooseAdapter();
    return { check, ok: true, detail: `${adapter.provider}/${adapter.model} (${reason})` };
  } catch (cause) {
    return { check, ok: false, detail: inOneLine(cause) };
  }
}

function inOneLine(cause: unknown): string {
  return describeError(cause).replaceAll("\n", " ");
}

async function checkHome(home: string): Promise<readonly Finding[]> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await access(home, constants.W_OK);
  } catch (cause) {
    return [
      {
        check: "Data folder",
        ok: false,
        detail: `${home} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
      },
    ];
  }
  const stores = join(home, "stores");
  const files = (await readdir(stores).catch(() => [])).filter((file) => file.endsWith(".json"));
  return [
    { check: "Data folder", ok: true, detail: home },
    ...(await Promise.all(files.map((file) => checkStore(join(stores, file))))),
    ...(await checkRuns(home)),
  ];
}

/** The database, and what in it waits for a person. */
async function checkRuns(home: string): Promise<readonly Finding[]> {
  try {
    return await withHomeStores(home, async ({ approvals, ledger, recover }) => {
      await recover();
      const waiting = await approvals.list({ state: "pending" });
      const unknown: EffectEntry[] = [];
      for await (const entry of ledger.list({ state: "unknown" })) unknown.push(entry);
      return [
        { check: "Database", ok: true, detail: join(home, "openfunctions.db") },
        { check: "Approvals", ok: true, detail: `${waiting.length} waiting` },
        ...unknown.map((entry) => ({
          check: "Effect of unknown outcome",
          ok: false,
          detail: `${describeEffect(entry)}; find out, then: openfunctions effects settle ${entry.intent.key}`,
        })),
      ];
    });
  } catch (cause) {
    return [{ check: "Database", ok: false, detail: cause instanceof Error ? cause.message : String(cause) }];
  }
}

async function checkStore(path: string): Promise<Finding> {
  try {
    JSON.parse(await readFile(path, "utf8"));
    return { check: "Store", ok: true, detail: path };
  } catch {
    return { check: "Store", ok: false, detail: `${path} is not valid JSON; move it away or mend it` };
  }
}
