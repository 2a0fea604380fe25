// Keeps a part of the page up to date: while [data-live] is "on", it is fetched again every few seconds.
//
// The new part replaces the old one whole, unless somebody is about to press one of its buttons. So do other
// parts of the page that say what came of it, which have [data-follows] and an id. Where the page leads
// elsewhere once it is done, [data-leaves] says so, and this follows.

import { replaceFollowing, replacePart } from "./following.js";

const EVERY = 3000;

const look = async () => {
  const live = document.querySelector('[data-live="on"]');
  if (!live) return;
  if (!document.hidden && !live.contains(document.activeElement)) {
    try {
      // "Update the numbers" means once, not every time.
      const address = new URL(location.href);
      address.searchParams.delete("fresh");
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      if (answer.ok && answer.redirected && "leaves" in live.dataset) location.assign(answer.url);
      else if (answer.ok && !answer.redirected) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        replacePart(live, page.querySelector("[data-live]"));
        replaceFollowing(page);
      }
    } catch {
      // Without a network the page stays as it is, and is looked at again.
    }
  }
  setTimeout(look, EVERY);
};

setTimeout(look, EVERY);
