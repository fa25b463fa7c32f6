// Elements from plain values. Text becomes text: nothing here, or anywhere, parses HTML.

/** Return the element of the page with that id. */
export const byId = (id) => document.getElementById(id);

/** Return a new element: `el("button", { class: "plain", onclick: go }, "Go")`. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
const PATHS = { accept: "M3 8.5 6.5 12 13 4.5", reject: "M4 4 12 12M12 4 4 12" };

/** Return a small drawing; what it means is said by the element around it. */
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  drawing.append(path);
  return drawing;
}

/** Tell a screen reader something that others can see. */
export function say(message) {
  const said = byId("said");
  said.textContent = "";
  setTimeout(() => { said.textContent = message; }, 50);
}

/** Show an error above the view, or hide the last one. */
export function alarm(message = "") {
  const shown = byId("alarm");
  shown.hidden = !message;
  shown.textContent = message;
}

/** Return what calls `act` once its calls have paused for so many milliseconds. */
export function paused(act, milliseconds) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
}

/** Return a number of things in words: `counted(2, "label")` is "2 labels". */
export const counted = (n, thing) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;

/** Have the browser save a file. */
export function download(name, type, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
