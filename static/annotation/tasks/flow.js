// The way from question to question: an answer is given, the next task is there at once, the last answer can
// be taken back for a while.
//
// `current` is the task on the page, `queue` the tasks that come next, `last` the one answered just now.

import { entered } from "./drafts.js";
import { allDecoded, fetchNext } from "./next.js";
import { pause } from "./sender.js";
import { openSheet } from "./sheets.js";
import { initialise, mountEditor, swap } from "./swap.js";

// Milliseconds in which nobody can have read a question: what is pressed then was meant for the one before.
const UNREAD = 250;
// Milliseconds after which a wait is worth a word.
const WORTH_A_WORD = 400;

const idOf = (task) => Number(task.dataset.assignment);
// While the next one is awaited, what is shown takes no answer.
const setBusy = (task, busy) => {
  task.querySelector("[data-answer]").ariaBusy = busy ? "true" : null;
  for (const choice of task.querySelectorAll("[data-answer] .choice")) choice.ariaDisabled = busy ? "true" : null;
};
const wordsOf = (button) =>
  button.querySelector(".label")?.textContent
  ?? [...button.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("").trim();

export class Flow {
  // `changed()` hears of everything that is worth showing.
  constructor(task, { pending, sender, drafts, clock, progress, changed }) {
    Object.assign(this, { current: task, pending, sender, drafts, clock, progress, changed });
    this.address = task.dataset.address;
    this.queue = [];
    this.last = null;
    this.busy = true;
    this.since = -UNREAD;
    this.step = 0;
    // What the page waits for: "", "waiting", "waiting_picture", "waiting_offline", "waiting_failing"; and what
    // it has to say.
    this.waiting = "";
    this.notice = "";
    this.wake = () => {};
  }

  async start() {
    const { step } = this;
    // After a reload the server may show what was answered and is on its way, and arrives while the picture comes.
    const answered = this.pending.has(idOf(this.current));
    this.drafts.restore(this.current);
    initialise(this.current);
    setBusy(this.current, true);
    const slow = setTimeout(() => this.wait("waiting_picture"), WORTH_A_WORD);
    await allDecoded(this.current);
    await mountEditor(this.current);
    clearTimeout(slow);
    if (step !== this.step) return;
    this.wait("");
    if (answered) {
      this.advance();
      return;
    }
    setBusy(this.current, false);
    this.busy = false;
    this.prefetch();
  }

  // Another tab works here now: what is under way comes to nothing.
  rest() {
    this.step += 1;
    this.busy = true;
  }

  get ready() { return !this.busy && performance.now() - this.since >= UNREAD; }

  get canUndo() {
    const { last, sender } = this;
    return last !== null && this.pending.has(idOf(last.task)) && !sender.flying.has(idOf(last.task));
  }

  // All that this page has in hand.
  get held() {
    const tasks = [this.current, ...this.queue.map((next) => next.task)];
    return [...new Set([...this.pending.entries.map((entry) => entry.assignment), ...tasks.map(idOf)])];
  }

  get addresses() {
    const tasks = [this.current, ...this.queue.map((next) => next.task)];
    return [...new Set([...tasks.map((task) => task.dataset.heartbeat), ...this.pending.entries.map((entry) => entry.beat)])];
  }

  // What a form of the task says, by the button that was pressed.
  answer(form, button) {
    if (!this.ready) return;
    form.closest("dialog")?.close();
    const task = this.current;
    const fields = entered(form, button);
    const act = fields.act === "return" ? "return" : fields.flag ? "report" : "answer";
    const entry = {
      assignment: idOf(task),
      act,
      address: act === "return" ? task.dataset.return : task.dataset.submit,
      beat: task.dataset.heartbeat,
      token: form.elements.token.value,
      kind: task.dataset.kind,
      form: fields,
      seconds: this.clock.seconds(),
      label: wordsOf(button),
    };
    // An answer of a test stands: it goes at once.
    const stands = "atOnce" in task.dataset;
    // Where another tab has answered this already, its answer stands.
    const added = this.pending.add(entry, stands ? 0 : undefined);
    this.last = added && !stands ? { task } : null;
    this.notice = (added && { report: "reported", return: "returned" }[act]) || "";
    if (added) this.progress.gave(entry);
    this.drafts.clear();
    this.sender.run();
    this.advance();
  }

  // The last answer is taken back: its question again, with what was entered.
  undo() {
    if (!this.canUndo) return;
    const { task } = this.last;
    const taken = this.pending.takeBack(idOf(task));
    this.last = null;
    this.step += 1;
    this.progress.tookBack(taken);
    for (const field of task.querySelectorAll("[name=token]")) field.value = taken.token;
    const before = this.current;
    if (before !== task) this.queue.unshift({ task: before, until: this.until(), seconds: this.clock.seconds() });
    this.notice = "taken_back";
    this.show(task, taken.seconds);
    this.drafts.save(task);
    if (taken.act === "report") openSheet(task.querySelector(".side-sheet.report"));
  }

  // Go on to the next task, as soon as there is one.
  async advance() {
    this.step += 1;
    const { step } = this;
    this.busy = true;
    setBusy(this.current, true);
    const slow = setTimeout(() => this.wait("waiting"), WORTH_A_WORD);
    this.queue = this.queue.filter(({ until }) => Date.now() < until);
    for (let tries = 0; !this.queue.length; tries += 1) {
      const { nothing, away, clear, askedAt } = await this.fetched();
      if (step !== this.step) break;
      // Asked before this answer was given, it says nothing about now.
      if (askedAt !== step) continue;
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
        while (step === this.step && this.pending.entries.length) await this.woken(pause(0));
      }
      if (step !== this.step) break;
    }
    clearTimeout(slow);
    if (step !== this.step) return;
    const { task, seconds = 0 } = this.queue.shift();
    this.show(task, seconds);
  }

  show(task, seconds) {
    const before = this.current;
    setBusy(before, false);
    setBusy(task, false);
    this.current = task;
    this.sayNext();
    this.waiting = "";
    this.busy = false;
    this.since = performance.now();
    this.changed();
    if (before !== task) {
      this.drafts.restore(task);
      swap(before, task);
    }
    this.clock.begin(seconds);
    this.prefetch();
  }

  // What a sign of life came too late for.
  gone(address) {
    if (this.current.dataset.heartbeat === address) this.current.querySelector("[data-gone]").hidden = false;
    this.queue = this.queue.filter(({ task }) => task.dataset.heartbeat !== address);
    this.sayNext();
    this.prefetch();
  }

  // On the page, for the person who looks into it: [data-next] where the next task is here, its picture decoded.
  sayNext() { this.current.toggleAttribute("data-next", this.queue.length > 0); }

  // The next task, where there is none yet.
  prefetch() {
    if (!this.queue.length && !this.sender.stopped) this.fetched();
  }

  // One request at a time; what it brings goes into the queue.
  fetched() {
    this.fetching ??= this.fetch().finally(() => { this.fetching = null; });
    return this.fetching;
  }

  async fetch() {
    const askedAt = this.step;
    const clear = !this.pending.entries.length;
    const underWay = this.sender.flying.size;
    const { task, nothing, away } = await fetchNext(this.address, this.held);
    if (task && task.dataset.owner !== this.current.dataset.owner) return { nothing: "somebody", clear: true, askedAt };
    if (task && !this.held.includes(idOf(task))) {
      this.queue.push({ task, until: this.until() });
      this.sayNext();
    }
    if (nothing === "in_hand" && underWay) {
      // It overtook an answer, which makes room where it arrives.
      while (this.sender.flying.size) await this.woken(pause(0));
      return this.fetch();
    }
    // As many as one may have in hand, one of them answered: let that one go.
    if (nothing === "in_hand" && askedAt === this.step) this.sender.again();
    return { nothing, away, clear, askedAt };
  }

  // When a task fetched now may have gone to somebody else.
  until() { return Date.now() + 1000 * Number(this.current.dataset.hold); }

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
