// The time worked: what lies between two things that somebody did, where it is no pause of more than `idle`
// milliseconds.

const ACTS = ["pointermove", "pointerdown", "keydown", "wheel", "scroll"];

export class Clock {
  constructor(idle, now = () => performance.now()) {
    Object.assign(this, { idle, now, worked: 0, last: now(), busy: true });
  }

  // Hear of all that is done on the page; `acted` is told each time.
  listen(acted = () => {}) {
    const act = () => {
      this.act();
      acted();
    };
    for (const name of ACTS) addEventListener(name, act, { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.act();
      else this.last = this.now();
    });
  }

  act() {
    const now = this.now();
    if (now - this.last <= this.idle) this.worked += now - this.last;
    this.last = now;
    this.busy = true;
  }

  // Seconds worked on what is shown, as of now.
  seconds() {
    this.act();
    return Math.round(this.worked / 100) / 10;
  }

  // Another question is shown, on which `seconds` were spent before.
  begin(seconds = 0) {
    this.worked = 1000 * seconds;
    this.last = this.now();
  }

  // Whether somebody did something since this was asked last.
  wasBusy() {
    const busy = this.busy;
    this.busy = false;
    return busy;
  }
}
