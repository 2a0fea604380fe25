// Answers that were given and have not reached the server: pure rules over a storage.
//
// An entry is { assignment, act, address, token, kind, form, seconds, label, beat } as it is sent, with
// `due`, when it may go (ms since 1970), and `tries`, how often it went out without an answer. It stays
// until the server has taken it (`done`) or has said for good that it will not (`refuse`). The person who gives
// an answer thereby lets go of the ones before it.

// Milliseconds for which the last answer can be taken back.
export const HOLD = 10_000;
const PREFIX = "phrasebox:pending:";
const REFUSED = "phrasebox:refused:";

const freshToken = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class PendingAnswers {
  constructor(storage, where, now = Date.now) {
    Object.assign(this, { storage, where, now, key: PREFIX + where });
  }

  // The keys of one owner under which something is to be sent or shown.
  static keysOf(storage, owner) {
    const keys = storage.keys().flatMap((key) => [PREFIX, REFUSED].filter((p) => key.startsWith(p)).map((p) => key.slice(p.length)));
    return [...new Set(keys)].filter((where) => where.startsWith(`${owner}:`));
  }

  get entries() { return this.storage.get(this.key, []); }
  set entries(entries) {
    if (entries.length) this.storage.put(this.key, entries);
    else this.storage.remove(this.key);
  }

  // Answers that the server will never take, to be shown: { assignment, label, why }.
  get refused() { return this.storage.get(REFUSED + this.where, []); }
  set refused(refused) {
    if (refused.length) this.storage.put(REFUSED + this.where, refused);
    else this.storage.remove(REFUSED + this.where);
  }

  has(assignment) { return this.entries.some((entry) => entry.assignment === assignment); }

  // One answer a question: what was given first stays, unless it was taken back.
  add(entry, hold = HOLD) {
    if (this.has(entry.assignment)) return false;
    this.hurry();
    this.entries = [...this.entries, { ...entry, tries: 0, due: this.now() + hold }];
    return true;
  }

  // Take the entry out again. It may have arrived, also sent by another tab: given again, it has a token of its
  // own, so that the server says so instead of taking the first answer for the second.
  takeBack(assignment) {
    const taken = this.entries.find((entry) => entry.assignment === assignment);
    if (!taken) return null;
    this.done(assignment);
    return { ...taken, token: freshToken() };
  }

  // What is to be sent now, in the order given; entries named in `flying` are on their way.
  next(flying = new Set()) {
    const at = this.now();
    return this.entries.find((entry) => entry.due <= at && !flying.has(entry.assignment)) ?? null;
  }

  // When there is something to send again, null where there is nothing.
  when() {
    const due = this.entries.map((entry) => entry.due);
    return due.length ? Math.min(...due) : null;
  }

  // Let go of everything; with `again` also of what waits because it was not taken.
  hurry(again = false) {
    const at = this.now();
    this.entries = this.entries.map((entry) => (entry.tries && !again ? entry : { ...entry, due: Math.min(entry.due, at) }));
  }

  // It went out and nobody knows what became of it: the same again in `delay` ms, under the same token.
  later(assignment, delay) {
    this.entries = this.entries.map((entry) =>
      entry.assignment === assignment ? { ...entry, tries: entry.tries + 1, due: this.now() + delay } : entry);
  }

  done(assignment) { this.entries = this.entries.filter((entry) => entry.assignment !== assignment); }

  refuse(assignment, why) {
    const entry = this.entries.find(({ assignment: id }) => id === assignment);
    if (entry) this.refused = [...this.refused, { assignment, label: entry.label, why }];
    this.done(assignment);
  }

  forget(assignment) { this.refused = this.refused.filter((entry) => entry.assignment !== assignment); }
}
