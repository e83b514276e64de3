/** A policy by the run that made it; its id on hover, and where nothing else is known of it. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { policiesQuery } from "../api/queries";
import { useMay } from "../shell/access";
import { namesOf, told } from "./policies";

/** Names by id: none for those who may not see policies. */
export function usePolicyNames(): ReadonlyMap<string, string> {
  const may = useMay()("policies:read");
  const { data } = useQuery({ ...policiesQuery, enabled: may === true });
  return useMemo(() => namesOf(data ?? []), [data]);
}

export function PolicyName({ id }: { id: string }) {
  return <span title={id}>{usePolicyNames().get(id) ?? id}</span>;
}

/** What the server wrote, with its policies by their names. */
export function Told({ text }: { text: string }) {
  return <>{told(text, usePolicyNames())}</>;
}
