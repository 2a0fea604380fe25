// How many answers today, what they earn, how long they take: the server's count as the page came, and what
// was given since. The seconds of today's answers stay in this browser.

import { currencyDigits } from "../currency.js";

const KEY = "phrasebox:day:";
// Fewer answers give no median.
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

export class DayProgress {
  // `day` is the count of today on a task, null in a test; `pending` are the entries that it does not have yet.
  constructor(storage, where, day, pending) {
    Object.assign(this, { storage, key: KEY + where, day: null });
    const stored = storage.get(this.key, { day: "", seconds: [] });
    this.seconds = stored.day === today() ? stored.seconds : [];
    this.start(day);
    this.addAll(pending);
  }

  // The first count of the server is where ours begins: `count`, `earned` (millionths) and `worked` (seconds)
  // until then, `each` for an answer, `hour` for an hour.
  start(day) {
    if (!this.day && day) Object.assign(this, day, { day });
  }

  add({ act, seconds }, sign) {
    if (act === "return" || !this.day) return;
    this.count += sign;
    this.earned += sign * (this.each + (this.hour * seconds) / 3600);
    this.worked += sign * seconds;
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
  // of now, which has it, and the `pending` entries, which it has not.
  recount({ answers, pay, seconds }, pending) {
    if (!this.day) return;
    Object.assign(this, { count: answers, earned: Math.round(pay * MICROS), worked: seconds });
    this.addAll(pending);
  }

  note(seconds) {
    this.seconds = seconds;
    this.storage.put(this.key, { day: today(), seconds });
  }

  show(task) {
    const line = task.querySelector("[data-today]");
    if (!line) return;
    this.start(dayOf(task));
    line.querySelector("[data-count]").textContent = this.count;
    const pay = task.querySelector("[data-pay]");
    pay.hidden = this.earned < 1;
    pay.textContent = sum(this.earned, line.dataset.currency);
    const time = task.querySelector("[data-time]");
    time.hidden = this.worked < 60;
    time.querySelector("[data-minutes]").textContent = Math.floor(this.worked / 60);
    const answerTime = task.querySelector("[data-answer-time]");
    const all = this.seconds.reduce((a, b) => a + b, 0);
    answerTime.hidden = this.seconds.length < ENOUGH || !all;
    if (answerTime.hidden) return;
    answerTime.querySelector("[data-median]").textContent = Math.max(1, Math.round(median(this.seconds)));
    answerTime.querySelector("[data-hourly]").textContent = Math.round((3600 * this.seconds.length) / all);
  }
}

// The count of today on a task; null in a test, which has none.
export const dayOf = (task) => {
  const line = task.querySelector("[data-today]");
  if (!line) return null;
  const { today: count, earned, worked, each, hour } = line.dataset;
  return { count: Number(count), earned: Number(earned), worked: Number(worked), each: Number(each), hour: Number(hour) };
};
