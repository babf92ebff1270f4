// The third view: every code of a narrow format, and a picture in narrow formats.

/** @type {any} */
let formatTable = null;
/** Pictures of the user's own; a state has the place of one. A link has none, and its place is that of the last.
 * @type {{width: number, pixels: string}[]} */
const ownPictures = [];

const askFormat = latest(answer => {
  formatTable = answer;
  showFormat();
}, error => {
  formatTable = null;
  for (const id of ["format-about", "format-detail"]) write(by(id), "");
  by("format-grid").replaceChildren(make("p", { class: "lost" }, error.message));
}, "quick");

const askImage = latest(answer => showImages(answer), error => by("images").replaceChildren(make("p", { class: "lost" }, error.message)), "slow");

function askForFormats() {
  const format = askFormat({ ask: "format", format: state.format });
  if (!state.pictures.length) {
    showUnits(by("picture-units"), "pictures", []);
    by("images").replaceChildren(make("p", { class: "dim" }, "No unit is chosen: add one to see the picture as it computes it."));
    return format;
  }
  const image = (state.picture && ownPictures.at(state.image)) || null;
  write(by("picture-note"), state.picture && !image
    ? "This was a picture of its sender's own, and links hold none: choose the file again. Until then it is the built-in picture." : "");
  return Promise.all([format, askImage({ ask: "image", units: asked("pictures"), ...(image ?? {}) })]);
}

/** The codes that are shown, by binade: numbers of one sign, then what is no number. */
function binades() {
  const sign = state.negative ? "1" : "0";
  const wanted = formatTable.codes.filter((/** @type {any} */ one) => one.bits.sign === "" || one.bits.sign === sign);
  /** @type {Map<string, any[]>} */
  const rows = new Map();
  for (const one of wanted) {
    const name = one.binade === null ? "special" : one.class === "normal" ? `2^${one.binade}` : "subnormal";
    rows.set(name, [...(rows.get(name) ?? []), one]);
  }
  return rows;
}

/** @param {any} one */
function interval(one) {
  if (!one.rounds) return `${one.code}: ${one.value}`;
  const [from, isFrom, to, isTo] = one.rounds;
  const low = from === "-inf" ? "all numbers" : `numbers ${isFrom ? "from" : "above"} ${from}`;
  const high = to === "inf" ? "and all beyond" : `${isTo ? "to" : "and below"} ${to}`;
  return `${one.code} = ${one.value} (${one.hex_float}), ${one.class}: ${low} ${high} round to it`;
}

function showFormat() {
  const table = formatTable;
  const specials = `${table.has_infinity ? "infinities" : "no infinity"}, ${table.nans === 0 ? "no NaN" : table.nans === 1 ? "one NaN" : table.nans + " NaNs"}`;
  by("format-about").textContent = `${table.name}: ${table.bits} bits, ${table.exponent_bits} of the exponent (bias ${table.bias}), ${table.fraction_bits} of the fraction; largest ${table.largest}, `
    + `smallest normal ${table.smallest_normal}, smallest ${table.smallest}; ${specials}. ${table.standard}.`;
  const rows = [...binades()].map(([name, codes]) => make("tr", {}, make("th", { scope: "row" }, name), ...codes.map(one => make("td", {
    class: "code-cell " + one.class, tabindex: 0, title: interval(one),
    onpointerenter: () => { by("format-detail").textContent = interval(one); }, onfocus: () => { by("format-detail").textContent = interval(one); },
  }, make("b", {}, one.value), make("small", {}, `${one.bits.exponent}.${one.bits.fraction || "-"}`)))));
  by("format-grid").replaceChildren(make("table", { class: "grid" }, make("tbody", {}, ...rows.reverse())));
  showDetail("format-detail", "#format-grid td");
}

/** @param {any} answer */
function showImages(answer) {
  const { width, height, original, units } = answer;
  showUnits(by("picture-units"), "pictures", units.map((/** @type {any} */ unit) => unit.unit));
  const draw = (/** @type {string} */ pixels, /** @type {string} */ name) => {
    const canvas = make("canvas", { width, height, role: "img", "aria-label": name });
    const image = new ImageData(width, height);
    for (let at = 0; at < width * height; at += 1) {
      const gray = parseInt(pixels.slice(2 * at, 2 * at + 2), 16);
      image.data.set([gray, gray, gray, 255], 4 * at);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  };
  by("images").replaceChildren(
    make("figure", {}, draw(original, "The picture as it is"), make("figcaption", {}, "as it is")),
    ...units.map((/** @type {any} */ unit, /** @type {number} */ index) => (unit.error !== null
      ? make("figure", {}, make("figcaption", { class: "lost" }, `${LETTERS[index]} ${unit.name}: ${unit.error}`))
      : make("figure", {}, draw(unit.pixels, `The picture as ${unit.name} computes it`),
        make("figcaption", {}, make("b", {}, `${LETTERS[index]} ${unit.formats}`), ` ${unit.name}: ${unit.levels} different values, error ${unit.rms.toFixed(2)} of 255`)))));
}

/** A picture of the user's own, as gray pixels. @param {File | undefined} file */
async function ownImage(file) {
  if (!file) return;
  say("");
  try {
    const bitmap = await createImageBitmap(file);
    const ratio = Math.min(1, 192 / Math.max(bitmap.width, bitmap.height));
    const [width, height] = [Math.max(1, Math.round(bitmap.width * ratio)), Math.max(1, Math.round(bitmap.height * ratio))];
    const canvas = make("canvas", { width, height });
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    let pixels = "";
    for (let at = 0; at < data.length; at += 4) pixels += Math.round((data[at] * 299 + data[at + 1] * 587 + data[at + 2] * 114) / 1000).toString(16).padStart(2, "0");
    ownPictures.push({ width, pixels });
    change("", now => Object.assign(now, { picture: "own", image: ownPictures.length - 1 }));
  } catch {
    say(`${file.name} is not a picture that this browser reads`, true);
  }
}

/** The grid of a format as a picture of its own. */
function gridSvg() {
  if (!formatTable) return svgOf(300, 40, ['<text x="20" y="25">nothing is drawn yet</text>']);
  const rows = [...binades()].reverse();
  const widest = Math.max(...rows.map(([, codes]) => codes.length));
  const [cell, line] = [82, 22];
  const body = rows.flatMap(([name, codes], row) => [`<text x="12" y="${30 + row * line}" font-weight="bold">${escaped(name)}</text>`,
    ...codes.map((one, at) => `<text x="${100 + at * cell}" y="${30 + row * line}">${escaped(one.value)}</text>`)]);
  return svgOf(110 + widest * cell, 40 + rows.length * line, body);
}
