/** `openfunctions runs keys`: list and rotate the keys that seal records. */

import { dataHome } from "./data-home.ts";
import { note, print, printJson } from "./output.ts";
import { listKeys, rotateKey } from "./signing-keys.ts";

/** Prints the public keys, the current one first. */
export async function listKeysCommand(options: { readonly json?: boolean }): Promise<void> {
  const keys = await listKeys(dataHome());
  if (options.json === true)
    printJson({ keys: keys.map(({ keyId, file, current }) => ({ keyId, file, current })) });
  else for (const { keyId, file, current } of keys) print(`${current ? "*" : " "} ${keyId}  ${file}`);
  if (keys.length === 0) note("There is no key yet; the first recorded run makes one.");
}

/** Makes a new key and prints its id. */
export async function rotateKeyCommand(): Promise<void> {
  print(await rotateKey(dataHome()));
}
