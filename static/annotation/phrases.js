// Marks phrases in captions: the first and the last word are chosen, or dragged over; a phrase that is chosen
// goes. The form's hidden field holds them as "caption:first-behind", counted from 0.

import { meanings } from "./layout.js";

const form = document.querySelector("[data-marks]");
const field = form.elements.phrases;
const undo = form.querySelector("[data-undo]");
const status = form.querySelector("[data-status]");
const captions = [...form.querySelectorAll("[data-caption]")].map((line) => [...line.querySelectorAll(".token")]);
const places = new Map(captions.flatMap((words, caption) => words.map((word, at) => [word, { caption, at }])));
const HUES = 8;

let spans = field.value.split(" ").filter(Boolean).map((text) => {
  const [caption, start, end] = text.split(/[:-]/).map(Number);
  return { caption, start, end };
});
const stored = written();
const earlier = [];
let first = null;  // the first word of a phrase whose last word is still to come
let pressed = null;  // where the pointer went down
let dragged = false;

function written() {
  return spans.map(({ caption, start, end }) => `${caption}:${start}-${end}`).join(" ");
}

function text({ caption, start, end }) {
  return captions[caption].slice(start, end).map((word) => word.textContent).join(" ");
}

function phraseAt({ caption, at }) {
  return spans.find((span) => span.caption === caption && span.start <= at && at < span.end);
}

function between(first, second) {
  const [start, last] = [first.at, second.at].sort((a, b) => a - b);
  return { caption: first.caption, start, end: last + 1 };
}

function paint(chosen = first && between(first, first)) {
  captions.forEach((words, caption) => {
    const ofCaption = spans.filter((span) => span.caption === caption);
    words.forEach((word, at) => {
      const number = ofCaption.findIndex((span) => span.start <= at && at < span.end);
      const span = ofCaption[number];
      word.className = "token";
      if (span) word.classList.add("in", `hue-${(number % HUES) + 1}`);
      if (span?.start === at) word.classList.add("starts");
      if (span?.end === at + 1) word.classList.add("ends");
      if (chosen?.caption === caption && chosen.start <= at && at < chosen.end) word.classList.add("is-chosen");
      word.setAttribute("aria-pressed", String(Boolean(span)));
    });
  });
  form.classList.toggle("is-choosing", Boolean(first || dragged));
  field.value = written();
  undo.disabled = earlier.length === 0;
}

function change(next, message) {
  earlier.push(spans);
  spans = next.sort((a, b) => a.caption - b.caption || a.start - b.start);
  first = null;
  status.textContent = message;
  paint();
}

function mark(span) {
  const apart = spans.filter((candidate) => candidate.caption !== span.caption || candidate.end <= span.start || span.end <= candidate.start);
  change([...apart, span], `${form.dataset.marked} ${text(span)}`);
}

function remove(span) {
  change(spans.filter((candidate) => candidate !== span), `${form.dataset.removed} ${text(span)}`);
}

function choose(position) {
  if (first && first.caption === position.caption) return mark(between(first, position));
  const span = phraseAt(position);
  if (span && !first) return remove(span);
  first = position;
  status.textContent = `${form.dataset.begun} ${captions[position.caption][position.at].textContent}`;
  paint();
}

function forget() {
  first = null;
  paint();
}

function takeBack() {
  if (!earlier.length) return;
  spans = earlier.pop();
  first = null;
  paint();
}

// One word of each caption is reached by Tab; the arrows go from word to word.
function reach(word) {
  const { caption } = places.get(word);
  for (const candidate of captions[caption]) candidate.tabIndex = candidate === word ? 0 : -1;
}

function goTo(word) {
  if (!word) return;
  reach(word);
  word.focus();
}

function beside(position, step) {
  const words = captions.flat();
  return words[words.indexOf(captions[position.caption][position.at]) + step];
}

// The nearest word of the next line above or below.
function acrossLines(position, down) {
  const here = captions[position.caption][position.at].getBoundingClientRect();
  const middle = (here.left + here.right) / 2;
  const there = captions.flat().map((word) => ({ word, box: word.getBoundingClientRect() }))
    .filter(({ box }) => (down ? box.top > here.top + 4 : box.top < here.top - 4));
  if (!there.length) return null;
  const line = down ? Math.min(...there.map(({ box }) => box.top)) : Math.max(...there.map(({ box }) => box.top));
  const off = ({ box }) => Math.abs((box.left + box.right) / 2 - middle);
  return there.filter(({ box }) => Math.abs(box.top - line) < 4).sort((a, b) => off(a) - off(b))[0].word;
}

for (const words of captions) words.forEach((word, at) => { word.tabIndex = at ? -1 : 0; });
paint();

form.addEventListener("click", (event) => {
  const position = places.get(event.target.closest(".token"));
  if (position && !dragged) choose(position);
  dragged = false;
});
form.addEventListener("focusin", (event) => { if (places.has(event.target)) reach(event.target); });
undo.addEventListener("click", takeBack);

form.addEventListener("pointerdown", (event) => {
  pressed = event.isPrimary && event.button === 0 ? places.get(event.target.closest(".token")) ?? null : null;
  dragged = false;
});
document.addEventListener("pointermove", (event) => {
  if (!pressed) return;
  const over = places.get(document.elementFromPoint(event.clientX, event.clientY)?.closest(".token"));
  if (!over || over.caption !== pressed.caption) return;
  if (over.at !== pressed.at) dragged = true;
  if (dragged) paint(between(pressed, over));
});
document.addEventListener("pointerup", (event) => {
  const over = places.get(document.elementFromPoint(event.clientX, event.clientY)?.closest(".token"));
  if (pressed && dragged) {
    if (over && over.caption === pressed.caption) mark(between(pressed, over));
    else paint();
    setTimeout(() => { dragged = false; });  // a click that follows is part of it
  }
  pressed = null;
});
document.addEventListener("pointercancel", () => {
  pressed = null;
  dragged = false;
  paint();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[type=submit]")); // the first
    return;
  }
  if (event.metaKey || event.ctrlKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (meanings(event).includes("z")) return takeBack();
  if (event.key === "Escape") return forget();
  const position = places.get(event.target);
  if (!position) return;
  const to = {
    ArrowRight: () => beside(position, 1),
    ArrowLeft: () => beside(position, -1),
    ArrowDown: () => acrossLines(position, true),
    ArrowUp: () => acrossLines(position, false),
  }[event.key];
  if (to) {
    event.preventDefault();
    goTo(to());
  } else if (event.key === "Delete" || event.key === "Backspace") {
    event.preventDefault();
    const span = phraseAt(position);
    if (span) remove(span);
  }
});

let leaving = false;
form.addEventListener("submit", () => { leaving = true; });
window.addEventListener("beforeunload", (event) => {
  if (!leaving && field.value !== stored) event.preventDefault();
});
