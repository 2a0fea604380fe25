// On pages where no task is shown: sends the answers that this browser stores for the account, and shows how that goes.
// Answers of a campaign and kind in which another tab works are left to that tab.

import { PendingAnswers } from "./pending_answers.js";
import { bodyOf, poster } from "./post.js";
import { Sender } from "./sender.js";
import { storage } from "./storage.js";
import { ifNoTab } from "./tab.js";
import { showNotices, troubles } from "./notices.js";

const region = document.querySelector("[data-notices]");
const main = document.querySelector("#main");
const owner = region.dataset.account;
const post = poster(owner);
const senders = new Map();

const show = () => showNotices(region, [...senders].flatMap(([where, sender]) =>
  troubles(sender.pending, sender).map(([name, values, id]) => [name, values, `${where} ${id}`])), main);

for (const where of PendingAnswers.keysOf(storage, owner)) {
  const pending = new PendingAnswers(storage, where);
  // Once all is sent the place is free for a tab that works there, and what that keeps is not ours to send.
  let free = () => {};
  const changed = () => {
    show();
    if (!pending.entries.length) free();
  };
  const sender = new Sender({ pending, send: (entry) => post(entry.address, bodyOf(entry)), changed });
  const work = () => new Promise((done) => {
    free = () => {
      sender.stop();
      done();
    };
    senders.set(where, sender);
    changed();
    sender.again();
  });
  ifNoTab(where, work).catch(() => {
    sender.stop();
    senders.delete(where);
    show();
  });
}

const again = () => {
  for (const sender of senders.values()) sender.again();
};
addEventListener("online", again);
addEventListener("focus", again);
region.addEventListener("click", (event) => {
  const act = event.target.dataset.do;
  if (act === "now") again();
  if (act === "reload") location.reload();
  if (act === "forget") {
    const [where, id] = event.target.closest("[data-id]").dataset.id.split(" ");
    senders.get(where)?.pending.forget(Number(id));
    show();
  }
});
