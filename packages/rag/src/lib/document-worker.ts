/** A thread that parses one document of a format with a parser of its own, so that a hostile one can be ended. */

import { parentPort, workerData } from "node:worker_threads";
import { inflateRawSync } from "node:zlib";
import type { WorkerAnswer, WorkerTask } from "./parse-document.ts";

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
/** Of the end of a directory without a comment. */
const END_BYTES = 22;

class TooLarge extends Error {}

async function parse({ format, bytes, maxUnpackedBytes }: WorkerTask): Promise<WorkerAnswer> {
  if (format === "pdf") return { parts: await pagesOf(bytes, maxUnpackedBytes) };
  if (!fitsUnpacked(bytes, maxUnpackedBytes)) return { failed: "too_large" };
  const { default: mammoth } = await import("mammoth");
  // Images are named by nothing and read by nobody.
  const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
  const { value } = await mammoth.convertToHtml({ buffer: Buffer.from(bytes) }, { convertImage });
  return { parts: [value] };
}

async function pagesOf(bytes: Uint8Array, maxChars: number): Promise<readonly string[]> {
  const { getDocumentProxy } = await import("unpdf");
  const document = await getDocumentProxy(bytes);
  const pages: string[] = [];
  let left = maxChars;
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    left -= text.length;
    if (left < 0) throw new TooLarge();
    pages.push(text.trim());
    page.cleanup();
  }
  return pages;
}

/**
 * Whether the entries of a zip, unpacked, stay below a size; measured, since what they declare may be wrong. A zip that
 * could be read in two ways is refused: the parser would unpack other entries than those measured here.
 */
function fitsUnpacked(bytes: Uint8Array, maxBytes: number): boolean {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = zip.length - END_BYTES;
  const [size, first] = [zip.readUInt32LE(end + 12), zip.readUInt32LE(end + 16)];
  const counts = [zip.readUInt16LE(end + 8), zip.readUInt16LE(end + 10)];
  if (zip.readUInt32LE(end) !== END_OF_DIRECTORY || zip.readUInt32LE(end + 4) !== 0 || first + size !== end)
    throw new Error("The directory of the zip is broken.");
  let left = maxBytes;
  let count = 0;
  for (let at = first; at < end; count += 1) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error("The directory of the zip is broken.");
    const [method, packed] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    left -= method === 0 ? packed : sizeOf(zip.subarray(start, start + packed), left);
    if (left < 0) return false;
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  if (counts.some((declared) => declared !== count)) throw new Error("The directory of the zip is broken.");
  return true;
}

/** The unpacked size, or more than `most` where it is more. */
function sizeOf(packed: Uint8Array, most: number): number {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, most) }).length;
  } catch (cause) {
    if (cause instanceof RangeError) return most + 1;
    throw cause;
  }
}

function toFailure(cause: unknown, format: WorkerTask["format"]): WorkerAnswer {
  if (cause instanceof TooLarge) return { failed: "too_large" };
  const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
  if (isMissing && cause.message.includes(`'${format === "pdf" ? "unpdf" : "mammoth"}'`))
    return { failed: "package_missing" };
  return { failed: "unreadable", message: cause instanceof Error ? cause.message : String(cause) };
}

const task = workerData as WorkerTask; // Proof: parse-document.ts starts this thread, and nobody else does
const answer = await parse(task).catch((cause: unknown): WorkerAnswer => toFailure(cause, task.format));
parentPort?.postMessage(answer);
