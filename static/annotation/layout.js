// Keys on any keyboard. A key counts by what is printed on it; where that means nothing to a page, by its place,
// named as on a US keyboard: the row of digits of AZERTY, the letters of Cyrillic and Greek.

const PLACES = { Slash: "/", Equal: "=", Minus: "-", Space: " " };
const SHIFTED = { Slash: "?", Equal: "+" };

// What the place of a key is called.
function placed({ code = "", shiftKey }) {
  const [, sign] = /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(code) ?? [];
  return sign?.toLowerCase() ?? (shiftKey ? SHIFTED[code] : undefined) ?? PLACES[code];
}

// What a press may mean, the likelier first. The row of digits means digits wherever it is pressed without Shift.
export function meanings(event) {
  const key = event.key.toLowerCase();
  const place = placed(event);
  if (!place || key.length > 1 || key === place) return [key];
  const digit = /^\d$/.test(place) && !event.shiftKey;
  const foreign = key > "~";
  return digit || foreign ? [place, key] : [key, place];
}

// The first answer of `known` to a meaning; it is not asked about those behind that.
export function meant(event, known) {
  for (const meaning of meanings(event)) {
    const answer = known(meaning);
    if (answer) return answer;
  }
  return undefined;
}

// What is printed on the key of a letter; `atPlace` where the page goes by its place, whatever is printed there.
export function printed(letter, layout, atPlace = false) {
  const small = letter.toLowerCase();
  const anywhere = [...layout.values()].includes(small);
  return anywhere && !atPlace ? letter : layout.get(`Key${letter.toUpperCase()}`)?.toUpperCase() ?? letter;
}

// The keyboard's layout, where the browser knows it: code -> what is printed.
let layout;
const known = () => {
  layout ??= navigator.keyboard?.getLayoutMap?.().catch(() => new Map()) ?? Promise.resolve(new Map());
  return layout;
};

// Show every letter key below `root` as it is printed.
export async function showPrinted(root) {
  const map = await known();
  if (!map.size) return;
  for (const kbd of root.querySelectorAll("kbd")) {
    kbd.dataset.letter ??= /^[A-Z]$/.test(kbd.textContent) ? kbd.textContent : "";
    const { letter, place } = kbd.dataset;
    if (!letter) continue;
    const sign = printed(letter, map, place !== undefined);
    if (kbd.textContent === sign) continue;
    kbd.textContent = sign;
    const shortcut = kbd.closest("[data-key]");
    const keys = shortcut?.getAttribute("aria-keyshortcuts");
    if (keys) shortcut.setAttribute("aria-keyshortcuts", keys.replace(letter.toLowerCase(), sign.toLowerCase()));
  }
}
