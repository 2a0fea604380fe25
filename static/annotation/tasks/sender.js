// Sends the pending answers that are due, one by one, until the server has answered.
//
// What nobody answered, and what the server could not take just now, goes out again under the same token,
// each time after a longer pause. What it will never take leaves them as refused, and the rest goes
// on. Without a network, or signed out, everything waits.

const FIRST = 1_000;
const LONGEST = 60_000;
// Half as much more or less, so that a crowd does not come back all at once.
export const pause = (tries, random = Math.random) => Math.min(LONGEST, FIRST * 2 ** tries) * (0.75 + random() / 2);

// Statuses that no repetition changes.
const FINAL = [400, 404, 405, 409, 410, 413, 422];

export class Sender {
  // `send(entry)` gives { status, body }; `changed()` hears of every change, `taken(entry, body)` of every
  // answer that the server has, `refused(entry)` of every one that it will not take.
  constructor({
    pending, send, changed = () => {}, taken = () => {}, refused = () => {}, online = () => navigator.onLine, now = Date.now,
  }) {
    Object.assign(this, { pending, send, changed, taken, refused, online, now });
    // Why everything waits: "offline", "failing", "signed_out", "somebody", "shut" (`why` says more); "" where
    // nothing does.
    this.halt = "";
    this.why = "";
    this.halts = 0;
    this.until = 0;
    this.flying = new Set();
    this.stopped = false;
  }

  // The notice about the pending answers, "" where all is well.
  get trouble() {
    if (this.halt) return this.halt;
    return this.pending.entries.some((entry) => entry.tries) ? "failing" : "";
  }

  async run() {
    if (this.stopped || this.running) return;
    this.running = true;
    for (let entry; this.ready() && (entry = this.pending.next(this.flying)); ) await this.sendOne(entry);
    this.running = false;
    this.plan();
  }

  // Try everything again, now: the network is back, somebody looks, or asks for it.
  again() {
    this.until = 0;
    this.pending.hurry(true);
    return this.run();
  }

  // The page may be gone in a moment: everything at once.
  leave() {
    if (this.stopped || !this.online()) return;
    this.pending.hurry();
    const waiting = this.pending.entries.filter((entry) => !this.flying.has(entry.assignment));
    Promise.all(waiting.map((entry) => this.sendOne(entry))).then(() => this.plan());
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  ready() {
    if (this.stopped || this.now() < this.until) return false;
    if (this.online()) return true;
    if (this.pending.next()) this.wait("offline");
    return false;
  }

  async sendOne(entry) {
    this.flying.add(entry.assignment);
    this.changed();
    const { status, body } = await this.send(entry);
    this.flying.delete(entry.assignment);
    if (status >= 200 && status < 300) {
      this.fine();
      this.pending.done(entry.assignment);
      this.taken(entry, body);
    } else if (FINAL.includes(status)) {
      this.fine();
      this.pending.refuse(entry.assignment, body.detail ?? String(status));
      this.refused(entry);
    } else if (status === 401) this.wait("signed_out");
    else if (status === 403) this.wait(body.code === "csrf" ? "somebody" : "shut", body.detail ?? "");
    else {
      this.pending.later(entry.assignment, pause(entry.tries));
      if (status === 0) this.wait(this.online() ? "failing" : "offline");
      else this.fine();
    }
    this.changed();
  }

  fine() {
    this.halt = "";
    this.halts = 0;
  }

  wait(halt, why = "") {
    if (halt !== this.halt) this.halts = 0;
    Object.assign(this, { halt, why, until: this.now() + pause(this.halts) });
    this.halts += 1;
    this.changed();
  }

  plan() {
    clearTimeout(this.timer);
    const when = this.pending.when();
    if (when === null || this.stopped) return;
    this.timer = setTimeout(() => this.run(), Math.max(50, when - this.now(), this.until - this.now()));
  }
}
