/** A policy by the run that made it; its id on hover, and where nothing else is known of it. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { policiesQuery } from "../api/queries";
import { useMay } from "../shell/access";
import { namesOf, told } from "./policies";

/** Names by id: none for those who may not see policies. `of`: who has to be among them, were they kept just now. */
export function usePolicyNames(of?: string): ReadonlyMap<string, string> {
  const may = useMay()("policies:read");
  const listed = useQueryClient().getQueryData(policiesQuery.queryKey);
  const fresh = of?.startsWith("policy-") === true && listed?.every((one) => one.id !== of) === true;
  const { data } = useQuery({
    ...policiesQuery,
    enabled: may === true,
    ...(fresh ? { staleTime: 1000 } : {}),
  });
  return useMemo(() => namesOf(data ?? []), [data]);
}

export function PolicyName({ id }: { id: string }) {
  return <span title={id}>{usePolicyNames(id).get(id) ?? id}</span>;
}

/** What the server wrote, with its policies by their names. */
export function Told({ text }: { text: string }) {
  return <>{told(text, usePolicyNames())}</>;
}
