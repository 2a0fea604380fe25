// Times by the reader's clock. The server writes them in UTC: <time datetime="2026-01-31T09:00:00Z">.

const styles = { time: { timeStyle: "short" }, moment: { dateStyle: "medium", timeStyle: "short" } };

export function written(time, lang, timeZone) {
  return new Intl.DateTimeFormat(lang, { ...styles[time.dataset.style ?? "moment"], timeZone }).format(new Date(time.dateTime));
}

const TIMES = "time[data-style]";

function show(root) {
  for (const time of root.matches?.(TIMES) ? [root] : root.querySelectorAll?.(TIMES) ?? []) {
    time.title = time.dateTime;
    time.textContent = written(time, document.documentElement.lang || "en");
    delete time.dataset.style;
  }
}

if (globalThis.document) {
  show(document);
  // Parts of a page may come later.
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(show)))
    .observe(document.body, { childList: true, subtree: true });
}
