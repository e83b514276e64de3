/** What is offered to those alone who may do it. */

import type { ReactNode } from "react";

import { useMay } from "./access";

export function May({
  scope,
  otherwise = null,
  children,
}: {
  /** The scope that the server asks for. */
  scope: string;
  /** What the others see; nothing until it is known who reads. */
  otherwise?: ReactNode;
  children: ReactNode;
}) {
  const allowed = useMay()(scope);
  return allowed === undefined ? null : allowed ? children : otherwise;
}
