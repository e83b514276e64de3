/**
 * The address that `deskhand serve` prints carries the token behind its `#`, a part that browsers keep to
 * themselves. Imported before the router: the token is out of the address bar before anything else reads it.
 */

import { signIn } from "./session";

const TOKEN = /^#token=(.+)$/;
const found = TOKEN.exec(window.location.hash)?.[1];
if (found !== undefined) {
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
}

/** Why the token of the address did not open the page; null when it did, or when there was none. */
let refused: unknown = null;

export function entryRefused(): unknown {
  return refused;
}

/** Signs in with the address's token, if it had one. */
export async function enter(): Promise<void> {
  if (found === undefined) return;
  try {
    await signIn({ token: found });
  } catch (error) {
    refused = error;
  }
}
