// Sends files for a corpus in parts, each with its SHA-256, and goes on where it stopped.
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
  Object.entries(values).reduce((filled, [key, value]) => filled.replace(`{${key}}`, value), text);

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const isAccepted = (path) => !path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX" || part === "Thumbs.db");

// The files below an entry that was dropped: folders are walked, a page of their entries at a time.
const below = async (entry, path = "") => {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: path + entry.name, file }];
  }
  const reader = entry.createReader();
  const files = [];
  for (;;) {
    const page = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!page.length) return files;
    for (const child of page) files.push(...await below(child, `${path}${entry.name}/`));
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
      const dropped = [...event.dataTransfer.files].map((file) => ({ path: file.name, file }));
      this.say(this.form.dataset.preparing);
      const files = [];
      for (const entry of entries) files.push(...await below(entry));
      this.say("");
      this.choose(entries.length ? files : dropped);
    });
  }

  say(text) { this.parts.says.textContent = text; }

  choose(files) {
    if (this.busy) return;
    this.files = files.filter(({ path }) => isAccepted(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
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
        this.check(begun.key);
      }
    } catch (error) {
      this.say(error.message);
    } finally {
      this.busy = false;
      this.parts.pause.hidden = true;
      this.parts.send.disabled = false;
    }
  }

  // The upload as the server has it: a new one, or one that resumes.
  async begin() {
    const { uploads, key } = this.form.dataset;
    if (key) {
      const upload = await this.stored(key);
      if (upload.files.length !== this.files.length || upload.files.some(({ number, size }) => this.files[number].file.size !== size)) {
        this.say(this.form.dataset.other);
        return null;
      }
      return upload;
    }
    const { name, add } = this.form.elements;
    const body = JSON.stringify({ name: name.value.trim(), add: Boolean(add), files: this.files.map(({ path, file }) => ({ path, size: file.size })) });
    return this.retried(() => fetch(uploads, { method: "POST", headers: this.headers({ "Content-Type": "application/json" }), body }));
  }

  stored(key) { return this.retried(() => fetch(`${this.form.dataset.uploads}/${key}`, { headers: this.headers() })); }

  async sendAll({ key, part_bytes: most, files }) {
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let sent = files.reduce((sum, { received }) => sum + received, 0);
    this.show(sent, total);
    for (const { number, received, size } of files) {
      let at = received;
      // An empty file has one part without a byte, so that it is there.
      let whole = size > 0 && at === size;
      while (!whole) {
        if (this.paused) { this.say(""); return false; }
        const reached = await this.sendPart(key, number, at, this.files[number].file.slice(at, at + most));
        sent += reached - at;
        at = reached;
        whole = at === size;
        this.show(sent, total);
      }
    }
    return true;
  }

  // How much has come of a file once a part is sent; where that came before, the server says how much.
  async sendPart(key, number, at, part) {
    const body = new FormData();
    body.append("offset", at);
    body.append("sha256", hex(await crypto.subtle.digest("SHA-256", await part.arrayBuffer())));
    body.append("part", part, "part");
    const address = `${this.form.dataset.uploads}/${key}/files/${number}`;
    const answer = await this.retried(() => fetch(address, { method: "POST", headers: this.headers(), body }), [409]);
    if ("received" in answer) return answer.received;
    const { received } = (await this.stored(key)).files[number];
    if (received === at) throw new Error(answer.detail);
    return received;
  }

  // What the server answers; without a network, or while it is away, it is asked again.
  async retried(ask, also = []) {
    for (let tries = 0; ; tries += 1) {
      let answer = null;
      try { answer = await ask(); } catch { /* no network */ }
      if (answer && answer.status < 500 && answer.status !== 429) {
        const body = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : {};
        // Whose session has ended is nobody, or lacks the token of the new one.
        if (answer.status === 401 || body.code === "csrf") throw new Error(this.form.dataset.signIn);
        if (answer.ok || also.includes(answer.status)) return body;
        throw new Error(body.detail || `${answer.status} ${answer.statusText}`);
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

  // The check is asked for as a form does it, which leads to the upload's page.
  check(key) {
    const { check, pages } = this.form.dataset;
    const sent = document.createElement("form");
    sent.method = "post";
    sent.action = check;
    for (const [name, value] of [["csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value], ["upload", key], ["next", `${pages}${key}/`]]) {
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
