// A visit that waits for its platform: asks every few seconds, and loads the page again once there is an answer.

const EVERY = 8000;
const { state } = document.querySelector(".waits[data-state]").dataset;

async function look() {
  try {
    const response = await fetch(state, { headers: { Accept: "application/json" } });
    // Signed out, or led elsewhere: the whole page says what is the matter.
    const body = response.ok && !response.redirected ? await response.json() : { verification: "" };
    if (body.verification !== "waiting") return location.reload();
  } catch {
    // Offline, or the server is away: ask again.
  }
  return setTimeout(look, EVERY);
}

setTimeout(look, EVERY);
