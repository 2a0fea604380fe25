// A sentence about a picture: its words are counted while one writes, and those that look misspelt are shown
// before it is sent. Enter sends, as the sentence is one.
//
// `mount(root)` makes the page of `root` work, and returns what takes everything away again. Without a network,
// or where the server does not say, the sentence goes as it is.

// Milliseconds for which the server's word about the spelling is waited for.
const PATIENCE = 4_000;
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

const wordsOf = (text) => text.match(WORD) ?? [];
const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const whole = (word) => new RegExp(`(?<![\\p{L}'’])${escaped(word)}(?![\\p{L}])`, "gu");

function start(writing, form) {
  const find = (name) => writing.querySelector(`[data-${name}]`);
  const [now, short, odd, list, row, swap, anyway] = ["words", "short", "odd", "list", "row", "swap", "anyway"].map(find);
  const field = writing.querySelector("textarea");
  const send = form.querySelector(".choice");
  const stop = new AbortController();
  const { signal } = stop;
  // The text that may go: looked at, or sent as it is.
  let passed = null;
  let asking = false;

  const count = () => { now.textContent = now.dataset.words.replace("%n", wordsOf(field.value).length); };
  const enough = () => wordsOf(field.value).length >= Number(writing.dataset.fewest);

  // The unknown words of `text`, [] where nobody can say.
  const unknownIn = async (text) => {
    try {
      const response = await fetch(writing.dataset.check, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
        body: JSON.stringify({ text, campaign: form.closest("[data-campaign]")?.dataset.campaign }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      return response.ok ? (await response.json()).unknown : [];
    } catch {
      return [];
    }
  };

  const replaced = (word, by) => {
    field.setRangeText(field.value.replace(whole(word), () => by), 0, field.value.length, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const rowOf = ({ word, suggestions }) => {
    const made = row.content.cloneNode(true).firstElementChild;
    made.querySelector(".word").textContent = word;
    if (suggestions.length) made.querySelector(".none").remove();
    made.append(...suggestions.map((one) => {
      const button = swap.content.cloneNode(true).firstElementChild;
      button.textContent = one;
      button.ariaLabel = button.dataset.name.replace("%s", one).replace("%w", word);
      button.addEventListener("click", () => {
        replaced(word, one);
        made.remove();
        if (list.children.length) odd.focus();
        else {
          passed = field.value.trim();
          odd.hidden = true;
          send.focus();
        }
      }, { signal });
      return button;
    }));
    return made;
  };
  const point = (unknown) => {
    list.replaceChildren(...unknown.map(rowOf));
    odd.hidden = false;
    odd.focus();
    odd.scrollIntoView({ block: "nearest" });
  };

  const look = async (button) => {
    const text = field.value.trim();
    asking = true;
    const unknown = await unknownIn(text);
    asking = false;
    if (signal.aborted) return;
    // Written on meanwhile: it is not what was meant to be sent.
    if (field.value.trim() !== text) return;
    if (unknown.length) point(unknown);
    else {
      passed = text;
      form.requestSubmit(button);
    }
  };

  form.addEventListener("submit", (event) => {
    const text = field.value.trim();
    if (event.submitter === anyway) passed = text;
    if (passed === text || event.submitter?.ariaDisabled) return;
    event.preventDefault();
    event.stopPropagation();
    if (asking) return;
    short.hidden = enough();
    if (enough()) look(event.submitter ?? send);
    else field.focus();
  }, { signal });
  field.addEventListener("input", () => {
    count();
    if (enough()) short.hidden = true;
    // What is not in the sentence any more needs no second look.
    for (const each of [...list.children]) {
      if (!whole(each.querySelector(".word").textContent).test(field.value)) each.remove();
    }
    odd.hidden = odd.hidden || !list.children.length;
  }, { signal });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) form.requestSubmit(send);
  }, { signal });

  return {
    // Where there is a keyboard, one writes at once.
    begin() {
      count();
      if (matchMedia("(pointer: fine)").matches) field.focus({ preventScroll: true });
    },
    away: () => stop.abort(),
  };
}

mount();
