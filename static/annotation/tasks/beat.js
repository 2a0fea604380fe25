// Signs of life: while somebody is active, what they have in hand stays theirs.

// Every `seconds` in which `active()` something was done, each address of `addresses()` is told so; `gone(address)`
// hears which task is theirs no more.
export function beat(seconds, { active, addresses, post, gone }) {
  return setInterval(async () => {
    if (!active()) return;
    for (const address of addresses()) {
      const { status } = await post(address, {});
      if (status === 410) gone(address);
    }
  }, 1000 * seconds);
}
