/** What a replay asks for at once: its first picture waits for neither the page's code nor the episode's head. */

import { STEPS_A_PAGE, stepsQuery, trajectoryQuery } from "../api/queries";
import { queryClient } from "../shell/session";
import { pagesOf } from "./pages";
import type { PlaceSearch } from "./place";

/** Steps loaded around the one that is shown: going on finds them there, and so does looking back for the pointer. */
export const AROUND = 15;

export function askAhead(id: string, { step = 0 }: PlaceSearch): void {
  queryClient.query(trajectoryQuery(id)).catch(leave);
  if (step === "end") return; // the head tells where that is
  for (const page of pagesOf([[step - AROUND, step + AROUND]], Infinity, STEPS_A_PAGE))
    queryClient.query(stepsQuery(id, page, Infinity)).catch(leave);
}

/** The page asks again, and says what is wrong. */
function leave(): void {}
