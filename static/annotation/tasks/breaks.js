// After so many minutes at work without a pause, a word about a break; said to be all right, it waits as
// long again. The browser remembers when the work began, whatever page it goes on at.

export const WORK = 50 * 60_000;
const PAUSE = 5 * 60_000;
const KEY = "phrasebox:at-work";
// Milliseconds between two notes of it: pointers move more often.
const NOTED = 5_000;

export class Breaks {
  constructor(storage, now = Date.now) {
    Object.assign(this, { storage, now, ...storage.get(KEY, { from: now(), last: now() }), noted: 0 });
    this.act();
  }

  act() {
    const now = this.now();
    if (now - this.last >= PAUSE || now < this.last) this.from = now;
    this.last = now;
    if (now - this.noted < NOTED) return;
    this.noted = now;
    this.storage.put(KEY, { from: this.from, last: now });
  }

  get minutes() { return Math.round((this.last - this.from) / 60_000); }
  get due() { return this.last - this.from >= WORK; }

  rested() {
    this.from = this.now();
    this.noted = 0;
    this.act();
  }
}
