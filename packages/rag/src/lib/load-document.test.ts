import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { docxOf, pdfOf, zipOf } from "./__fixtures__/office-files.ts";
import { loadDocument, type LoadInput } from "./load-document.ts";
import { docxLoader, pdfLoader } from "./office-loaders.ts";

const PDF = "application/pdf";
const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

function load(content: LoadInput["content"], mediaType?: string, name = "") {
  return loadDocument({ content, mediaType, names: [name] });
}

describe("loadDocument", () => {
  it.each([
    ["a.md", "text/markdown"],
    ["notes.TXT", "text/plain"],
    ["https://example.com/page.html?x=1", "text/html"],
    ["a.json", "application/json"],
    ["a.jsonl", "application/jsonl"],
    ["a.csv", "text/csv"],
    ["src/main.ts", "text/x-source"],
    ["Makefile", "text/plain"],
  ])("tells the type of %s", async (name, mediaType) => {
    expect((await load(Buffer.from("{}"), undefined, name)).mediaType).toBe(mediaType);
  });

  it("keeps the lines of source code and finds no headings in it", async () => {
    const text = "# a comment\n\ndef tea():\n    return 1\n";
    expect(await load(text, undefined, "a.py")).toMatchObject({ text, byLine: true });
    expect((await load(text, undefined, "a.md")).headings).toEqual([
      { start: 0, level: 1, title: "a comment" },
    ]);
  });

  it("reads UTF-8 and UTF-16 with their marks, and nothing else", async () => {
    expect((await load(Buffer.from("\ufeffTé"), "text/plain")).text).toBe("Té");
    expect((await load(Buffer.from("\ufeffTé", "utf16le"), "text/plain")).text).toBe("Té");
    await expect(load(Buffer.from("Té", "latin1"), "text/plain")).rejects.toMatchObject({
      code: "unsupported_media",
    });
  });

  it.each([
    ["image/png", Buffer.from("x")],
    ["application/octet-stream", Buffer.from("x")],
    ["text/rtf", "{\\rtf1}"],
    ["constructor", "x"],
    ["text/plain", "a\0b"],
    [undefined, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 1])],
    [PDF, "no pdf"],
    [DOCX, "no docx"],
    [DOCX, zipOf({ "a.txt": "no document" })],
  ])("refuses %s it cannot read", async (mediaType, content) => {
    await expect(load(content, mediaType)).rejects.toMatchObject({ code: "unsupported_media" });
  });

  it("reads each record of a table with the names of its columns", async () => {
    const { text } = await load('name,"note, long"\nAda,"says ""hi""\nand goes"\n\nBob,\n', "text/csv");
    expect(text).toBe('name: Ada\nnote, long: says "hi"\nand goes\n\nname: Bob\nnote, long: \n');
    expect((await load("a\tb\r\n1\t2\r\n", "text/tab-separated-values")).text).toBe("a: 1\nb: 2\n");
  });

  it("gives JSON of one line a line for each member, and refuses what is none", async () => {
    const { text } = await load('{"a":"x,\\"y","b":[1,2]}', "application/json");
    expect(text).toBe('{"a":"x,\\"y",\n"b":[1,\n2]}');
    await expect(load("{a}", "application/json")).rejects.toMatchObject({ code: "not_json" });
    await expect(load('{"a":1}\n\n{', "application/jsonl")).rejects.toThrow("Line 3");
    // Deep enough to end a reader that calls itself.
    expect((await load("[".repeat(100_000) + "]".repeat(100_000), "application/json")).text).toHaveLength(
      200_000,
    );
  });

  it("reads a text the same with a byte order mark and without", async () => {
    expect((await load("\ufeff{}", "application/json")).text).toBe("{}");
    expect((await load("\ufeff# Tea", "text/markdown")).headings).toMatchObject([{ start: 0, title: "Tea" }]);
  });

  it.each(["text/a\0b", "text/a b", "text/\u00e4", `text/${"a".repeat(200)}`, "text/", "/plain", "text"])(
    "refuses %j, which is no media type",
    async (mediaType) => {
      await expect(load("x", mediaType)).rejects.toMatchObject({ code: "unsupported_media" });
    },
  );

  it("takes media types in odd case, with parameters", async () => {
    expect((await load("<p>x", " Text/HTML ; Charset=UTF-8")).text).toBe("x");
  });

  it("replaces what no store takes in the text of a loader, and keeps its offsets", async () => {
    const loaders = { "text/odd": () => ({ text: "a\0b\ud800c", pages: [0, 3] }) };
    expect(await loadDocument({ content: "x", mediaType: "text/odd", names: [] }, loaders)).toMatchObject({
      text: "a\ufffdb\ufffdc",
      pages: [0, 3],
    });
  });

  it("refuses a table whose names would make it a thousand times as long", async () => {
    const table = `${"h".repeat(20_000)}\n${"v\n".repeat(6_000)}`;
    await expect(load(table, "text/csv")).rejects.toMatchObject({ code: "too_large" });
  });

  it("refuses more than 25 MiB", async () => {
    await expect(load(new Uint8Array(25 * 1024 * 1024 + 1))).rejects.toMatchObject({ code: "too_large" });
  });

  it("asks a loader that was given before its own", async () => {
    const loaders = { "text/html": () => ({ text: "mine" }) };
    const input = { content: "<p>x", mediaType: "text/html; charset=utf-8", names: [] };
    expect((await loadDocument(input, loaders)).text).toBe("mine");
  });
});

describe("HTML", () => {
  const read = async (html: string) => load(html, "text/html");

  it("is what a reader sees", async () => {
    const { text, title, headings } = await read(`<!doctype html><html><head><title>The &amp; Page</title>
      <style>p { color: red }</style><script>alert("<p>no</p>")</script></head>
      <body><!-- hidden --><h1>Tea <em>time</em></h1><p>Green&nbsp;tea
      is <b>steam</b>ed &lt;hot&gt; &#8364;5 &#x1F600;.</p><ul><li>one<li>two</ul>
      <table><tr><th>a</th><th>b</th></tr><tr><td></td><td><p>2</p></td></tr></table>
      <pre>  let a;
  a = 1;</pre><SCRIPT src=x>more()</SCRIPT ><h2>End</h2>a < b</body></html>`);
    expect(text).toBe(
      "Tea time\n\nGreen tea is steamed <hot> €5 😀.\n\n- one\n- two\n\n| a | b\n| | 2\n\n```\n  let a;\n  a = 1;\n```\n\nEnd\n\na < b",
    );
    expect(title).toBe("The & Page");
    expect(headings).toEqual([
      { start: 0, level: 1, title: "Tea time" },
      { start: text.indexOf("End"), level: 2, title: "End" },
    ]);
  });

  it("survives what is broken", async () => {
    expect((await read(`<p title="a > b">seen</p><p x='>after`)).text).toBe("seen\n\nafter");
    expect((await read("a<script>never closed")).text).toBe("a");
    expect((await read("a<!-- never closed")).text).toBe("a");
    expect((await read("<h1>open<h2>next</h2>")).headings).toMatchObject([
      { title: "open" },
      { title: "next" },
    ]);
    expect((await read("&#xFFFFFF; &#0; &unknown; &")).text).toBe("\ufffd \ufffd &unknown; &");
  });

  it.each([
    ["openings", "<".repeat(2_000_000)],
    ["tags without end", "<a ".repeat(700_000)],
    ["quotes without end", `<a "x`.repeat(400_000)],
    ["closed quotes without end", `<a "x">`.repeat(300_000) + `<a "`],
    ["comments", "<!--".repeat(500_000)],
    ["scripts", "<script>".repeat(250_000)],
    ["headings", "<h1>a".repeat(400_000)],
    ["lists", "<li>".repeat(500_000)],
    ["cells", "<td>".repeat(500_000)],
    ["spaces", " \n".repeat(1_000_000)],
    ["ampersands", "&".repeat(2_000_000)],
  ])("reads two megabytes of %s in little time", async (_, html) => {
    const began = performance.now();
    await read(html);
    // A quadratic step would take minutes; this is no measurement.
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("PDF", () => {
  it("is read with its pages", async () => {
    const loaded = await load(pdfOf(["Green tea (steamed)", "", "Coffee"]), PDF);
    expect(loaded.text).toBe("Green tea (steamed)\n\n\n\nCoffee");
    expect(loaded.pages).toEqual([0, 21, 23]);
    expect(loaded.warnings).toEqual([expect.stringContaining("page 2")]);
    expect((await load(pdfOf(["", ""]))).text).toBe("");
  });

  it("is ended where it holds the parser up", async () => {
    const endless = pdfOf(["again"], { nested: 8 });
    const loading = pdfLoader({ timeoutMs: 1_500 })(endless, { mediaType: PDF });
    await expect(loading).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining("1500 ms"),
    });
  });

  it("is ended by an abort, and by its text's size", async () => {
    const endless = pdfOf(["again"], { nested: 8 });
    const signal = AbortSignal.timeout(400);
    await expect(pdfLoader()(endless, { mediaType: PDF, signal })).rejects.toMatchObject({
      name: "TimeoutError",
    });
    await expect(pdfLoader({ maxUnpackedBytes: 50 })(endless, { mediaType: PDF })).rejects.toMatchObject({
      code: "too_large",
    });
  });

  it("is ended where it unpacks to more bytes than the memory of its parser", async () => {
    const packed = deflateSync(Buffer.alloc(200_000_000, " "));
    const loading = pdfLoader({ maxMemoryMb: 64 })(pdfOf([], { packed }), { mediaType: PDF });
    await expect(loading).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining("64 MiB"),
    });
  });

  it("is read in a program that was started with flags no thread takes", async () => {
    const script = `const { createRAG, createMemoryChunkStore } = await import(process.argv[1]);
      const rag = await createRAG({ store: createMemoryChunkStore() });
      const content = Buffer.from("${Buffer.from(pdfOf(["Tea"])).toString("base64")}", "base64");
      process.stdout.write((await rag.ingest({ sourceId: "a", content })).status);`;
    const index = fileURLToPath(new URL("../index.ts", import.meta.url));
    const args = ["--max-old-space-size=500", "--title=x", "--input-type=module", "-e", script, index];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("created");
  });

  it("is refused where it is broken", async () => {
    await expect(load(pdfOf(["x"]).subarray(0, 40), PDF)).rejects.toMatchObject({
      code: "unsupported_media",
    });
  });
});

describe("DOCX", () => {
  it("is read with its headings", async () => {
    const loaded = await load(
      docxOf(["# Tea", "Green tea & more.", "# Coffee", "Roasted."]),
      undefined,
      "a.docx",
    );
    expect(loaded).toMatchObject({ text: "Tea\n\nGreen tea & more.\n\nCoffee\n\nRoasted.", mediaType: DOCX });
    expect(loaded.headings).toMatchObject([{ start: 0, title: "Tea" }, { title: "Coffee" }]);
  });

  it.each([
    ["says so", undefined],
    ["lies about it", 10],
  ])("is too_large where it unpacks to more than the limit and %s", async (_, declared) => {
    const bomb = docxOf(["x"], {
      extra: { "word/media/bomb.bin": Buffer.alloc(30_000_000) },
      ...(declared ? { declared } : {}),
    });
    expect(bomb.length).toBeLessThan(100_000);
    const limits = { maxUnpackedBytes: 10_000_000 };
    await expect(docxLoader(limits)(bomb, { mediaType: DOCX })).rejects.toMatchObject({ code: "too_large" });
  });

  it.each([
    ["counts fewer entries than there are", 8, 0],
    ["counts another number of all", 10, 1],
    ["lies on several disks", 4, 0xffff],
    ["says that its directory is shorter", 12, 7],
  ])("is refused where its directory can be read in two ways: it %s", async (_, at, value) => {
    const zip = Buffer.from(docxOf(["x"]));
    zip.writeUInt16LE(value, zip.length - 22 + at);
    // The parser refuses some of these too, and says something else.
    await expect(load(zip, DOCX)).rejects.toMatchObject({
      code: "unsupported_media",
      message: expect.stringContaining("directory of the zip"),
    });
  });

  it("is refused where it is broken", async () => {
    const whole = docxOf(["# Tea"]);
    for (const broken of [whole.subarray(0, whole.length - 30), whole.subarray(100), new Uint8Array(100)])
      await expect(load(broken, DOCX)).rejects.toMatchObject({ code: "unsupported_media" });
  });
});

it("names the command where the package of a format is not installed", async () => {
  const hook = `import { registerHooks } from "node:module"; registerHooks({ resolve: (name, context, next) => {
    if (name === "unpdf" || name === "mammoth") throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: "ERR_MODULE_NOT_FOUND" });
    return next(name, context); } });`;
  const script = `const { createRAG, createMemoryChunkStore } = await import(process.argv[1]);
    const rag = await createRAG({ store: createMemoryChunkStore() });
    for (const mediaType of ["${PDF}", "${DOCX}"]) {
      const content = Buffer.from(mediaType === "${PDF}" ? "%PDF-1.4" : "${Buffer.from(docxOf(["x"])).toString("base64")}", mediaType === "${PDF}" ? "latin1" : "base64");
      await rag.ingest({ sourceId: "a", content, mediaType }).catch((error) => process.stdout.write(error.code + " " + error.hint + "\\n"));
    }`;
  const url = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
  const index = fileURLToPath(new URL("../index.ts", import.meta.url));
  const args = ["--import", url(hook), "--input-type=module", "-e", script, index];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe(
    "package_missing Install it: npm install unpdf\npackage_missing Install it: npm install mammoth\n",
  );
});
