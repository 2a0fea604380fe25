// Lights a chain up: its boxes, its mentions and its row come forward, the others step back.
//
// Inside [data-light], whatever bears data-chains="2" (or "2 5": a box of two chains) belongs to
// those chains. Pointing at it, or focusing it by keyboard, lights them while it lasts. A click or
// a tap keeps one lit, and the address bar says which; Escape, or another click, lets go. A link
// with data-follow lights its chain too, and is followed.

for (const room of document.querySelectorAll("[data-light]")) {
  const parts = [...room.querySelectorAll("[data-chains]")];
  const chainsOf = (part) => part.dataset.chains.split(" ");
  const partAt = (target) => target.closest("[data-chains]");
  let chosen = room.dataset.lit ?? null;

  const show = (chains) => {
    for (const part of parts) {
      part.classList.toggle("is-lit", chainsOf(part).some((chain) => chains.includes(chain)));
    }
    if (chains.length) room.dataset.lit = chains.join(" ");
    else delete room.dataset.lit;
  };
  const rest = () => show(chosen ? [chosen] : []);

  const keep = (chain) => {
    chosen = chain;
    const address = new URL(location.href);
    if (chain) address.searchParams.set("chain", chain);
    else address.searchParams.delete("chain");
    history.replaceState(history.state, "", address);
    for (const row of room.querySelectorAll("[data-pin]")) {
      if (row.dataset.chains === chain) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    rest();
  };

  // A box of several chains keeps the first, then the next, then none.
  const nextOf = (chains) => chains[chains.indexOf(chosen) + 1] ?? null;

  room.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const part = partAt(event.target);
    if (part) show(chainsOf(part));
    else rest();
  });
  room.addEventListener("pointerleave", rest);
  room.addEventListener("focusin", (event) => {
    const part = partAt(event.target);
    if (part && event.target.matches(":focus-visible")) show(chainsOf(part));
  });
  room.addEventListener("focusout", rest);
  room.addEventListener("click", (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const part = partAt(event.target);
    if (!part || part.hasAttribute("data-follow")) return;
    event.preventDefault();
    keep(nextOf(chainsOf(part)));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen) keep(null);
  });
}
