// A page of pictures with texts to tick: one picture is in hand at a time, whose texts have the digits
// as their keys. On phones it is the only one shown.
//
// `mount(root)` makes the page of `root` work, and returns what takes everything away again. Ticks are the
// form's own: what stands here only leads from picture to picture.

import { makeViewer } from "./tasks/zoom.js";

const DIGITS = "1234567890";
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
// Where arrows and Enter mean something else.
const ELSEWHERE = "dialog, .beside, select, textarea, input:not([type='checkbox'])";

const singleKeys = () => document.querySelector("[data-keys] input")?.checked ?? true;
const mounted = new WeakMap();

export function mount(root = document) {
  const blocks = root.querySelector(".blocks");
  if (!blocks) return () => {};
  if (!mounted.has(blocks)) mounted.set(blocks, start(blocks, blocks.closest("form")));
  return () => {
    mounted.get(blocks)?.();
    mounted.delete(blocks);
  };
}

function start(blocks, form) {
  const all = [...blocks.querySelectorAll(".block")];
  const find = (name) => form.querySelector(`[data-${name}]`);
  const [where, reminder, enlarged] = [find("at"), find("reminder"), find("enlarged")];
  const steps = [...form.querySelectorAll("[data-step]")];
  const send = form.querySelector(".choice");
  const stop = new AbortController();
  const { signal } = stop;
  let now = 0;

  const keys = all.map((block) => [...block.querySelectorAll(".tick")].slice(0, DIGITS.length).map((row, n) => {
    const key = document.createElement("kbd");
    key.textContent = DIGITS[n];
    key.ariaHidden = "true";
    row.append(key);
    return key;
  }));
  const digits = (block, on) => [...block.querySelectorAll(".tick input")].slice(0, DIGITS.length).forEach((tick, n) => {
    if (on) Object.assign(tick.dataset, { key: DIGITS[n] });
    else delete tick.dataset.key;
  });

  const show = () => {
    all.forEach((block, n) => {
      block.classList.toggle("is-in-hand", n === now);
      digits(block, n === now);
    });
    where.textContent = where.dataset.words.replace("%n", now + 1).replace("%m", all.length);
    const [back, next] = steps;
    back.ariaDisabled = now ? null : "true";
    next.ariaDisabled = now < all.length - 1 ? null : "true";
    form.classList.toggle("is-at-end", now === all.length - 1);
  };
  // The picture in hand is the one that has the focus: screen readers say which.
  const take = (n) => {
    if (n < 0 || n >= all.length) return;
    now = n;
    show();
    all[now].focus({ preventScroll: true });
    all[now].scrollIntoView({ block: "start" });
  };

  for (const step of steps) {
    step.hidden = all.length < 2;
    step.addEventListener("click", () => take(now + Number(step.dataset.step)), { signal });
  }
  where.hidden = all.length < 2;
  for (const type of ["focusin", "pointerdown"]) {
    blocks.addEventListener(type, (event) => {
      const n = all.indexOf(event.target.closest(".block"));
      if (n < 0 || n === now) return;
      now = n;
      show();
    }, { signal });
  }

  // Enter goes on to the next picture, and sends behind the last: in a checkbox it would send at once.
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.(ELSEWHERE)) return;
    if (event.key in STEPS) take(now + STEPS[event.key]);
    else if (event.key !== "Enter" || event.target.closest?.("a, button")) return;
    else if (!event.repeat) {
      if (now < all.length - 1 && reminder.hidden) take(now + 1);
      else send.click();
    }
    event.preventDefault();
  }, { signal });

  // With nothing ticked, sending takes a second word.
  const none = () => !form.querySelector(".tick input:checked");
  form.addEventListener("submit", (event) => {
    if (!none() || !reminder.hidden || send.ariaDisabled) return;
    event.preventDefault();
    event.stopPropagation();
    reminder.hidden = false;
    reminder.focus();
  }, { signal });
  blocks.addEventListener("change", () => { reminder.hidden = true; }, { signal });

  // A picture, as large as the window takes it, and closer.
  const large = enlarged.querySelector("img");
  const frame = enlarged.querySelector("[data-large]");
  const tools = enlarged.querySelector("[data-zoom-tools]");
  // Keys are heard by the dialog alone: none answers what lies behind it.
  const viewer = makeViewer(frame, { tools, keys: enlarged, counts: () => singleKeys() });
  blocks.addEventListener("click", (event) => {
    const link = event.target.closest(".larger");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    large.src = link.href;
    large.alt = link.ariaLabel;
    viewer.fit();
    enlarged.showModal();
  }, { signal });
  // A click closes it, unless one looks closer at the picture.
  enlarged.addEventListener("click", (event) => {
    const looking = frame.contains(event.target) && viewer.view.zoom > 1;
    if (!looking && !tools.contains(event.target)) enlarged.close();
  }, { signal });
  // No key answers what lies behind it.
  enlarged.addEventListener("keydown", (event) => event.stopPropagation(), { signal });

  show();
  return () => {
    stop.abort();
    enlarged.close();
    viewer.away();
    for (const key of keys.flat()) key.remove();
    for (const block of all) digits(block, false);
  };
}

mount();
