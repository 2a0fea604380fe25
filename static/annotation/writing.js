// A sentence about a picture: its words are counted while one writes, and those that look misspelt are shown as
// soon as they are written. Enter sends, as the sentence is one.
//
// `mount(root)` makes the page of `root` work, and returns what takes everything away again. The page always says
// how far the spelling is checked. Where nobody can say, a sentence is sent unchecked only by who says so.

// Milliseconds for which nobody types before what is written is looked at, and for which an answer is waited for.
const PAUSE = 300;
const PATIENCE = 10_000;
const WORD = /[^\s]*\p{L}[^\s]*/gu;

const mounted = new WeakMap();

export function mount(root = document) {
  const writing = root.querySelector(".writing");
  if (!writing) return () => {};
  if (!mounted.has(writing)) mounted.set(writing, start(writing, writing.closest("form")));
  mounted.get(writing).begin();
  return () => {
    mounted.get(writing)?.away();
    mounted.delete(writing);
  };
}

// Letters, also within words, at the end of what is written.
const UNFINISHED = /[\p{L}'’-]+$/u;
// A word that is known, to have the dictionary loaded; whether this page has asked for that.
const LOADING = "the";
let loaded = false;

const wordsOf = (text) => text.match(WORD) ?? [];
const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const whole = (word) => new RegExp(`(?<![\\p{L}'’])${escaped(word)}(?![\\p{L}])`, "gu");

function start(writing, form) {
  const find = (name) => writing.querySelector(`[data-${name}]`);
  const [now, short, long, odd, list, row, swap] = ["words", "short", "long", "odd", "list", "row", "swap"].map(find);
  const [spelling, state, heard, recheck, unchecked, why] = ["spelling", "state-of-it", "heard", "recheck", "unchecked", "why"].map(find);
  const field = writing.querySelector("textarea");
  const [pasted, firstKey, typing] = ["pasted", "first_key", "typing"].map((name) => form.elements[name]);
  const send = form.querySelector(".choice");
  const stop = new AbortController();
  const { signal } = stop;
  // The text that may go; the one whose unknown words are shown.
  let passed = null;
  let checked = null;
  let later = 0;
  let looking = null;
  // When the question was there, and when something was last entered; the length then.
  let there = 0;
  let entered = 0;
  let length = 0;

  const count = () => { now.textContent = now.dataset.words.replace("%n", wordsOf(field.value).length); };
  // To the millisecond: keys come faster than a tenth of a second, and each is added by itself.
  const add = (input, number) => { input.value = (Number(input.value) + number).toFixed(3); };
  // How it is written: what comes from elsewhere, the seconds to the first key, and from there to the last one.
  const measure = (event) => {
    const now = performance.now();
    if (!firstKey.value) add(firstKey, (now - there) / 1000);
    if (entered) add(typing, (now - entered) / 1000);
    if (/^insertFrom(Paste|Drop|Yank)/.test(event.inputType)) add(pasted, Math.max(0, field.value.length - length));
    entered = now;
    length = field.value.length;
  };
  const tooShort = () => wordsOf(field.value).length < Number(writing.dataset.fewest);
  const tooLong = () => wordsOf(field.value).length > Number(writing.dataset.most);
  const fits = () => !tooShort() && !tooLong();

  // How far the check is: "idle", "checking", "fine", "odd", "unchecked". Screen readers hear what was found, and
  // not that somebody looks.
  const say = (name, n = 0, why = "") => {
    spelling.dataset.state = name;
    const words = spelling.getAttribute(`data-say-${name}`).replace("%n", n).replace("%s", why);
    state.textContent = words;
    if (name !== "checking" && heard.textContent !== words) heard.textContent = name === "idle" ? "" : words;
    recheck.hidden = name !== "unchecked";
  };

  // The unknown words of `text`; throws what is in the way, in words.
  const unknownIn = async (text, signal) => {
    let response;
    try {
      response = await fetch(writing.dataset.check, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
        body: JSON.stringify({ text, campaign: form.closest("[data-campaign]")?.dataset.campaign }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
      });
      if (response.ok) return (await response.json()).unknown;
    } catch (error) {
      if (error.name === "AbortError") throw error;
    }
    const reason = response?.status === 429 ? "often" : navigator.onLine ? "failing" : "offline";
    throw new Error(spelling.getAttribute(`data-say-${reason}`));
  };
  const failed = (error) => { if (error.name !== "AbortError") say("unchecked", 0, error.message); };
  // Look at `text`, unless that is done: whether it is known by now what it holds. What is looked at meanwhile
  // comes to nothing.
  const look = async (text) => {
    clearTimeout(later);
    looking?.abort();
    if (text === checked) return true;
    const mine = new AbortController();
    looking = mine;
    say("checking");
    try {
      const unknown = await unknownIn(text, AbortSignal.any([mine.signal, signal]));
      checked = text;
      show(unknown);
      unchecked.hidden = true;
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  };
  // What is written so far, without the word that somebody is in the middle of.
  const settled = () => {
    const text = field.value;
    const within = document.activeElement === field && field.selectionEnd === text.length;
    return (within ? text.replace(UNFINISHED, "") : text).trim();
  };
  const soon = () => {
    clearTimeout(later);
    looking?.abort();
    later = setTimeout(() => {
      const text = settled();
      if (text) look(text);
      else if (!field.value.trim()) say("idle");
    }, PAUSE);
  };

  const replaced = (word, by) => {
    field.setRangeText(field.value.replace(whole(word), () => by), 0, field.value.length, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const rowOf = ({ word, suggestions }) => {
    const node = row.content.cloneNode(true).firstElementChild;
    node.querySelector(".word").textContent = word;
    if (suggestions.length) node.querySelector(".none").remove();
    node.append(...suggestions.map((suggestion) => {
      const button = swap.content.cloneNode(true).firstElementChild;
      button.textContent = suggestion;
      button.ariaLabel = button.dataset.name.replace("%s", suggestion).replace("%w", word);
      button.addEventListener("click", () => {
        replaced(word, suggestion);
        node.remove();
        if (list.children.length) odd.focus();
        else {
          // Every word is known: it needs no second look.
          checked = passed = field.value.trim();
          clearTimeout(later);
          odd.hidden = true;
          say("fine");
          send.focus();
        }
      }, { signal });
      return button;
    }));
    return node;
  };
  // The words that are not known, each as long as it is written. Rows that are there stay, with the focus.
  const show = (unknown) => {
    const rows = new Map([...list.children].map((row) => [row.querySelector(".word").textContent, row]));
    list.replaceChildren(...unknown.map((entry) => rows.get(entry.word) ?? rowOf(entry)));
    odd.hidden = !unknown.length;
    say(unknown.length ? "odd" : "fine", unknown.length);
  };
  const pointAt = (section) => {
    section.hidden = false;
    section.focus();
    section.scrollIntoView({ block: "nearest" });
  };

  // Send it where every word is known; else show what is not, or that nobody can say.
  const give = async (button) => {
    const text = field.value.trim();
    const known = await look(text);
    // Written on meanwhile: it is not what was meant to be sent.
    if (signal.aborted || field.value.trim() !== text) return;
    if (!known && spelling.dataset.state === "unchecked") {
      why.textContent = state.textContent;
      pointAt(unchecked);
    } else if (known && list.children.length) pointAt(odd);
    else if (known) {
      passed = text;
      form.requestSubmit(button);
    }
  };

  form.addEventListener("submit", (event) => {
    const text = field.value.trim();
    if (event.submitter?.matches("[data-anyway]")) passed = text;
    // Looked at while one wrote, and every word is known.
    if (text === checked && !list.children.length && fits()) passed = text;
    if (passed === text || event.submitter?.ariaDisabled) return;
    event.preventDefault();
    event.stopPropagation();
    short.hidden = !tooShort();
    long.hidden = !tooLong();
    if (fits()) give(event.submitter ?? send);
    else field.focus();
  }, { signal });
  field.addEventListener("input", (event) => {
    measure(event);
    count();
    if (!tooShort()) short.hidden = true;
    long.hidden = !tooLong();
    // What is not in the sentence any more needs no second look.
    for (const row of [...list.children]) {
      if (!whole(row.querySelector(".word").textContent).test(field.value)) row.remove();
    }
    odd.hidden = odd.hidden || !list.children.length;
    unchecked.hidden = true;
    if (field.value.trim() !== checked) soon();
  }, { signal });
  for (const button of writing.querySelectorAll("[data-again]")) {
    button.addEventListener("click", async () => {
      const text = field.value.trim();
      if (!await look(text || LOADING)) return;
      if (text) send.focus();
      else say("idle");
    }, { signal });
  }
  addEventListener("online", soon, { signal });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) form.requestSubmit(send);
  }, { signal });

  return {
    // Where there is a keyboard, one writes at once.
    begin() {
      there = performance.now();
      length = field.value.length;
      count();
      say("idle");
      // The dictionary is loaded before the first word is written.
      if (field.value.trim()) soon();
      else if (!loaded) unknownIn(LOADING, signal).catch(failed);
      loaded = true;
      if (matchMedia("(pointer: fine)").matches) field.focus({ preventScroll: true });
    },
    away() {
      clearTimeout(later);
      stop.abort();
    },
  };
}

mount();
