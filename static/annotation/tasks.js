// A task page at work: answers go into an outbox and out of it by themselves, the next task comes without a
// page. What each part does is said in tasks/.

import { beat } from "./tasks/beat.js";
import { Breaks } from "./tasks/breaks.js";
import "./tasks/captions.js";
import { Clock } from "./tasks/clock.js";
import { Drafts } from "./tasks/drafts.js";
import { Flow } from "./tasks/flow.js";
import { listen, showSwitch } from "./tasks/keys.js";
import { Outbox } from "./tasks/outbox.js";
import { Pace, dayOf } from "./tasks/pace.js";
import { bodyOf, poster } from "./tasks/post.js";
import { Sender } from "./tasks/sender.js";
import { place, storage } from "./tasks/storage.js";
import { oneTab } from "./tasks/tab.js";
import { takeAway } from "./tasks/told.js";
import { announce, tell, troubles } from "./tasks/tray.js";

takeAway();
const first = document.querySelector("[data-desk]");
const elsewhere = document.querySelector("[data-elsewhere]");
const heard = document.querySelector("[data-announce]");
const where = place(first);

const outbox = new Outbox(storage, where);
const drafts = new Drafts(storage, where);
const clock = new Clock(1000 * Number(first.dataset.idle));
const breaks = new Breaks(storage);
const pace = new Pace(storage, where, dayOf(first), outbox.entries);
const post = poster(first.dataset.owner);

// What the page has to say, most pressing first.
const lines = () => {
  const kept = outbox.entries.length;
  const waiting = flow.waiting ? [[flow.waiting, { n: kept }]] : [];
  const trouble = troubles(outbox, sender).filter(([name]) => flow.waiting !== `waiting_${name}`);
  const notice = flow.notice && !flow.waiting ? [[flow.notice]] : [];
  const rest = breaks.due ? [["break", { minutes: breaks.minutes }]] : [];
  return [...waiting, ...trouble, ...notice, ...rest];
};

const show = () => {
  const desk = flow.shown;
  const all = lines();
  tell(desk.querySelector("[data-tell]"), all, desk.querySelector(".question"));
  announce(heard, all);
  const undo = desk.querySelector("[data-undo]");
  if (!flow.canUndo && document.activeElement === undo) desk.querySelector(".question").focus();
  undo.hidden = !flow.canUndo;
  pace.show(desk);
  showSwitch(desk);
};

const sender = new Sender({
  outbox,
  send: (entry) => post(entry.address, bodyOf(entry)),
  changed: () => {
    show();
    flow.wake();
  },
  taken: (entry, said) => {
    if (said.today) pace.recount(said.today, outbox.entries);
    flow.prefetch();
  },
  refused: (entry) => pace.tookBack(entry),
});
const flow = new Flow(first, { outbox, sender, drafts, clock, pace, changed: show });

const acts = {
  now: () => sender.again(),
  reload: () => location.reload(),
  forget: (said) => outbox.forget(Number(said.dataset.id)),
  rest: () => breaks.rested(),
};

function work() {
  clock.listen(() => {
    const due = breaks.due;
    breaks.act();
    if (breaks.due !== due) show();
  });
  drafts.watch(() => (flow.busy ? null : flow.shown));
  listen((meant) => flow.ready || !meant.closest("form"));
  document.addEventListener("submit", (event) => {
    if (!event.target.closest("[data-desk]")) return;
    event.preventDefault();
    flow.give(event.target, event.submitter);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-undo]")) flow.undo();
    const answers = event.target.closest("[data-answers]");
    if (answers && outbox.entries.length && !event.metaKey && !event.ctrlKey) {
      // The list is to have the answer just given.
      event.preventDefault();
      sender.again().finally(() => location.assign(answers.href));
    }
    const button = event.target.closest("[data-tell] [data-do]");
    if (!button) return;
    acts[button.dataset.do](button.closest("[data-tell] > *"));
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
  const beating = beat(Number(first.dataset.beat), {
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
  flow.shown.inert = true;
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
