// What was done, to be taken back and done again. A state is plain data; equal ones are one.

const KEPT = 500;

export function makeHistory(first) {
  let states = [JSON.stringify(first)];
  let now = 0;
  let run = "";
  const at = (index) => {
    if (!(index in states)) return null;
    now = index;
    run = "";
    return JSON.parse(states[now]);
  };
  return {
    // Steps that bear the same name one behind the other (an arrow held down) are taken back as one.
    record(state, name = "") {
      const text = JSON.stringify(state);
      if (text === states[now]) return;
      const past = states.slice(0, now + (name && name === run ? 0 : 1));
      states = [...past, text].slice(-KEPT);
      now = states.length - 1;
      run = name;
    },
    undo: () => at(now - 1),
    redo: () => at(now + 1),
    get canUndo() { return now > 0; },
    get canRedo() { return now < states.length - 1; },
  };
}
