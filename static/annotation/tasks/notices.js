// Notices of a task page about the answers given; their words are templates of the page: [data-notice="offline"].

// A copy of the template `name`, with its numbers and words filled in.
export function noticeOf(name, values = {}) {
  const notice = document.querySelector(`template[data-notice="${name}"]`).content.cloneNode(true).firstElementChild;
  for (const [key, value] of Object.entries(values)) {
    const slot = notice.querySelector(`[data-${key}]`);
    if (slot) slot.textContent = value;
  }
  return notice;
}

// What is wrong with sending, and what will never be taken: [name, values, id] each.
export const troubles = (pending, sender) => [
  ...(sender.trouble ? [[sender.trouble, { n: pending.entries.length, why: sender.why }]] : []),
  ...pending.refused.map(({ assignment, label, why }) => ["refused", { label, why }, assignment]),
];

// Show all of `lines` in `region`, and nothing else. Notices that are there already stay as they are: screen
// readers read changes aloud, and a button keeps the focus. Where a button with the focus goes, one that does
// the same gets it, else `home`.
export function showNotices(region, lines, home) {
  const there = new Map([...region.children].map((notice) => [notice.dataset.notice, notice]));
  const pressed = region.contains(document.activeElement) ? document.activeElement : null;
  const notices = lines.map((line) => there.get(JSON.stringify(line)) ?? lineOf(line));
  for (const before of there.values()) if (!notices.includes(before)) before.remove();
  notices.forEach((notice, n) => {
    if (region.children[n] !== notice) region.insertBefore(notice, region.children[n] ?? null);
  });
  if (pressed && !pressed.isConnected) (region.querySelector(`[data-do="${pressed.dataset.do}"]`) ?? home).focus();
}

// The same for screen readers: `region` stays while tasks come and go, and has no buttons.
export function announce(region, lines) {
  showNotices(region, lines);
  for (const act of region.querySelectorAll("a, button")) act.remove();
}

function lineOf(line) {
  const [name, values, id] = line;
  const notice = noticeOf(name, values);
  notice.dataset.notice = JSON.stringify(line);
  if (id !== undefined) notice.dataset.id = id;
  return notice;
}
