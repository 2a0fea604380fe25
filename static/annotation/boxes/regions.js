// Several boxes with a few words each: what the box editor works on in place of one box's fields.
//
// One region is in hand: the editor's box is its box. Drawing again takes the next region that has none. Each is a
// row of the form ([data-region]), whose fields are the truth about it; the others are outlined in the picture.

import { makeFields } from "./fields.js";

// Of a region's tag, in CSS pixels; and what a pointer that picks a region may move.
const TAG = 20;
const STILL = 3;

const svgPart = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

export function makeRegions(editor, size, smallest) {
  const form = editor.closest("form");
  const notice = form.querySelector("[data-lacking]");
  const send = form.querySelector(".choice");
  const regions = [...editor.querySelectorAll("[data-region]")].map((row) => ({
    row,
    name: Number(row.dataset.region) + 1,
    fields: makeFields(row, size, smallest, `region-${row.dataset.region}-`),
    text: row.querySelector("[data-says]"),
    size: row.querySelector("[data-size]"),
    remove: row.querySelector("[data-remove]"),
    corners: row.querySelector("details"),
  }));
  const [outlines, tags] = ["others", "names"].map((name) => svgPart("g", { class: name }));
  let now = regions[0];
  let board = null;

  const held = ({ fields, text }) => [...fields.held, fields.way, text.value];
  const empty = (region) => held(region).every((value) => value === "");
  const after = (region) => [...regions.slice(regions.indexOf(region)), ...regions.slice(0, regions.indexOf(region))];
  const words = (name, ...values) => values.reduce((text, value) => text.replace("%n", value), editor.dataset[name]);

  // What the first region that is not whole lacks: [region, words], null where all are whole.
  const lacking = () => {
    for (const region of regions) {
      const { fields, text, name } = region;
      const lacks = fields.lacks === "whole" && !fields.box() ? "crossed" : fields.lacks;
      if (lacks !== "whole") return [region, words(lacks, name)];
      const twin = regions.find((another) => another.name < name && `${another.fields.box()}` === `${fields.box()}`);
      if (twin) return [region, words("same", twin.name, name)];
      if (!text.value.trim()) return [region, words("untold", name)];
    }
    return null;
  };
  const tell = () => {
    const lack = lacking();
    const text = lack ? lack[1] : editor.dataset.whole;
    if (notice.textContent !== text) notice.textContent = text;
    form.classList.toggle("is-lacking", lack !== null);
  };
  const select = (region) => {
    now = region;
    board?.show();
  };
  // Where arrows draw: on no field.
  const toPicture = () => editor.closest("[data-task]").querySelector(".question").focus({ preventScroll: true });
  // On to what is to be done next.
  const onward = () => {
    const lack = lacking();
    if (!lack) {
      send.focus();
      return;
    }
    select(lack[0]);
    if (now.fields.box()) now.text.focus();
    else toPicture();
  };

  return {
    box: () => now.fields.box(),
    put(box, how) { now.fields.put(box, how); },
    get way() { return now.fields.way; },
    // Each region's way is held with it.
    set way(how) {},
    get held() { return regions.map(held); },
    set held(states) {
      regions.forEach((region, n) => {
        if (`${held(region)}` !== `${states[n]}`) now = region;
        const [way, text] = states[n].slice(4);
        region.fields.held = states[n].slice(0, 4);
        region.fields.way = way;
        region.text.value = text;
      });
    },
    owns: (element) => regions.some(({ row }) => row.contains(element)),
    typed(field) {
      const region = regions.find(({ row }) => row.contains(field));
      return field !== region.text && region.fields.typed();
    },
    check: tell,
    begin() {
      if (now.fields.box()) select(after(now).find(({ fields }) => fields.lacks === "missing") ?? now);
    },
    finish: () => now.text.focus(),

    draw(sheet) {
      const pixel = size[0] / (sheet.svg.clientWidth || size[0]);
      const unit = pixel * (parseFloat(getComputedStyle(document.documentElement).fontSize) / 16);
      const [others, names] = [[], []];
      for (const region of regions) {
        const { row, name, fields } = region;
        const box = fields.box();
        row.classList.toggle("is-in-hand", region === now);
        region.remove.hidden = empty(region);
        const [left, top, right, bottom] = box ?? [];
        region.size.textContent = box ? words("size", right - left + 1, bottom - top + 1) : editor.dataset.undrawn;
        if (!box) continue;
        const at = { x: left - 1, y: top - 1, width: right - left + 1, height: bottom - top + 1 };
        const hue = `hue-${((name - 1) % 8) + 1}`;
        if (region !== now) {
          const border = svgPart("rect", { class: "border", ...at });
          border.dataset.picks = regions.indexOf(region);
          others.push(svgPart("rect", { class: "rim", ...at }), svgPart("rect", { class: `edge ${hue}`, ...at }), border);
        }
        const tag = TAG * unit;
        // Within its box, above the left corner's handle.
        const [x, y] = [Math.min(at.x + tag / 2, size[0] - tag), Math.max(0, at.y - tag / 2)];
        names.push(svgPart("rect", { class: `name ${hue}`, x, y, width: tag, height: tag, rx: 3 * unit }));
        const text = svgPart("text", { class: hue, x: x + tag / 2, y: y + tag * 0.74, "font-size": 14 * unit });
        text.textContent = name;
        names.push(text);
      }
      outlines.replaceChildren(...others);
      tags.replaceChildren(...names);
    },

    attach(with_, frame, signal) {
      board = with_;
      board.sheet.svg.querySelector(".mine").before(outlines);
      board.sheet.svg.querySelector(".mine").after(tags);
      for (const region of regions) {
        region.corners.open = false;
        region.row.addEventListener("focusin", () => { if (region !== now) select(region); }, { signal });
        region.remove.addEventListener("click", () => {
          region.fields.put(null, "");
          region.text.value = "";
          select(region);
          board.commit();
          region.text.focus();
        }, { signal });
        // An edge that the browser finds fault with has to be seen.
        region.corners.addEventListener("invalid", () => { region.corners.open = true; }, { capture: true, signal });
        region.text.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" || event.isComposing) return;
          event.preventDefault();
          if (!event.repeat) onward();
        }, { signal });
      }
      // A click on its outline takes a region in hand, unless extreme points are being set; a box may be drawn
      // from there.
      let pressed = null;
      frame.addEventListener("pointerdown", (event) => {
        const { picks } = event.target.dataset;
        const picked = picks !== undefined && !event.button && board.way() === "drag";
        pressed = picked && { region: regions[picks], at: [event.clientX, event.clientY] };
      }, { capture: true, signal });
      frame.addEventListener("pointerup", (event) => {
        if (!pressed) return;
        const { region, at: [x, y] } = pressed;
        if (Math.hypot(event.clientX - x, event.clientY - y) < STILL) select(region);
      }, { signal });
      // Enter, where one draws by keys, goes on to the words.
      document.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.defaultPrevented || !now.fields.box()) return;
        if (event.target.closest?.("a, button, summary, input, select, textarea, dialog")) return;
        event.preventDefault();
        now.text.focus();
      }, { signal });
      form.addEventListener("submit", (event) => {
        if (event.submitter !== send || !lacking()) return;
        event.preventDefault();
        event.stopPropagation();
        notice.classList.add("wrong");
        onward();
      }, { signal });
    },
    away() {
      outlines.remove();
      tags.remove();
      for (const { corners, row } of regions) {
        corners.open = true;
        row.classList.remove("is-in-hand");
      }
    },
  };
}
