// What starts the page, and shows the state after every change.

/** Shows the state: fields get its texts, and the function is asked. */
function show() {
  keepAddressSoon();
  for (const view of ["dot", "curve", "formats"]) {
    const isShown = state.view === view;
    by("view-" + view).hidden = !isShown;
    if (by("tab-" + view).getAttribute("aria-selected") === String(isShown)) continue;
    by("tab-" + view).setAttribute("aria-selected", String(isShown));
    by("tab-" + view).tabIndex = isShown ? 0 : -1;
  }
  const units = by("units").closest("fieldset");
  const home = state.view === "curve" ? by("view-curve") : by("view-dot");
  if (units.parentElement !== home) home.insertBefore(units, state.view === "curve" ? home.firstChild : by("view-dot").querySelector(".inputs"));
  for (const id of /** @type {const} */ (["a", "b", "c", "scale_a", "scale_b"])) {
    const field = by(id);
    if (field.value !== state[id]) field.value = state[id];
    grow(field);
  }
  by("undo").disabled = !before.length;
  by("redo").disabled = !after.length;
  by("add").disabled = state.units.length >= MOST_UNITS;
  by("add-picture").disabled = state.pictures.length >= MOST_UNITS;
  by("smallest").hidden = state.view !== "dot";
  const preset = presetShown();
  by("preset").value = preset?.name ?? "";
  write(by("lesson"), preset?.lesson ?? "");
  if (state.view === "curve") for (const update of curveUpdates) update();
  if (state.view === "formats") {
    by("format").value = state.format;
    by("negative").checked = state.negative;
  }
  return update();
}

function update() {
  const about = explain();
  if (state.view === "curve") return Promise.all([about, askForCurve()]);
  if (state.view === "formats") {
    return Promise.all([about, askForFormats()]);
  }
  return about;
}

/** As many lines as the text has. @param {any} field */
function grow(field) {
  if (field.tagName !== "TEXTAREA") return;
  const rows = Math.min(6, Math.max(1, Math.ceil(field.value.length / 90)));
  if (field.rows !== rows) field.rows = rows;
}

/** @param {string} text */
function load(text) {
  state = stateOf(text);
  if (!state.units.length && presets.length) {
    const view = state.view;
    const [first] = presets;
    state.units = first.units.map(([unit, edits]) => ({ unit, edit: Object.fromEntries(edits) }));
    if (!state.a && !state.b) Object.assign(state, { a: first.a, b: first.b, c: first.c, scale_a: first.scale_a, scale_b: first.scale_b });
    state.view = view;
  }
  say(misread.join(". "), true);
}

function listen() {
  for (const id of /** @type {const} */ (["a", "b", "c", "scale_a", "scale_b"])) {
    by(id).addEventListener("input", (/** @type {any} */ event) => change(id, now => { now[id] = event.target.value; }));
    by(id).addEventListener("paste", paste);
  }
  by("preset").addEventListener("change", (/** @type {any} */ event) => takePreset(event.target.value));
  by("undo").addEventListener("click", undo);
  by("redo").addEventListener("click", redo);
  by("add").addEventListener("click", () => change("", now => { now.units.push({ ...now.units[now.units.length - 1], edit: {} }); }));
  by("add-picture").addEventListener("click", () => change("", now => { now.pictures.push({ ...(now.pictures[now.pictures.length - 1] ?? { unit: "h100 wgmma e5m2 f32" }), edit: {} }); }));
  by("smallest").addEventListener("click", smallest);
  by("copy").addEventListener("click", openCopies);
  by("copy-now").addEventListener("click", copyNow);
  by("copy-close").addEventListener("click", () => by("copies").close());
  by("format").addEventListener("change", (/** @type {any} */ event) => change("", now => { now.format = event.target.value; }));
  by("negative").addEventListener("change", (/** @type {any} */ event) => change("", now => { now.negative = event.target.checked; }));
  by("picture-file").addEventListener("change", (/** @type {any} */ event) => ownImage(event.target.files[0]));
  by("theme").addEventListener("click", () => {
    const isDark = getComputedStyle(document.body).colorScheme === "dark" || (getComputedStyle(document.body).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.style.colorScheme = document.body.style.colorScheme = isDark ? "light" : "dark";
  });
  const tabs = [...document.querySelectorAll("[role=tab]")];
  tabs.forEach((tab, at) => {
    const go = (/** @type {any} */ to) => { change("", now => { now.view = to.dataset.view; }); to.focus(); };
    tab.addEventListener("click", () => go(tab));
    tab.addEventListener("keydown", event => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {KeyboardEvent} */ (event).key];
      if (by) go(tabs[(at + by + tabs.length) % tabs.length]);
    });
  });
  addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || by("copies").open) return;
    event.preventDefault();
    if (event.shiftKey) redo();
    else undo();
  });
  addEventListener("pagehide", keepAddress);
  addEventListener("hashchange", () => {
    const text = readAddress();
    if (text.slice(1) === fragment(state)) return;
    keep(copyOf(state));
    after.length = 0;
    load(text);
    show();
  });
}

async function start() {
  try {
    await connect();
    const about = await ask({ ask: "start" });
    presets = about.presets;
    by("preset").append(make("option", { value: "" }, "of your own"), ...presets.map(preset => make("option", { value: preset.name }, preset.title)));
    by("format").append(...about.formats.map((/** @type {string} */ name) => make("option", { value: name }, name)));
    buildCurveControls();
    listen();
    load(readAddress());
    await show();
    document.body.dataset.ready = "yes";
  } catch (error) {
    say(`The explorer cannot start: ${/** @type {Error} */ (error).message}`, true);
  }
}

start();
