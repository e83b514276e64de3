/** Users, tokens, quotas, the audit log and the settings in force. */

import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { Page } from "../parts/Page";
import { AuditPanel } from "./AuditPanel";
import { QuotasPanel } from "./QuotasPanel";
import { PARTS, type Part } from "./search";
import { SettingsPanel } from "./SettingsPanel";
import { TokensPanel } from "./TokensPanel";
import { UsersPanel } from "./UsersPanel";

const LABELS: Record<Part, string> = {
  users: "Users",
  tokens: "Tokens",
  quotas: "Quotas",
  audit: "Audit",
  settings: "Settings",
};

const PANELS: Record<Part, ReactNode> = {
  users: <UsersPanel />,
  tokens: <TokensPanel owner="*" />,
  quotas: <QuotasPanel />,
  audit: <AuditPanel />,
  settings: <SettingsPanel />,
};

export function AdminPage() {
  const { part = "users" } = useSearch({ from: "/admin" });
  return (
    <Page title="Admin">
      <nav aria-label="Admin" className="flex gap-1 overflow-x-auto border-b border-line">
        {PARTS.map((one) => (
          <Link
            key={one}
            to="/admin"
            search={one === "users" ? {} : { part: one }}
            aria-current={one === part ? "page" : undefined}
            className={`-mb-px border-b-2 px-3 py-1.5 ${one === part ? "border-accent font-semibold" : "border-transparent text-muted hover:text-ink"}`}
          >
            {LABELS[one]}
          </Link>
        ))}
      </nav>
      {PANELS[part]}
    </Page>
  );
}
