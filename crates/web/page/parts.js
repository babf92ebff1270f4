// Pieces of the page: elements, menus, the list of units.

/** @param {string} id
 * @returns {any} */
const by = id => document.getElementById(id);

/** An element. Keys that begin with `on` are listeners, others attributes; false leaves one out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined)} children
 * @returns {any} */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** Writes a text where it is another one: what is written anew is laid out anew.
 * @param {any} element @param {string} text */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** An element that is drawn with every answer, as data: keys of `attributes` are those of `make`.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Sketch | string | null | undefined)} children
 * @returns {Sketch} */
const sketch = (tag, attributes = {}, ...children) => ({ tag, attributes, children: present(children) });

/** @template Piece @param {(Piece | null | undefined)[]} pieces
 * @returns {Piece[]} */
const present = pieces => /** @type {Piece[]} */ (pieces.filter(piece => piece !== null && piece !== undefined));

/** What was drawn into an element.
 * @type {WeakMap<Node, (Sketch | string)[]>} */
const drawn = new WeakMap();

/** Draws into an element that nothing else fills. Only what changed since the last time is touched, so that the focus stays where it is and
 * little is laid out again.
 * @param {Element} place @param {(Sketch | string)[]} pieces */
function draw(place, pieces) {
  const before = drawn.get(place) ?? [];
  drawn.set(place, pieces);
  pieces.forEach((piece, at) => {
    const [was, node] = [before[at], /** @type {any} */ (place.childNodes[at])];
    if (typeof piece === "string") {
      if (was === piece) return;
      if (typeof was === "string") node.data = piece;
      else put(place, node, document.createTextNode(piece));
    } else if (typeof was === "object" && was.tag === piece.tag) {
      dress(node, was.attributes, piece.attributes);
      draw(node, piece.children);
    } else {
      const element = document.createElement(piece.tag);
      dress(element, {}, piece.attributes);
      draw(element, piece.children);
      put(place, node, element);
    }
  });
  for (let extra = before.length - pieces.length; extra > 0; extra -= 1) place.lastChild?.remove();
}

/** @param {Element} place @param {ChildNode | undefined} before @param {Node} node */
const put = (place, before, node) => (before ? before.replaceWith(node) : place.append(node));

/** @param {any} element @param {Record<string, any>} before @param {Record<string, any>} attributes */
function dress(element, before, attributes) {
  const has = (/** @type {any} */ value) => value !== false && value !== null && value !== undefined;
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element[key] = value;
    else if (value === before[key]) continue;
    else if (has(value)) element.setAttribute(key, value === true ? "" : String(value));
    else element.removeAttribute(key);
  }
  for (const key of Object.keys(before)) {
    if (key in attributes) continue;
    if (key.startsWith("on")) element[key] = null;
    else element.removeAttribute(key);
  }
}

/** Says something in the line below the heading.
 * @param {string} text @param {boolean} [isError] */
function say(text, isError = false) {
  const status = by("status");
  write(status, text);
  status.classList.toggle("lost", isError);
}

const LETTERS = ["A", "B", "C", "D"];

/** The list of units: a search by words, edits, removal.
 * @param {any} place
 * @param {"units" | "pictures"} list
 * @param {(About | null)[]} known what is known of each
 */
function showUnits(place, list, known) {
  const rows = state[list];
  while (place.children.length > rows.length) place.lastChild.remove();
  rows.forEach((unit, index) => {
    const row = place.children[index] || place.appendChild(unitRow(list, index));
    const input = row.querySelector("input[role=combobox]");
    if ((document.activeElement !== input || !isTyped(input.value, unit)) && input.value !== unit.unit) input.value = unit.unit;
    const about = known[index];
    if (about) {
      const title = about.name + "\n" + about.precision;
      if (input.title !== title) input.title = title;
      write(row.querySelector(".says"), about.name + ": " + about.precision + (about.remarks.length ? " · " + about.remarks.join("; ") : ""));
    } else {
      write(row.querySelector(".says"), "");
    }
    row.querySelector(".remove").disabled = rows.length <= 1;
    const panel = row.querySelector(".edits");
    const toggle = row.querySelector(".edit");
    const count = Object.keys(unit.edit).length;
    write(toggle, count ? `Edit (${count})` : "Edit");
    toggle.disabled = !about && !count;
    if (!panel.hidden || count) showEdits(panel, list, index, about);
  });
}

/** Whether a unit is what a text says, with its edits if the text has some. @param {string} text @param {UnitState} unit */
function isTyped(text, unit) {
  const typed = unitOf(text);
  return typed.unit.trim() === unit.unit.trim() && (!text.includes(";") || written({ ...typed, unit: "" }) === written({ ...unit, unit: "" }));
}

/** @param {"units" | "pictures"} list @param {number} index */
function unitRow(list, index) {
  const id = `${list}-${index}`;
  const options = make("ul", { role: "listbox", id: id + "-list", class: "options", hidden: true, "aria-label": "Instructions" });
  const input = make("input", {
    role: "combobox", id, "aria-label": `Unit ${LETTERS[index]}: chip and words of its instruction`, "aria-autocomplete": "list",
    "aria-expanded": "false", "aria-controls": id + "-list", spellcheck: "false", autocomplete: "off", placeholder: "h100 wgmma f16 f32",
  });
  let chosen = -1;
  let hadEdits = false; // in the text that is typed
  let isWanted = false; // an answer that comes after the list was closed does not open it
  const close = () => {
    isWanted = false;
    options.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    chosen = -1;
  };
  const take = (/** @type {string} */ text) => {
    input.value = text;
    change(`${list}-${index}`, now => { now[list][index] = { unit: text, edit: {} }; });
    close();
  };
  const mark = () => [...options.children].forEach((option, place) => {
    option.setAttribute("aria-selected", String(place === chosen));
    if (place === chosen) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }
  });
  const search = latest(answer => {
    if (document.activeElement !== input || !isWanted) return;
    options.replaceChildren(...answer.instructions.map((/** @type {any} */ one, /** @type {number} */ place) => make("li", {
      role: "option", id: `${id}-option-${place}`, "aria-selected": "false", class: one.is_known ? false : "dim", "data-unit": `${answer.chip} ${one.name}`,
      onpointerdown: (/** @type {Event} */ event) => { event.preventDefault(); take(`${answer.chip} ${one.name}`); },
    }, make("b", {}, one.name), ` ${one.precision}`)));
    options.hidden = !answer.instructions.length;
    input.setAttribute("aria-expanded", String(!options.hidden));
    chosen = -1;
  }, () => close(), "quick");
  const look = () => {
    isWanted = true;
    search({ ask: "search", words: unitOf(input.value).unit });
  };
  input.addEventListener("input", () => {
    const text = input.value;
    const typed = unitOf(text); // as a link has it
    change(`${list}-${index}`, now => {
      const keepsEdits = !text.includes(";") && !hadEdits && text.trim() === now[list][index].unit.trim();
      now[list][index] = keepsEdits ? { unit: text, edit: now[list][index].edit } : typed;
    });
    hadEdits = text.includes(";");
    if (text.trim()) look();
    else close();
  });
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const count = options.children.length;
    if (event.key === "ArrowDown" && options.hidden) look();
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count) chosen = (chosen + (event.key === "ArrowDown" ? 1 : count - 1 + (chosen < 0 ? 1 : 0))) % count;
    else if (event.key === "Enter" && chosen >= 0) take(options.children[chosen].getAttribute("data-unit") ?? "");
    else if (event.key === "Enter" || event.key === "Escape") { close(); return; }
    else return;
    event.preventDefault();
    mark();
  });
  input.addEventListener("blur", () => {
    close();
    hadEdits = false;
    input.value = state[list][index]?.unit ?? "";
  });
  const panel = make("div", { class: "edits", hidden: true });
  const toggle = make("button", {
    type: "button", class: "edit", "aria-expanded": "false", "aria-label": `Edit the parameters of unit ${LETTERS[index]}`,
    onclick: () => {
      panel.hidden = !panel.hidden;
      toggle.setAttribute("aria-expanded", String(!panel.hidden));
      show();
    },
  }, "Edit");
  const remove = make("button", {
    type: "button", class: "remove", "aria-label": `Remove unit ${LETTERS[index]}`,
    onclick: () => change("", now => { now[list].splice(index, 1); }),
  }, "×");
  return make("div", { class: "unit" },
    make("div", { class: "line" }, make("span", { class: "letter" }, LETTERS[index]), make("div", { class: "combo" }, input, options), toggle, remove),
    make("p", { class: "says dim" }), panel);
}

/** Fields for the parameters of a unit, with the texts of the state, whether they can be read or not.
 * @param {any} panel @param {"units" | "pictures"} list @param {number} index @param {About | null} about */
function showEdits(panel, list, index, about) {
  const edit = state[list][index].edit;
  const parameters = about?.parameters ?? [];
  const textOf = (/** @type {Parameter} */ one) => (Object.hasOwn(edit, one.symbol) ? edit[one.symbol] : one.value);
  const set = (/** @type {string} */ symbol, /** @type {string} */ value) => change(`${list}-${index}-${symbol}`, now => {
    const before = about?.edits.find(one => one[0] === symbol)?.[1] ?? about?.parameters.find(one => one.symbol === symbol)?.value;
    now[list][index] = { ...now[list][index], edit: { ...now[list][index].edit } };
    if (value === before) delete now[list][index].edit[symbol];
    else now[list][index].edit[symbol] = value;
  });
  const fields = parameters.map(one => {
    const [value, choices] = [textOf(one), one.choices];
    const label = { "aria-label": `${one.symbol} of unit ${LETTERS[index]}: ${one.meaning}`, title: one.meaning };
    const field = choices.length
      ? sketch("select", { ...label, onchange: (/** @type {any} */ event) => set(one.symbol, event.target.value) },
        ...(choices.includes(value) ? choices : [value, ...choices]).map(choice => sketch("option", { value: choice }, choice)))
      : sketch("input", { ...label, inputmode: "numeric", size: 6, oninput: (/** @type {any} */ event) => set(one.symbol, event.target.value.trim()) });
    return sketch("label", { class: Object.hasOwn(edit, one.symbol) && "edited" }, sketch("span", {}, one.symbol), field);
  });
  draw(panel, [...fields, sketch("button", {
    type: "button", disabled: !Object.keys(edit).length,
    onclick: () => change("", now => { now[list][index] = { unit: now[list][index].unit, edit: {} }; }),
  }, "Reset")]);
  parameters.forEach((one, at) => {
    const field = panel.children[at].lastChild;
    if (field.value.trim() !== textOf(one)) field.value = textOf(one);
  });
}

/** @param {"units" | "pictures"} list */
const asked = list => state[list].map(({ unit, edit }) => ({ unit, edit }));
