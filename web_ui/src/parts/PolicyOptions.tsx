/** The options of a select among kept policies. */

import type { Policy } from "../api/words";
import { acting, policyLine } from "./policies";

export function PolicyOptions({ policies }: { policies: readonly Policy[] | undefined }) {
  return acting(policies ?? []).map((one) => (
    <option key={one.id} value={one.id}>
      {policyLine(one)}
    </option>
  ));
}
