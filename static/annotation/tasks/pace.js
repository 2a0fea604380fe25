// How many answers today, what they earn, how long they take: the server's count as the page came, and what
// was given since. The seconds of today's answers stay in this browser.

const KEY = "phrasebox:pace:";
// Fewer answers tell no pace.
const ENOUGH = 5;
const MOST = 1000;
const MICROS = 1_000_000;

const today = () => new Date().toISOString().slice(0, 10);

export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// As the server writes it: two digits, or more where the sum has them.
const sum = (micros, currency) => {
  const amount = Math.round(micros) / MICROS;
  const short = amount.toFixed(2);
  return `${Number(short) === amount ? short : amount} ${currency}`;
};

export class Pace {
  // `count` and `earned` (millionths) are the server's; `kept` are the entries it does not know of yet.
  constructor(storage, where, { count, earned, each, hour }, kept) {
    Object.assign(this, { storage, key: KEY + where, count, earned, each, hour });
    const { day, seconds } = storage.get(this.key, { day: "", seconds: [] });
    this.seconds = day === today() ? seconds : [];
    for (const entry of kept) this.add(entry, 1);
  }

  add({ act, seconds }, one) {
    if (act === "return") return;
    this.count += one;
    this.earned += one * (this.each + (this.hour * seconds) / 3600);
  }

  gave(entry) {
    this.add(entry, 1);
    if (entry.act === "answer") this.note([...this.seconds, entry.seconds].slice(-MOST));
  }

  tookBack(entry) {
    this.add(entry, -1);
    if (entry.act === "answer") this.note(this.seconds.slice(0, -1));
  }

  note(seconds) {
    this.seconds = seconds;
    this.storage.put(this.key, { day: today(), seconds });
  }

  show(desk) {
    const line = desk.querySelector("[data-today]");
    if (!line) return;
    line.querySelector("[data-count]").textContent = this.count;
    const pay = desk.querySelector("[data-pay]");
    pay.hidden = this.earned < 1;
    pay.textContent = sum(this.earned, line.dataset.currency);
    const pace = desk.querySelector("[data-pace]");
    const all = this.seconds.reduce((a, b) => a + b, 0);
    pace.hidden = this.seconds.length < ENOUGH || !all;
    if (pace.hidden) return;
    pace.querySelector("[data-median]").textContent = Math.max(1, Math.round(median(this.seconds)));
    pace.querySelector("[data-hourly]").textContent = Math.round((3600 * this.seconds.length) / all);
  }
}

// What a desk says of today.
export const dayOf = (desk) => {
  const { today: count = 0, earned = 0, each = 0, hour = 0 } = desk.querySelector("[data-today]")?.dataset ?? {};
  return { count: Number(count), earned: Number(earned), each: Number(each), hour: Number(hour) };
};
