// On pages where no task is shown: sends what this browser kept for whoever is signed in, and says how that goes.
// A place in which another tab works is left to that tab.

import { Outbox } from "./outbox.js";
import { bodyOf, poster } from "./post.js";
import { Sender } from "./sender.js";
import { storage } from "./storage.js";
import { ifNoTab } from "./tab.js";
import { tell, troubles } from "./tray.js";

const told = document.querySelector("[data-tell]");
const main = document.querySelector("#main");
const owner = told.dataset.kept;
const post = poster(owner);
const senders = new Map();

const show = () => tell(told, [...senders].flatMap(([where, sender]) =>
  troubles(sender.outbox, sender).map(([name, values, id]) => [name, values, `${where} ${id}`])), main);

for (const where of Outbox.places(storage, owner)) {
  const outbox = new Outbox(storage, where);
  // Once all is sent the place is free for a tab that works there, and what that keeps is not ours to send.
  let free = () => {};
  const changed = () => {
    show();
    if (!outbox.entries.length) free();
  };
  const sender = new Sender({ outbox, send: (entry) => post(entry.address, bodyOf(entry)), changed });
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
told.addEventListener("click", (event) => {
  const act = event.target.dataset.do;
  if (act === "now") again();
  if (act === "reload") location.reload();
  if (act === "forget") {
    const [where, id] = event.target.closest("[data-id]").dataset.id.split(" ");
    senders.get(where)?.outbox.forget(Number(id));
    show();
  }
});
