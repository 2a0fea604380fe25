// Practice: the single keys of a task page, on pages that are loaded one by one.

import "./tasks/captions.js";
import { listen, showSwitch } from "./tasks/keys.js";
import { initialise } from "./tasks/swap.js";

const task = document.querySelector("[data-task]");
showSwitch(task);
initialise(task);
listen(() => true);
