// What this browser keeps: plain data under a key, in localStorage. Where that is forbidden or full, in
// memory, as long as the page lives.

const memory = new Map();

export const storage = {
  get(key, usual) {
    if (memory.has(key)) return JSON.parse(memory.get(key));
    try {
      return JSON.parse(localStorage.getItem(key)) ?? usual;
    } catch {
      return usual;
    }
  },
  put(key, value) {
    const text = JSON.stringify(value);
    try {
      localStorage.setItem(key, text);
      memory.delete(key);
    } catch {
      memory.set(key, text);
    }
  },
  remove(key) {
    memory.delete(key);
    try {
      localStorage.removeItem(key);
    } catch {
      // Nothing was kept there.
    }
  },
  keys() {
    try {
      return [...new Set([...memory.keys(), ...Object.keys(localStorage)])];
    } catch {
      return [...memory.keys()];
    }
  },
};

// The key of what this browser stores for an account, a campaign and a kind.
export const workKey = (task) => [task.dataset.owner, task.dataset.campaign, task.dataset.kind].join(":");
