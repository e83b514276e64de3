/** What the reader may do. The server decides: this only keeps the page from offering what it would refuse. */

import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";

import { infoQuery } from "../api/queries";

/** Whether the reader has a scope; undefined until that is known. */
export function useMay(): (scope: string) => boolean | undefined {
  const { data } = useQuery(infoQuery);
  return useCallback((scope: string) => data?.scopes.includes(scope), [data]);
}
