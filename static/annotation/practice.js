// Practice: the single keys of a task page, on pages that are loaded one by one.

import "./tasks/captions.js";
import { listen, showSwitch } from "./tasks/keys.js";
import { furnish } from "./tasks/swap.js";

const desk = document.querySelector("[data-desk]");
showSwitch(desk);
furnish(desk);
listen(() => true);
