// A pending answer, sent: { status, body }, where status 0 means that nobody answered.

// Milliseconds after which a server that says nothing is taken for absent.
const PATIENCE = 20_000;

const tokenOf = (page) => page.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

// `owner` is whose answers these are. Signing in changes the token that writes need: it is then fetched from
// a page as it is now, unless that is somebody else's.
export function poster(owner) {
  let token = tokenOf(document);

  const renewed = async () => {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(document.querySelector("[data-renew]").dataset.renew, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.querySelector("[data-account]")?.dataset.account !== owner) return false;
    token = tokenOf(page);
    return true;
  };

  const post = async (address, data, fresh = false) => {
    try {
      const response = await fetch(address, {
        method: "POST",
        keepalive: true,
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: JSON.stringify(data),
        signal: AbortSignal.timeout(PATIENCE),
      });
      const body = await response.json().catch(() => ({}));
      if (response.status === 403 && body.code === "csrf" && !fresh && (await renewed())) return post(address, data, true);
      return { status: response.status, body };
    } catch {
      return { status: 0, body: {} };
    }
  };
  return post;
}

// What an entry says to the API.
export const bodyOf = ({ act, token, kind, form, seconds }) =>
  (act === "return" ? {} : { token, kind, form, seconds, next: false });
