/** A stream of pictures in an `<img>` that ended: a browser tells little of it, and leaves the last one there. */

/** After a failure; by then the page knows whether the sandbox was given back. */
const AGAIN_MS = 1500;
const SELDOM_MS = 30_000;

export class Reopening {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  readonly #open: () => void;

  constructor(open: () => void) {
    this.#open = open;
  }

  readonly now = (): void => {
    clearTimeout(this.#timer);
    this.#open();
  };

  /** Again after a while, and a longer one each time that fails too. */
  readonly failed = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#open, Math.min(AGAIN_MS * 2 ** this.#failures, SELDOM_MS));
    this.#failures += 1;
  };

  readonly shown = (): void => {
    this.#failures = 0;
  };

  /** Opens it after what may have ended it untold: no network for a while, or a page nobody looked at. */
  readonly watch = (): (() => void) => {
    const seen = () => {
      if (document.visibilityState === "visible") this.now();
    };
    window.addEventListener("online", this.now);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearTimeout(this.#timer);
      window.removeEventListener("online", this.now);
      document.removeEventListener("visibilitychange", seen);
    };
  };
}
