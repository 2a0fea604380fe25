// The next task, fetched while the current one is worked on, with its picture decoded.

// Milliseconds: until a picture is asked for again; for which a server that says nothing is waited for, and the
// decoding of a picture that has come.
const AGAIN = 1_000;
const PATIENCE = 20_000;
const LONGEST_DECODE = 2_000;

// { task } with its picture ready; { nothing } where something else comes first; { away } where the network
// ("offline") or the server ("failing") is.
export async function fetchNext(address, holding) {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(`${address}?part=task&holding=${holding.join()}`, { signal });
    if (response.redirected) return { nothing: "signed_out" };
    if (response.status >= 500 || response.status === 429) return { away: "failing" };
    if (!response.ok) return { nothing: "refused" };
    if (response.headers.get("Content-Type").startsWith("application/json")) return await response.json();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const task = document.adoptNode(page.querySelector("[data-task]"));
    // Nobody can judge a picture that the network has kept back: the task is fetched again with it.
    if (!await allDecoded(task) && !navigator.onLine) return { away: "offline" };
    return { task };
  } catch {
    return { away: navigator.onLine ? "failing" : "offline" };
  }
}

// A task's picture, or all of those it asks about.
export async function allDecoded(task) {
  const pictures = [...task.querySelectorAll("[data-picture], [data-pictures] img")];
  return (await Promise.all(pictures.map(decoded))).every(Boolean);
}

const wait = (delay) => new Promise((resolve) => setTimeout(resolve, delay));

// True once the picture can be painted, false where it cannot be had. A browser may leave the decoding of what
// it does not paint lying: then the picture comes when it is shown.
async function decoded(picture) {
  if (await ready(picture)) return true;
  await wait(AGAIN);
  picture.src = picture.getAttribute("src");
  return ready(picture);
}

const ready = (picture) => Promise.race([
  picture.decode().then(() => true, () => false),
  come(picture).then(() => wait(LONGEST_DECODE)).then(() => true),
  wait(PATIENCE).then(() => false),
]);

// Kept once the picture has come; one that cannot be had is told by its decoding.
const come = (picture) =>
  new Promise((resolve) => {
    if (picture.naturalWidth && picture.complete) resolve();
    else picture.addEventListener("load", resolve, { once: true });
  });
