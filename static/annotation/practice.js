// Practice: the single keys of a task page, on pages that are loaded one by one.

import { listen, showSwitch } from "./tasks/keys.js";

showSwitch(document.querySelector("[data-desk]"));
listen(() => true);
