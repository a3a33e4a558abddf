/** PDF and DOCX files made by hand, well and badly. */

import { crc32, deflateRawSync } from "node:zlib";

/**
 * A PDF with one line of text on each page. `nested` nests its tree so that pages come again and again; `packed` is a
 * page more, deflated.
 */
export function pdfOf(
  pages: readonly string[],
  { nested = 0, packed }: { readonly nested?: number; readonly packed?: Uint8Array } = {},
): Uint8Array {
  const objects: string[] = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"];
  const streams = pages.map((text) => `BT /F1 12 Tf 72 720 Td (${text.replace(/[\\()]/g, "\\$&")}) Tj ET`);
  const deflated = packed === undefined ? [] : [Buffer.from(packed).toString("latin1")];
  const leaves = [...streams, ...deflated].map((stream, index) => {
    const filter = index < pages.length ? "" : " /Filter /FlateDecode";
    objects.push(`<< /Length ${stream.length}${filter} >>\nstream\n${stream}\nendstream`);
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${objects.length} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    return `${objects.length} 0 R`;
  });
  let [kids, count] = [leaves, leaves.length];
  for (let depth = 0; depth < nested; depth += 1) {
    objects.push(`<< /Type /Pages /Parent 2 0 R /Kids [${kids.join(" ")}] /Count ${count} >>`);
    kids = Array.from({ length: 10 }, () => `${objects.length} 0 R`);
    count *= 10;
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${count} >>`;
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}`;
  return Buffer.from(`${file}${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF`, "latin1");
}

/** A zip of files. `declared` is what it says an entry unpacks to, in place of the truth. */
export function zipOf(files: Readonly<Record<string, string | Uint8Array>>, declared?: number): Uint8Array {
  const [locals, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content);
    const packed = deflateRawSync(data);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(8, 4);
    head.writeUInt32LE(crc32(data), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(declared ?? data.length, 18);
    head.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), head, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\u0001\u0002"), Buffer.from([20, 0]), head, rest, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(18);
  const length = directory.reduce((sum, one) => sum + one.length, 0);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, ...directory, Buffer.from("PK\u0005\u0006"), end]);
}

const CONTENT_TYPES = `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`;
const RELATIONS = `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`;

/** A DOCX of paragraphs; those that begin with `#` are headings of the first level. */
export function docxOf(
  paragraphs: readonly string[],
  { extra = {}, declared }: { readonly extra?: Readonly<Record<string, string | Uint8Array>>; readonly declared?: number } = {},
): Uint8Array {
  const body = paragraphs.map((text) => {
    const style = text.startsWith("#") ? `<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>` : "";
    return `<w:p>${style}<w:r><w:t>${text.replace(/^#\s*/, "").replace(/[&<]/g, (one) => `&#${one.charCodeAt(0)};`)}</w:t></w:r></w:p>`;
  });
  const styles = `<?xml version="1.0"?><w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`;
  const document = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body.join("")}</w:body></w:document>`;
  const relations = RELATIONS.replace("officeDocument\"", "styles\"").replace("word/document.xml", "styles.xml");
  return zipOf(
    {
      "[Content_Types].xml": CONTENT_TYPES,
      "_rels/.rels": RELATIONS,
      "word/_rels/document.xml.rels": relations,
      "word/styles.xml": styles,
      "word/document.xml": document,
      ...extra,
    },
    declared,
  );
}
