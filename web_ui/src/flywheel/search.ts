/** What the flywheel page keeps in its address: the dataset or policy whose origin is drawn. */

export interface FlywheelSearch {
  /** NAME@VERSION. */
  dataset?: string | undefined;
  policy?: string | undefined;
}

export function readFlywheelSearch(search: Record<string, unknown>): FlywheelSearch {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const dataset = text(search.dataset);
  const policy = text(search.policy);
  return { ...(dataset ? { dataset } : {}), ...(policy && !dataset ? { policy } : {}) };
}
