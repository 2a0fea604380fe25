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

// Where somebody works: their own, of one campaign and kind, in this browser.
export const place = (desk) => [desk.dataset.owner, desk.dataset.campaign, desk.dataset.kind].join(":");
