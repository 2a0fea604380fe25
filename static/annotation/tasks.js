// A task page at work: answers are stored until they are sent, and the next task comes without loading a
// page. The modules in tasks/ say what they do.

import { startHeartbeat } from "./tasks/heartbeat.js";
import { Breaks } from "./tasks/breaks.js";
import "./tasks/captions.js";
import { Clock } from "./tasks/clock.js";
import { Drafts } from "./tasks/drafts.js";
import { Flow } from "./tasks/flow.js";
import { listen, showSwitch } from "./tasks/keys.js";
import { PendingAnswers } from "./tasks/pending_answers.js";
import { DayProgress, dayOf } from "./tasks/day_progress.js";
import { bodyOf, poster } from "./tasks/post.js";
import { Sender } from "./tasks/sender.js";
import { storage, workKey } from "./tasks/storage.js";
import { oneTab } from "./tasks/tab.js";
import { dismissMessages } from "./tasks/researcher_messages.js";
import { announce, showNotices, troubles } from "./tasks/notices.js";

dismissMessages();
const first = document.querySelector("[data-task]");
const elsewhere = document.querySelector("[data-elsewhere]");
const announcements = document.querySelector("[data-announce]");
const where = workKey(first);

const pending = new PendingAnswers(storage, where);
const drafts = new Drafts(storage, where);
const clock = new Clock(1000 * Number(first.dataset.idle));
const breaks = new Breaks(storage);
const progress = new DayProgress(storage, where, dayOf(first), pending.entries);
const post = poster(first.dataset.owner);

// What the page has to say, most pressing first.
const lines = () => {
  const count = pending.entries.length;
  const waiting = flow.waiting ? [[flow.waiting, { n: count }]] : [];
  const trouble = troubles(pending, sender).filter(([name]) => flow.waiting !== `waiting_${name}`);
  const notice = flow.notice && !flow.waiting ? [[flow.notice]] : [];
  const rest = breaks.due ? [["break", { minutes: breaks.minutes }]] : [];
  return [...waiting, ...trouble, ...notice, ...rest];
};

const show = () => {
  const task = flow.current;
  const all = lines();
  showNotices(task.querySelector("[data-notices]"), all, task.querySelector(".question"));
  announce(announcements, all);
  const undo = task.querySelector("[data-undo]");
  if (!flow.canUndo && document.activeElement === undo) task.querySelector(".question").focus();
  undo.hidden = !flow.canUndo;
  progress.show(task);
  showSwitch(task);
};

const sender = new Sender({
  pending,
  send: (entry) => post(entry.address, bodyOf(entry)),
  changed: () => {
    show();
    flow.wake();
  },
  taken: (entry, body) => {
    if (body.today) progress.recount(body.today, pending.entries);
    flow.prefetch();
  },
  refused: (entry) => progress.tookBack(entry),
});
const flow = new Flow(first, { pending, sender, drafts, clock, progress, changed: show });

const acts = {
  now: () => sender.again(),
  reload: () => location.reload(),
  forget: (notice) => pending.forget(Number(notice.dataset.id)),
  rest: () => breaks.rested(),
};

function work() {
  clock.listen(() => {
    const due = breaks.due;
    breaks.act();
    if (breaks.due !== due) show();
  });
  drafts.watch(() => (flow.busy ? null : flow.current));
  listen((meant) => flow.ready || !meant.closest("form"));
  document.addEventListener("submit", (event) => {
    if (!event.target.closest("[data-task]")) return;
    event.preventDefault();
    flow.answer(event.target, event.submitter);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-undo]")) flow.undo();
    const answers = event.target.closest("[data-answers]");
    if (answers && pending.entries.length && !event.metaKey && !event.ctrlKey) {
      // The list is to have the answer just given.
      event.preventDefault();
      sender.again().finally(() => location.assign(answers.href));
    }
    const button = event.target.closest("[data-notices] [data-do]");
    if (!button) return;
    acts[button.dataset.do](button.closest("[data-notices] > *"));
    show();
  });
  const back = () => {
    if (sender.trouble) sender.again();
    flow.wake();
  };
  addEventListener("online", back);
  addEventListener("focus", back);
  addEventListener("pagehide", () => sender.leave());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") sender.leave();
    else back();
  });
  const beating = startHeartbeat(Number(first.dataset.beat), {
    active: () => clock.wasBusy(),
    addresses: () => flow.addresses,
    post,
    gone: (address) => flow.gone(address),
  });
  stop = () => {
    sender.stop();
    clearInterval(beating);
  };
  show();
  flow.start();
  sender.run();
}

// Another tab works here: this one rests.
let stop = () => {};
const rest = () => {
  stop();
  flow.rest();
  flow.current.inert = true;
  elsewhere.hidden = false;
  elsewhere.querySelector("h1").focus();
};
const take = oneTab(where, {
  mine: () => {
    if (elsewhere.hidden) work();
    else location.reload();
  },
  theirs: rest,
  lost: rest,
});
elsewhere.querySelector("[data-here]").addEventListener("click", () => take());
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
