// Sends files for a new corpus in parts, each with its SHA-256, and goes on where it stopped.
//
// The server says what it has of each file; whatever is cut off is sent again from there. Without a network it
// tries again by itself; where the session has ended, it stops and says so. Files whose names
// begin with a dot, and what macOS puts into folders, stay at home.

const AGAIN = [1, 2, 5, 10, 30];
const form = document.querySelector("[data-upload]");

const readable = (bytes) => {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let power = 0;
  while (bytes >= 1024 && power < units.length - 1) { bytes /= 1024; power += 1; }
  return `${bytes >= 10 || power === 0 ? Math.round(bytes) : bytes.toFixed(1)} ${units[power]}`;
};

const filled = (text, values) =>
  Object.entries(values).reduce((said, [key, value]) => said.replace(`{${key}}`, value), text);

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const wanted = (path) => !path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX" || part === "Thumbs.db");

// The files below an entry that was dropped: folders are walked, a page of their entries at a time.
const below = async (entry, path = "") => {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: path + entry.name, file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const page = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!page.length) return found;
    for (const each of page) found.push(...await below(each, `${path}${entry.name}/`));
  }
};

class Sender {
  constructor(form) {
    this.form = form;
    this.files = [];
    this.paused = false;
    this.busy = false;
    const pick = (name) => form.querySelector(name);
    this.parts = { list: pick("[data-list]"), says: pick("[data-says]"), send: pick("[data-send]"), pause: pick("[data-pause]"), bar: pick("[data-sending-part]") };
    form.hidden = false;
    for (const input of form.querySelectorAll('input[type="file"]')) {
      input.addEventListener("change", () => this.choose([...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }))));
    }
    this.listenToDrops(pick("[data-drop]"));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.start(); });
    this.parts.pause.addEventListener("click", () => { this.paused = true; });
    addEventListener("beforeunload", (event) => { if (this.busy) event.preventDefault(); });
    if (!globalThis.crypto?.subtle) this.say(form.dataset.secure);
  }

  listenToDrops(area) {
    area.addEventListener("dragover", (event) => { event.preventDefault(); area.classList.add("is-over"); });
    area.addEventListener("dragleave", () => area.classList.remove("is-over"));
    area.addEventListener("drop", async (event) => {
      event.preventDefault();
      area.classList.remove("is-over");
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
      const plain = [...event.dataTransfer.files].map((file) => ({ path: file.name, file }));
      this.say(this.form.dataset.preparing);
      const found = [];
      for (const entry of entries) found.push(...await below(entry));
      this.say("");
      this.choose(entries.length ? found : plain);
    });
  }

  say(text) { this.parts.says.textContent = text; }

  choose(files) {
    if (this.busy) return;
    this.files = files.filter(({ path }) => wanted(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
    const size = this.files.reduce((sum, { file }) => sum + file.size, 0);
    this.parts.list.textContent = this.files.length ? filled(this.form.dataset.chosen, { count: this.files.length, size: readable(size) }) : this.form.dataset.none;
    this.parts.send.disabled = !this.files.length || !globalThis.crypto?.subtle;
  }

  headers(more = {}) { return { "X-CSRFToken": this.form.elements.csrfmiddlewaretoken.value, Accept: "application/json", ...more }; }

  async start() {
    if (this.busy || !this.files.length) return;
    this.busy = true;
    this.paused = false;
    this.parts.send.disabled = true;
    this.parts.pause.hidden = false;
    this.parts.bar.hidden = false;
    try {
      const begun = await this.begin();
      if (!begun) return;
      if (await this.sendAll(begun)) {
        this.say(this.form.dataset.done);
        this.busy = false;
        this.check(begun.page);
      }
    } catch (error) {
      this.say(error.message);
    } finally {
      this.busy = false;
      this.parts.pause.hidden = true;
      this.parts.send.disabled = false;
    }
  }

  // What the server has of each file, of a new upload or of one that resumes.
  async begin() {
    const again = this.form.dataset.again;
    if (again) {
      const state = await this.asked(() => fetch(`${again}state`, { headers: this.headers() }));
      if (state.files.length !== this.files.length || state.files.some(([number, , size]) => this.files[number].file.size !== size)) {
        this.say(this.form.dataset.other);
        return null;
      }
      return { ...state, page: again };
    }
    const body = JSON.stringify({ name: this.form.elements.name.value.trim(), files: this.files.map(({ path, file }) => [path, file.size]) });
    return this.asked(() => fetch(this.form.dataset.begin, { method: "POST", headers: this.headers({ "Content-Type": "application/json" }), body }));
  }

  async sendAll({ page, part, files }) {
    const total = files.reduce((sum, [, , size]) => sum + size, 0);
    let sent = files.reduce((sum, [, received]) => sum + received, 0);
    this.show(sent, total);
    for (const [number, received, size] of files) {
      let at = received;
      // An empty file has one part without a byte, so that it is there.
      let whole = size > 0 && at === size;
      while (!whole) {
        if (this.paused) { this.say(""); return false; }
        const data = await this.files[number].file.slice(at, at + part).arrayBuffer();
        const sha256 = hex(await crypto.subtle.digest("SHA-256", data));
        const headers = this.headers({ "Content-Type": "application/octet-stream", "X-Part-Offset": String(at), "X-Part-SHA256": sha256 });
        const answer = await this.asked(() => fetch(`${page}files/${number}`, { method: "POST", headers, body: data }), [409]);
        if (!Number.isInteger(answer.received)) throw new Error(this.form.dataset.signIn);
        sent += answer.received - at;
        at = answer.received;
        whole = at === size;
        this.show(sent, total);
      }
    }
    return true;
  }

  // What the server answers; without a network, or while it is away, it is asked again.
  async asked(ask, also = []) {
    for (let tries = 0; ; tries += 1) {
      let answer = null;
      try { answer = await ask(); } catch { /* no network */ }
      if (answer && answer.status < 500) {
        const json = answer.headers.get("Content-Type")?.startsWith("application/json");
        // Whose session has ended is led to the page where one signs in, or lacks the token of the new one.
        if (answer.redirected || (!json && (answer.ok || answer.status === 403))) throw new Error(this.form.dataset.signIn);
        const told = json ? await answer.json() : {};
        if (answer.ok || (also.includes(answer.status) && "received" in told)) return told;
        throw new Error(told.error || `${answer.status} ${answer.statusText}`);
      }
      const seconds = AGAIN[Math.min(tries, AGAIN.length - 1)];
      this.say(filled(this.form.dataset.lost, { seconds }));
      await new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });
    }
  }

  show(sent, total) {
    const percent = total ? Math.floor((100 * sent) / total) : 100;
    this.parts.bar.querySelector("progress").value = percent;
    this.say(filled(this.form.dataset.sending, { part: readable(sent), size: readable(total) }));
  }

  // The check is an act of the upload's page, which this leads to.
  check(page) {
    const sent = document.createElement("form");
    sent.method = "post";
    sent.action = `${page}act`;
    for (const [name, value] of [["csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value], ["act", "check"]]) {
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = name;
      field.value = value;
      sent.append(field);
    }
    document.body.append(sent);
    sent.submit();
  }
}

if (form) new Sender(form);
