// The next task, fetched while the current one is worked on, with its picture decoded.

const AGAIN = 1_000;

// { desk } with its picture ready; { nothing } where something else comes first; { away } where the network
// ("offline") or the server ("failing") is.
export async function fetchNext(address, holding) {
  try {
    const response = await fetch(`${address}?part=desk&holding=${holding.join()}`);
    if (response.redirected) return { nothing: "signed_out" };
    if (response.status >= 500 || response.status === 429) return { away: "failing" };
    if (!response.ok) return { nothing: "refused" };
    if (response.headers.get("Content-Type").startsWith("application/json")) return await response.json();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const desk = document.adoptNode(page.querySelector("[data-desk]"));
    await decoded(desk.querySelector("[data-picture]"));
    return { desk };
  } catch {
    return { away: navigator.onLine ? "failing" : "offline" };
  }
}

// Settled once the picture can be painted, or cannot be had.
export async function decoded(picture) {
  if (!picture) return;
  try {
    await picture.decode();
  } catch {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    picture.src = picture.getAttribute("src");
    await picture.decode().catch(() => {});
  }
}
