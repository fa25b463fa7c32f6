// Tables as text: read as RFC 4180 and spreadsheets have it, written so that no cell is a formula.

/** Return the rows of a table, and what its cells are separated by. */
export function parseCsv(text) {
  const whole = text.startsWith("\ufeff") ? text.slice(1) : text;
  const delimiter = guessDelimiter(whole);
  const rows = [];
  let row = [];
  let at = 0;
  const cellEnd = new RegExp(`[${delimiter === "\t" ? "\\t" : delimiter}\r\n]`, "g");
  while (at <= whole.length) {
    let cell = "";
    if (whole[at] === '"') [cell, at] = quoted(whole, at + 1);
    cellEnd.lastIndex = at;
    const end = cellEnd.exec(whole)?.index ?? whole.length;
    row.push(cell + whole.slice(at, end));
    at = end + 1;
    if (whole[end] === delimiter) continue;
    if (whole[end] === "\r" && whole[at] === "\n") at += 1;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
    if (at >= whole.length) break;
  }
  return { rows, delimiter };
}

/** Return the content of a quoted cell, and where what follows its last quote begins. */
function quoted(text, from) {
  let content = "";
  let at = from;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end < 0) return [content + text.slice(at), text.length];
    content += text.slice(at, end);
    if (text[end + 1] !== '"') return [content, end + 1];
    content += '"';
    at = end + 2;
  }
}

/** Return the separator that the first line has most of, outside of quotes. */
function guessDelimiter(text) {
  const counts = { ",": 0, ";": 0, "\t": 0 };
  let inQuotes = false;
  for (const character of text.slice(0, 100_000)) {
    if (character === '"') inQuotes = !inQuotes;
    else if (inQuotes) continue;
    else if (character === "\n" || character === "\r") break;
    else if (character in counts) counts[character] += 1;
  }
  return Object.keys(counts).reduce((best, one) => (counts[one] > counts[best] ? one : best));
}

const FORMULA = /^[=+\-@\t\r＝＋－＠]/u;
const NUMBER = /^[+-]?\d+([.,]\d+)*(e[+-]?\d+)?%?$/iu;

/** Return a cell that no spreadsheet takes for a formula; numbers stay numbers. */
export function harmless(cell) {
  return FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
}

/** Return one line of a table, with its end. */
export function csvLine(cells, delimiter = ",") {
  const special = new RegExp(`["\r\n,;\t]|^\\s|\\s$`, "u");
  const written = cells.map((cell) => {
    const safe = harmless(String(cell));
    return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${written.join(delimiter)}\r\n`;
}
