// Takes a message of a researcher away once its reader says so, without leaving the page. Where the server cannot
// be told, the form is sent as it is.

export const dismissMessages = () => {
  document.addEventListener("submit", async (event) => {
    const message = event.target.closest("[data-message]");
    if (!message) return;
    event.preventDefault();
    try {
      const answer = await fetch(event.target.action, { method: "POST", body: new FormData(event.target) });
      if (!answer.ok) throw new Error(answer.statusText);
      message.remove();
      document.querySelector(".question")?.focus({ preventScroll: true });
    } catch {
      event.target.submit();
    }
  });
};
