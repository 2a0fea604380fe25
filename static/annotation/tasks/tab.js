// One tab at a time works in one place: two would show the same questions. The lock is the browser's, and
// goes with the tab. Where browsers have none (pages without TLS, elsewhere than on this machine), each tab
// works, and the server refuses the second answer to a question.

// A tab that was just reloaded gives its lock back in a moment.
const MOMENT = 500;
// Milliseconds after which a place that was taken is looked at again.
const FREE_AGAIN = 1_000;

const nameOf = (where) => `phrasebox:${where}`;

// Does `work()` as soon as no tab works there, and holds the place until its promise is kept; an error where a
// tab took over. It does not queue: else it would come before a tab that is reloaded.
export async function ifNoTab(where, work) {
  if (!navigator.locks) return work();
  for (let done = false; !done; ) {
    await navigator.locks.request(nameOf(where), { ifAvailable: true }, (lock) => {
      done = lock !== null;
      return done ? work() : undefined;
    });
    if (!done) await new Promise((resolve) => setTimeout(resolve, FREE_AGAIN));
  }
}

// Calls `mine()` once this tab may work, `theirs()` where another one does, and `lost()` where another one
// took over; what it returns takes over from the other.
export function oneTab(where, { mine, theirs, lost }) {
  if (!navigator.locks) {
    mine();
    return () => {};
  }
  const name = nameOf(where);
  let held = false;
  const waitsForLock = setTimeout(() => { if (!held) theirs(); }, MOMENT);
  const hold = () => {
    held = true;
    clearTimeout(waitsForLock);
    mine();
    return new Promise(() => {});
  };
  const waiting = new AbortController();
  const gone = (error) => {
    if (error.name !== "AbortError" || !held) return;
    held = false;
    lost();
  };
  navigator.locks.request(name, { signal: waiting.signal }, hold).catch(gone);
  return () => {
    waiting.abort();
    navigator.locks.request(name, { steal: true }, hold).catch(gone);
  };
}
