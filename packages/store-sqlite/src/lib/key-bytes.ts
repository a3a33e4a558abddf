/** Keys and ids as bytes: UTF-16 big endian, which SQLite orders as JavaScript orders strings, half characters too. */

/** The bytes of a key. */
export function toKeyBytes(key: string): Buffer {
  return Buffer.from(key, "utf16le").swap16();
}

/** The key of bytes that `toKeyBytes` made; empty for what are none. */
export function fromKeyBytes(bytes: unknown): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).swap16().toString("utf16le") : "";
}
