// How the page asks: a WebAssembly module that is in it, or the server that it came from. Nothing is computed on this side.

/** Runs a module: a function that answers questions. It is the same on the page and in the worker, so it uses nothing around it.
 * @param {WebAssembly.Module} module
 * @returns {(question: string) => string} */
function answering(module) {
  /** @type {any} */
  let exports = null;
  return question => {
    exports = exports || new WebAssembly.Instance(module, {}).exports;
    try {
      const bytes = new TextEncoder().encode(question);
      const at = exports.room(bytes.length) >>> 0;
      new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
      const length = exports.answer() >>> 0;
      return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.place() >>> 0, length));
    } catch (error) {
      exports = null; // what failed is not used again
      throw new Error("the module failed on this question: " + error);
    }
  };
}

/** Bytes of a text in base64, inflated.
 * @param {string} text
 * @returns {Promise<ArrayBuffer>} */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

/** @type {{quick: (question: string) => Promise<string>, slow: (question: string) => Promise<string>} | null} */
let transport = null;

async function connect() {
  const text = (document.getElementById("module")?.textContent || "").trim();
  if (!text) {
    const post = async (/** @type {string} */ question) => {
      const response = await fetch("ask", { method: "POST", body: question }).catch(() => {
        throw new Error("bitmma explore does not answer: start it again, with the link that Copy gives.");
      });
      if (!response.ok) throw new Error((await response.text()).trim() || "the server is gone");
      return response.text();
    };
    transport = { quick: post, slow: post };
    return;
  }
  const module = await WebAssembly.compile(await inflated(text));
  const run = answering(module);
  transport = { quick: async question => run(question), slow: await worker(module, run) };
}

/** Asks in a worker, so that the page stays quick; where there can be none, on the page.
 * @param {WebAssembly.Module} module
 * @param {(question: string) => string} otherwise
 * @returns {Promise<(question: string) => Promise<string>>} */
async function worker(module, otherwise) {
  const source = `const answering = ${answering}; let run = null;
    onmessage = ({ data }) => {
      if (data.module) { run = answering(data.module); return; }
      try { postMessage({ id: data.id, answer: run(data.question) }); } catch (error) { postMessage({ id: data.id, error: String(error) }); }
    };`;
  try {
    const thread = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    /** @type {Map<number, {resolve: (answer: string) => void, reject: (error: Error) => void}>} */
    const waiting = new Map();
    let last = 0;
    thread.onmessage = ({ data }) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) one?.reject(new Error(data.error));
      else one?.resolve(data.answer);
    };
    thread.postMessage({ module });
    return question => new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      thread.postMessage({ id: last, question });
    });
  } catch {
    return async question => otherwise(question);
  }
}

/** Characters of a question, at most. */
const LONGEST_QUESTION = 8388608;

/** The answer to a question; what is wrong with it is an error.
 * @param {{ask: string, [key: string]: any}} question
 * @param {"quick" | "slow"} [how]
 * @returns {Promise<any>} */
async function ask(question, how = "quick") {
  if (!transport) throw new Error("the page is not connected yet");
  const text = JSON.stringify(question);
  if (text.length > LONGEST_QUESTION) throw new Error(`The page has ${text.length} characters of input; at most ${LONGEST_QUESTION} are read.`);
  const { ok, error } = JSON.parse(await transport[how](text));
  if (error !== undefined) throw new Error(error);
  return ok;
}

/** Asks so that only the last of several questions in a row is answered: one is under way, at most one waits.
 * @param {(answer: any) => void} show
 * @param {(error: Error) => void} fail
 * @param {"quick" | "slow"} how */
function latest(show, fail, how) {
  /** @type {{ask: string} | null} */
  let next = null;
  /** @type {Promise<void> | null} */
  let running = null;
  const go = async () => {
    while (next) {
      const question = next;
      next = null;
      try {
        const answer = await ask(question, how);
        if (!next) show(answer);
      } catch (error) {
        if (!next) fail(/** @type {Error} */ (error));
      }
    }
    running = null;
  };
  return (/** @type {{ask: string, [key: string]: any}} */ question) => {
    next = question;
    running = running ?? go();
    return running;
  };
}
