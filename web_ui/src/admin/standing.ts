/** Whether a token opens anything, in words. */

import type { Token } from "../api/words";
import { zoned } from "../format/times";

export function standing(
  token: Pick<Token, "revoked_at_s" | "expires_at_s">,
  nowS = Date.now() / 1000,
): string {
  if (token.revoked_at_s !== null) return "nothing: revoked";
  if (token.expires_at_s === null) return "until revoked";
  return token.expires_at_s <= nowS ? "nothing: expired" : `until ${zoned(token.expires_at_s)}`;
}
