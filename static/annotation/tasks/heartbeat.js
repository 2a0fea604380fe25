// Heartbeats: while somebody is active, the tasks they hold stay theirs.

// Every `seconds` in which `active()` something was done, each address of `addresses()` gets a heartbeat; `gone(address)`
// is called for a task that they hold no more.
export function startHeartbeat(seconds, { active, addresses, post, gone }) {
  return setInterval(async () => {
    if (!active()) return;
    for (const address of addresses()) {
      const { status } = await post(address, {});
      if (status === 410) gone(address);
    }
  }, 1000 * seconds);
}
