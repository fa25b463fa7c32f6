// Files that are dropped or chosen.
import { pdfText, Refused, settings } from "./api.js";

const LARGEST = { text: 8_000_000, table: 60_000_000 }; // bytes

/** Have an element take dropped files, and a button and a field choose them. */
export function takeFiles(zone, button, field, take) {
  let inside = 0;
  const mark = (change) => {
    inside = Math.max(0, change === 0 ? 0 : inside + change);
    zone.classList.toggle("dropping", inside > 0);
  };
  const brings = (event) => event.dataTransfer?.types.includes("Files");
  zone.addEventListener("dragenter", (event) => brings(event) && mark(1));
  zone.addEventListener("dragleave", (event) => brings(event) && mark(-1));
  zone.addEventListener("dragover", (event) => brings(event) && event.preventDefault());
  zone.addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    mark(0);
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  button.addEventListener("click", () => field.click());
  field.addEventListener("change", () => {
    if (field.files.length) take(field.files[0]);
    field.value = "";
  });
}

/** Return the text of a text file or a PDF. */
export async function readText(file, signal) {
  if (!/\.pdf$/iu.test(file.name) && file.type !== "application/pdf") return decoded(file, LARGEST.text);
  if (!settings.pdf) throw new Refused("This server cannot read PDFs: it needs pip install 'multitudes[pdf]'.");
  checkSize(file, settings.max_body);
  return pdfText(file, signal);
}

/** Return the content of a table's file. */
export const readTable = (file) => decoded(file, LARGEST.table);

function checkSize(file, most) {
  if (file.size <= most) return;
  const [has, takes] = [file.size, most].map((bytes) => `${Number((bytes / 1e6).toPrecision(2))} MB`);
  throw new Refused(`“${file.name}” has ${has}, and this page takes at most ${takes}. The command line takes larger files.`);
}

async function decoded(file, most) {
  checkSize(file, most);
  const text = decode(new Uint8Array(await file.arrayBuffer()));
  if (text.includes("\0")) {
    throw new Refused(`“${file.name}” is not a text file. Plain text, CSV and PDF can be read here.`);
  }
  return text;
}

/** Return bytes as text: UTF-16 if they say so, UTF-8 if they are, else what old Windows wrote. */
export function decode(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
