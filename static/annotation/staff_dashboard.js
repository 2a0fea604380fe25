// Keeps a campaign's figures and charts up to date: asks for them every twenty seconds, and takes them where they
// changed. Tables that the reader has opened stay open, and nothing is taken away from under the focus. Other
// parts of the page that count the same answers ([data-follows]) are fetched after them.

import { replaceFollowing } from "./following.js";

const EVERY = 20000;
const part = document.querySelector("[data-dashboard]");
let tag = "";

const named = (details) => details.querySelector("summary").textContent;
const all = () => [...part.querySelectorAll("details")];

const show = (html) => {
  const open = new Set(all().filter((panel) => panel.open).map(named));
  const fresh = new DOMParser().parseFromString(html, "text/html");
  part.replaceChildren(...[...fresh.body.childNodes].map((node) => document.adoptNode(node)));
  for (const panel of all()) panel.open = open.has(named(panel));
};

const follow = async () => {
  // Without the query: ?fresh=1 would count the whole campaign each time.
  const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  replaceFollowing(new DOMParser().parseFromString(await answer.text(), "text/html"));
};

const look = async () => {
  const busy = tag && part.contains(document.activeElement);
  if (!document.hidden && !busy) {
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(part.dataset.dashboard, { headers, cache: "no-store" });
      if (answer.status === 200 && !answer.redirected) {
        show(await answer.text());
        if (tag) await follow();
        tag = answer.headers.get("ETag") ?? "";
      }
    } catch {
      // Without a network the page stays as it is, and asks again.
    }
  }
  setTimeout(look, EVERY);
};

if (part) look();
