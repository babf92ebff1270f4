// Copies of what is shown: link, command, Python, JSON, SVG, PNG.

/** @param {string} kind
 * @returns {string} */
function copied(kind) {
  if (kind === "link") return location.href.split("#")[0].replace(/^(http:\/\/127\.0\.0\.1:\d+\/)[0-9a-f]{32}\//, "$1…/").replace(/^http.*$/, "") + "#" + fragment(state);
  if (kind === "SVG") return state.view === "curve" ? curveSvg() : state.view === "dot" ? dotSvg() : gridSvg();
  if (kind === "JSON") return JSON.stringify({ state, answer: state.view === "curve" ? curves : state.view === "dot" ? explained : formatTable }, null, 1);
  const all = answered().filter(one => one !== null);
  const texts = all.map(one => /** @type {any} */ (one).copies[kind === "Python" ? "python" : "command"]);
  if (kind === "command") texts.push(`bitmma explore '${fragment(state).replaceAll("'", "%27")}'`);
  return texts.join("\n\n");
}

let copyKind = "link";

/** What is shown and not in a link, in words. */
function missing() {
  const { distribution, values } = state.curve;
  const numbers = distribution === "own" && values.length > LONGEST_VALUES
    ? `Your own numbers are not in the link: they have ${values.length} characters, and links hold at most ${LONGEST_VALUES}. Send them along. ` : "";
  return numbers + (state.picture ? "Your own picture is not in the link. Send it along." : "");
}

/** @param {string} kind */
function showCopy(kind) {
  copyKind = kind;
  for (const button of by("copy-kinds").children) button.setAttribute("aria-pressed", String(button.textContent === kind));
  const isPicture = kind === "PNG";
  by("copy-text").value = isPicture ? "A picture of what is shown, as a file." : copied(kind);
  by("copy-note").textContent = kind === "link" || kind === "command" ? missing() : by("copy-text").value ? "" : "No unit has a result, so there is nothing to copy.";
  by("copy-now").textContent = isPicture || kind === "SVG" ? "Save as a file" : "Copy to the clipboard";
}

function openCopies() {
  if (!by("copy-kinds").children.length) {
    by("copy-kinds").append(...["link", "command", "Python", "JSON", "SVG", "PNG"].map(kind => make("button", { type: "button", onclick: () => showCopy(kind) }, kind)));
  }
  showCopy(copyKind);
  by("copies").showModal();
}

/** @param {string} name @param {Blob} blob */
function save(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function copyNow() {
  if (copyKind === "SVG") {
    save("bitmma.svg", new Blob([copied("SVG")], { type: "image/svg+xml" }));
    return;
  }
  if (copyKind === "PNG") {
    const png = await pngOf(copied("SVG"));
    if (png) save("bitmma.png", png);
    return;
  }
  const text = by("copy-text");
  try {
    await navigator.clipboard.writeText(text.value);
  } catch {
    text.select(); // where a page may not write to the clipboard
    document.execCommand("copy");
  }
  by("copy-now").textContent = "Copied";
}

/** @param {string} svg
 * @returns {Promise<Blob | null>} */
async function pngOf(svg) {
  const image = new Image();
  const loaded = new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; });
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await loaded;
  const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.drawImage(image, 0, 0);
  return new Promise(resolve => canvas.toBlob(resolve, "image/png"));
}

/** @param {string} text */
const escaped = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** @param {number} width @param {number} height @param {string[]} body */
const svgOf = (width, height, body) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>\n${body.join("\n")}\n</svg>\n`;

/** The first view as a picture of its own. */
function dotSvg() {
  const step = stepShown(Math.max(0, ...answered().map(one => one?.parts.length ?? 0)));
  const ruler = rulerOf(step);
  const letter = 7.25, left = 230, line = 17;
  /** @type {string[]} */
  const body = [];
  let y = 24;
  const text = (/** @type {number} */ x, /** @type {string} */ words, more = "") => body.push(`<text x="${x}" y="${y}" xml:space="preserve" ${more}>${escaped(words)}</text>`);
  const digits = (/** @type {number} */ column, /** @type {string} */ bits, /** @type {string} */ fill) => [...bits].forEach((bit, at) => text(left + (column + at) * letter, bit, `fill="${fill}"`));
  for (const [index, one] of answered().entries()) {
    if (!one) continue;
    text(12, `${LETTERS[index]}  ${one.unit.chip} ${one.unit.instruction}`, 'font-weight="bold"');
    y += line;
    for (const stage of one.parts[step]?.stages ?? []) {
      text(12, stage.title, 'fill="#56606b"');
      y += line;
      for (const row of [...stage.rows, ...(stage.sum ? [stage.sum] : [])]) {
        const last = row === stage.sum && stage.rows.length && stage.cut !== null ? stage.cut : row.last;
        text(24, row.name.padEnd(9));
        text(100, short(row.value));
        const { high, negative } = row.bits;
        const shown = row.bits.digits.slice(0, Math.max(0, high - ruler.low + 1));
        const keeps = last === null ? shown.length : Math.max(0, Math.min(shown.length, high - last + 1));
        const column = ruler.high - high + 1;
        if (negative && shown) digits(column - 1, "-", "#1d2228");
        digits(column, shown.slice(0, keeps), "#1d2228");
        digits(column + keeps, shown.slice(keeps), "#b3261e");
        if (last !== null) {
          const x = left + (ruler.high - last + 2) * letter - 1;
          body.push(`<line x1="${x}" x2="${x}" y1="${y - 12}" y2="${y + 4}" stroke="#e0620d" stroke-width="2"/>`);
        }
        if (row.lost) text(left + (ruler.high - ruler.low + 4) * letter, "lost " + short(row.lost), 'fill="#b3261e"');
        y += line;
      }
    }
    text(24, `= ${one.d.value}  ${one.d.code}`, 'font-weight="bold"');
    y += line * 1.6;
  }
  return svgOf(Math.ceil(left + (ruler.high - ruler.low + 4) * letter + 170), Math.ceil(y), body);
}
