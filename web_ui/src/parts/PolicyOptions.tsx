/** The options of a select among policies. */

import type { Policy } from "../api/words";
import { acting, policyLine, SHIPPED } from "./policies";

export function PolicyOptions({
  policies,
  shipped = false,
}: {
  policies: readonly Policy[] | undefined;
  /** Also the model that comes with Deskhand, whether or not it was used before. */
  shipped?: boolean;
}) {
  return (
    <>
      {shipped ? <option value={SHIPPED}>{SHIPPED}, the model that comes with Deskhand</option> : null}
      {acting(policies ?? []).map((one) => (
        <option key={one.id} value={one.id}>
          {policyLine(one)}
        </option>
      ))}
    </>
  );
}
