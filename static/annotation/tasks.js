// A task page's manners: single keys, one answer a page, the time worked, signs of life.
//
// In [data-desk], whatever bears data-key="1" is pressed by that key, once the picture can be seen. The
// time worked goes into [data-seconds]: pauses longer than data-idle seconds do not count. Every
// data-beat seconds in which somebody did something, a POST to data-heartbeat keeps the task theirs.

const desk = document.querySelector("[data-desk]");
const answer = desk.querySelector("[data-answer]");
const idle = 1000 * Number(desk.dataset.idle);

// One answer a page: what is pressed again meets a page that has sent already.
let sent = false;
for (const form of desk.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (sent) {
      event.preventDefault();
      return;
    }
    sent = true;
    answer.setAttribute("aria-busy", "true");
    work();
    for (const field of desk.querySelectorAll("[data-seconds]")) field.value = (worked / 1000).toFixed(1);
  });
}
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

// Nobody answers what they have not seen: keys count from when the picture is there.
const picture = desk.querySelector("[data-picture]");
let seen = !picture;
picture?.decode().catch(() => {}).finally(() => { seen = true; });

const keys = desk.querySelector("[data-keys]");
const byKeys = keys.querySelector("input");
const KEPT = "answer-by-keys";
keys.hidden = false;
byKeys.checked = localStorage.getItem(KEPT) !== "off";
byKeys.addEventListener("change", () => localStorage.setItem(KEPT, byKeys.checked ? "on" : "off"));

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.repeat || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape") {
    const open = event.target.closest?.("details[open]") ?? desk.querySelector("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
    return;
  }
  if (!byKeys.checked || !seen || event.target.closest?.("input:not([type='checkbox'], [type='radio']), select, textarea, .report form")) return;
  const meant = desk.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!meant) return;
  event.preventDefault();
  meant.click();
  if (meant.localName === "summary" && meant.parentElement.open) {
    (meant.parentElement.querySelector("input:not([type='hidden'])") ?? meant).focus();
  }
});

// The time worked: what lies between two things that somebody did, where it is no pause.
let worked = 0;
let last = performance.now();
let busy = true;
function work() {
  const now = performance.now();
  if (now - last <= idle) worked += now - last;
  last = now;
  busy = true;
}
for (const act of ["pointermove", "pointerdown", "keydown", "wheel", "scroll"]) {
  addEventListener(act, work, { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") work();
  else last = performance.now();
});

const beat = setInterval(async () => {
  if (!busy || sent) return;
  busy = false;
  try {
    const response = await fetch(desk.dataset.heartbeat, {
      method: "POST",
      headers: { "X-CSRFToken": answer.elements.csrfmiddlewaretoken.value },
    });
    if (response.status !== 410) return;
    clearInterval(beat);
    desk.querySelector("[data-gone]").hidden = false;
  } catch {
    // The network is away: the next beat may get through.
  }
}, 1000 * Number(desk.dataset.beat));
