/** Actions of a person's, handed over one after the other, and what became of each. */

const KEPT = 50;

export interface Done {
  number: number;
  reply: string;
  state: "waiting" | "sent" | "refused";
  /** Why it was refused: that stays with it, whatever comes after. */
  error: unknown;
}

export class Handing {
  #count = 0;
  #chain: Promise<void> = Promise.resolve();
  #done: readonly Done[] = [];
  readonly #tell: (done: readonly Done[]) => void;

  /** `tell` is told of all of them, the newest first. */
  constructor(tell: (done: readonly Done[]) => void) {
    this.#tell = tell;
  }

  readonly add = (reply: string, send: () => Promise<void>): void => {
    const number = this.#count;
    this.#count += 1;
    this.#now([{ number, reply, state: "waiting" as const, error: null }, ...this.#done].slice(0, KEPT));
    this.#chain = this.#chain.then(async () => {
      try {
        await send();
        this.#ended(number, { state: "sent" });
      } catch (error) {
        this.#ended(number, { state: "refused", error });
      }
    });
  };

  /** Until everything that was added is handed over. */
  readonly settled = (): Promise<void> => this.#chain;

  #ended(number: number, change: Partial<Done>): void {
    this.#now(this.#done.map((each) => (each.number === number ? { ...each, ...change } : each)));
  }

  #now(done: readonly Done[]): void {
    this.#done = done;
    this.#tell(done);
  }
}
