// How many answers today, what they earn, how long they take: the server's count as the page came, and what
// was given since. The seconds of today's answers stay in this browser.

import { currencyDigits } from "../currency.js";

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

// As the server writes it in the page's language: the digits of its currency, or more where the sum has them.
const sum = (micros, currency) => {
  const amount = new Intl.NumberFormat(document.documentElement.lang, {
    minimumFractionDigits: currencyDigits(currency), maximumFractionDigits: 6, useGrouping: false,
  });
  return `${amount.format(Math.round(micros) / MICROS)} ${currency}`;
};

export class Pace {
  // `said` is what a desk says of today, null in a test; `kept` are the entries that it does not count yet.
  constructor(storage, where, said, kept) {
    Object.assign(this, { storage, key: KEY + where, said: null });
    const { day, seconds } = storage.get(this.key, { day: "", seconds: [] });
    this.seconds = day === today() ? seconds : [];
    this.know(said);
    this.addAll(kept);
  }

  // The first word of the server's is where the count begins: `count`, `earned` (millionths) and `worked` (seconds)
  // until then, `each` for an answer, `hour` for an hour.
  know(said) {
    if (!this.said && said) Object.assign(this, said, { said });
  }

  add({ act, seconds }, one) {
    if (act === "return" || !this.said) return;
    this.count += one;
    this.earned += one * (this.each + (this.hour * seconds) / 3600);
    this.worked += one * seconds;
  }

  addAll(entries) {
    for (const entry of entries) this.add(entry, 1);
  }

  gave(entry) {
    this.add(entry, 1);
    if (entry.act === "answer") this.note([...this.seconds, entry.seconds].slice(-MOST));
  }

  // Taken back, or never taken by the server.
  tookBack(entry) {
    this.add(entry, -1);
    const at = this.seconds.lastIndexOf(entry.seconds);
    if (entry.act === "answer") this.note(this.seconds.filter((_, n) => n !== at));
  }

  // An answer had arrived before, and nobody here can know whether before the count began: the server's count
  // of now, which has it, and what is `kept`, which it has not.
  recount({ answers, pay, seconds }, kept) {
    if (!this.said) return;
    Object.assign(this, { count: answers, earned: Math.round(pay * MICROS), worked: seconds });
    this.addAll(kept);
  }

  note(seconds) {
    this.seconds = seconds;
    this.storage.put(this.key, { day: today(), seconds });
  }

  show(desk) {
    const line = desk.querySelector("[data-today]");
    if (!line) return;
    this.know(dayOf(desk));
    line.querySelector("[data-count]").textContent = this.count;
    const pay = desk.querySelector("[data-pay]");
    pay.hidden = this.earned < 1;
    pay.textContent = sum(this.earned, line.dataset.currency);
    const time = desk.querySelector("[data-time]");
    time.hidden = this.worked < 60;
    time.querySelector("[data-minutes]").textContent = Math.floor(this.worked / 60);
    const pace = desk.querySelector("[data-pace]");
    const all = this.seconds.reduce((a, b) => a + b, 0);
    pace.hidden = this.seconds.length < ENOUGH || !all;
    if (pace.hidden) return;
    pace.querySelector("[data-median]").textContent = Math.max(1, Math.round(median(this.seconds)));
    pace.querySelector("[data-hourly]").textContent = Math.round((3600 * this.seconds.length) / all);
  }
}

// What a desk says of today; null in a test, which says nothing of it.
export const dayOf = (desk) => {
  const line = desk.querySelector("[data-today]");
  if (!line) return null;
  const { today: count, earned, worked, each, hour } = line.dataset;
  return { count: Number(count), earned: Number(earned), worked: Number(worked), each: Number(each), hour: Number(hour) };
};
