// Pay: what an hour comes to, while an amount is typed. The server says the same once it is saved.

import { currencyDigits } from "./currency.js";

const basis = document.getElementById("pay.basis");
const hourly = document.getElementById("pay.hourly");
const number = (text) => Number.parseFloat(text.replace(",", ".")) || 0;
const currency = document.getElementById("pay.currency");

function textOf(amount) {
  const digits = currencyDigits(currency.value);
  return amount.toLocaleString(document.documentElement.lang, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function reckon() {
  for (const output of document.querySelectorAll("output[data-seconds]")) {
    const amount = number(document.getElementById(output.htmlFor[0]).value);
    const hour = (seconds) => {
      if (basis.value === "hour") return number(hourly.value);
      return basis.value === "item" ? (amount * 3600) / seconds : 0;
    };
    const { seconds, least, most } = output.dataset;
    output.querySelector("b").textContent = textOf(hour(Number(seconds)));
    output.querySelector(".hint").textContent = `${textOf(hour(Number(most)))} – ${textOf(hour(Number(least)))}`;
  }
}

document.getElementById("step").addEventListener("input", reckon);
