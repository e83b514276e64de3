/** What the form of a new round keeps in its address: the preset chosen, or the round that it is to be like. */

export interface NewRoundSearch {
  preset?: string | undefined;
  from?: number | undefined;
}

export function readNewRound(search: Record<string, unknown>): NewRoundSearch {
  const { preset, from } = search;
  return {
    ...(typeof preset === "string" && preset !== "" ? { preset } : {}),
    ...(typeof from === "number" && Number.isSafeInteger(from) && from > 0 ? { from } : {}),
  };
}
