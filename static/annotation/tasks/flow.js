// The way from question to question: an answer is given, the next task is there at once, the last answer can
// be taken back for a while.
//
// `shown` is the task on the page, `deck` the ones that come next, `last` the one answered just now.

import { entered } from "./drafts.js";
import { allDecoded, fetchNext } from "./next.js";
import { pause } from "./sender.js";
import { openSheet } from "./sheets.js";
import { furnish, mountEditor, swap } from "./swap.js";

// Milliseconds in which nobody can have read a question: what is pressed then was meant for the one before.
const UNREAD = 250;
// Milliseconds after which a wait is worth a word.
const WORTH_A_WORD = 400;

const idOf = (desk) => Number(desk.dataset.assignment);
// While the next one is awaited, what is shown takes no answer.
const setBusy = (desk, busy) => {
  desk.querySelector("[data-answer]").ariaBusy = busy ? "true" : null;
  for (const choice of desk.querySelectorAll("[data-answer] .choice")) choice.ariaDisabled = busy ? "true" : null;
};
const wordsOf = (button) =>
  button.querySelector(".label")?.textContent
  ?? [...button.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("").trim();

export class Flow {
  // `changed()` hears of everything that is worth showing.
  constructor(desk, { outbox, sender, drafts, clock, pace, changed }) {
    Object.assign(this, { shown: desk, outbox, sender, drafts, clock, pace, changed });
    this.address = desk.dataset.address;
    this.deck = [];
    this.last = null;
    this.busy = true;
    this.since = -UNREAD;
    this.turn = 0;
    // What the page waits for: "", "waiting", "waiting_picture", "waiting_offline", "waiting_failing"; and what
    // it has to say.
    this.waiting = "";
    this.notice = "";
    this.wake = () => {};
  }

  async start() {
    const { turn } = this;
    // After a reload the server may show what was answered and is on its way, and arrives while the picture comes.
    const answered = this.outbox.has(idOf(this.shown));
    this.drafts.restore(this.shown);
    furnish(this.shown);
    setBusy(this.shown, true);
    const slow = setTimeout(() => this.wait("waiting_picture"), WORTH_A_WORD);
    await allDecoded(this.shown);
    await mountEditor(this.shown);
    clearTimeout(slow);
    if (turn !== this.turn) return;
    this.wait("");
    if (answered) {
      this.advance();
      return;
    }
    setBusy(this.shown, false);
    this.busy = false;
    this.prefetch();
  }

  // Another tab works here now: what is under way comes to nothing.
  rest() {
    this.turn += 1;
    this.busy = true;
  }

  get ready() { return !this.busy && performance.now() - this.since >= UNREAD; }

  get canUndo() {
    const { last, sender } = this;
    return last !== null && this.outbox.has(idOf(last.desk)) && !sender.flying.has(idOf(last.desk));
  }

  // All that this page has in hand.
  get held() {
    const desks = [this.shown, ...this.deck.map((next) => next.desk)];
    return [...new Set([...this.outbox.entries.map((entry) => entry.assignment), ...desks.map(idOf)])];
  }

  get addresses() {
    const desks = [this.shown, ...this.deck.map((next) => next.desk)];
    return [...new Set([...desks.map((desk) => desk.dataset.heartbeat), ...this.outbox.entries.map((entry) => entry.beat)])];
  }

  // What a form of the task says, by the button that was pressed.
  give(form, button) {
    if (!this.ready) return;
    form.closest("dialog")?.close();
    const desk = this.shown;
    const fields = entered(form, button);
    const act = fields.act === "return" ? "return" : fields.flag ? "report" : "answer";
    const entry = {
      assignment: idOf(desk),
      act,
      address: act === "return" ? desk.dataset.return : desk.dataset.submit,
      beat: desk.dataset.heartbeat,
      token: form.elements.token.value,
      kind: desk.dataset.kind,
      form: fields,
      seconds: this.clock.seconds(),
      label: wordsOf(button),
    };
    // An answer of a test stands: it goes at once.
    const stands = "atOnce" in desk.dataset;
    // Where another tab has answered this already, its answer stands.
    const given = this.outbox.give(entry, stands ? 0 : undefined);
    this.last = given && !stands ? { desk } : null;
    this.notice = (given && { report: "reported", return: "returned" }[act]) || "";
    if (given) this.pace.gave(entry);
    this.drafts.clear();
    this.sender.run();
    this.advance();
  }

  // The last answer is taken back: its question again, with what was entered.
  undo() {
    if (!this.canUndo) return;
    const { desk } = this.last;
    const taken = this.outbox.takeBack(idOf(desk));
    this.last = null;
    this.turn += 1;
    this.pace.tookBack(taken);
    for (const field of desk.querySelectorAll("[name=token]")) field.value = taken.token;
    const before = this.shown;
    if (before !== desk) this.deck.unshift({ desk: before, until: this.until(), seconds: this.clock.seconds() });
    this.notice = "taken_back";
    this.show(desk, taken.seconds);
    this.drafts.save(desk);
    if (taken.act === "report") openSheet(desk.querySelector(".side-sheet.report"));
  }

  // Go on to the next task, as soon as there is one.
  async advance() {
    this.turn += 1;
    const { turn } = this;
    this.busy = true;
    setBusy(this.shown, true);
    const slow = setTimeout(() => this.wait("waiting"), WORTH_A_WORD);
    this.deck = this.deck.filter(({ until }) => Date.now() < until);
    for (let tries = 0; !this.deck.length; tries += 1) {
      const { nothing, away, clear, asked } = await this.fetched();
      if (turn !== this.turn) break;
      // Asked before this answer was given, it says nothing about now.
      if (asked !== turn) continue;
      if (away) {
        this.wait(`waiting_${away}`);
        await this.woken(pause(tries));
      } else if (nothing && clear) {
        // The whole page says why.
        location.assign(this.address);
        return;
      } else if (nothing) {
        // What is still here may be why there is nothing.
        this.sender.again();
        while (turn === this.turn && this.outbox.entries.length) await this.woken(pause(0));
      }
      if (turn !== this.turn) break;
    }
    clearTimeout(slow);
    if (turn !== this.turn) return;
    const { desk, seconds = 0 } = this.deck.shift();
    this.show(desk, seconds);
  }

  show(desk, seconds) {
    const before = this.shown;
    setBusy(before, false);
    setBusy(desk, false);
    this.shown = desk;
    this.sayNext();
    this.waiting = "";
    this.busy = false;
    this.since = performance.now();
    this.changed();
    if (before !== desk) {
      this.drafts.restore(desk);
      swap(before, desk);
    }
    this.clock.begin(seconds);
    this.prefetch();
  }

  // What a sign of life came too late for.
  gone(address) {
    if (this.shown.dataset.heartbeat === address) this.shown.querySelector("[data-gone]").hidden = false;
    this.deck = this.deck.filter(({ desk }) => desk.dataset.heartbeat !== address);
    this.sayNext();
    this.prefetch();
  }

  // On the page, for whoever looks into it: [data-next] where the next task is here, its picture decoded.
  sayNext() { this.shown.toggleAttribute("data-next", this.deck.length > 0); }

  // The next task, where there is none yet.
  prefetch() {
    if (!this.deck.length && !this.sender.stopped) this.fetched();
  }

  // One request at a time; what it brings lies on the deck.
  fetched() {
    this.fetching ??= this.fetch().finally(() => { this.fetching = null; });
    return this.fetching;
  }

  async fetch() {
    const asked = this.turn;
    const clear = !this.outbox.entries.length;
    const underWay = this.sender.flying.size;
    const { desk, nothing, away } = await fetchNext(this.address, this.held);
    if (desk && desk.dataset.owner !== this.shown.dataset.owner) return { nothing: "somebody", clear: true, asked };
    if (desk && !this.held.includes(idOf(desk))) {
      this.deck.push({ desk, until: this.until() });
      this.sayNext();
    }
    if (nothing === "in_hand" && underWay) {
      // It overtook an answer, which makes room where it arrives.
      while (this.sender.flying.size) await this.woken(pause(0));
      return this.fetch();
    }
    // As many as one may have in hand, one of them answered: let that one go.
    if (nothing === "in_hand" && asked === this.turn) this.sender.again();
    return { nothing, away, clear, asked };
  }

  // When a task fetched now may have gone to somebody else.
  until() { return Date.now() + 1000 * Number(this.shown.dataset.hold); }

  wait(what) {
    this.waiting = what;
    this.changed();
  }

  // After `delay` ms, or once something has changed.
  woken(delay) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
