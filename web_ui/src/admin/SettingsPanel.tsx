/** The settings in force; what is not the default stands out. */

import { useQuery } from "@tanstack/react-query";

import { settingsQuery } from "../api/queries";
import type { Setting } from "../api/words";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";

const column = columnsOf<Setting>();
const columns = column.columns([
  column.display({
    id: "name",
    header: "Setting",
    cell: ({ row }) => <span className="font-mono text-xs break-all">{row.original.name}</span>,
  }),
  column.display({
    id: "value",
    header: "Value",
    cell: ({ row: { original: setting } }) => (
      <span className={`font-mono text-xs break-all ${setting.changed ? "font-semibold" : "text-muted"}`}>
        {typeof setting.value === "string" ? setting.value : JSON.stringify(setting.value)}
      </span>
    ),
  }),
]);

export function SettingsPanel() {
  const settings = useQuery(settingsQuery);
  return (
    <Panel
      title="Settings in force"
      beside={<span className="text-xs text-muted">bold: not the default; secrets are hidden</span>}
    >
      {settings.isLoadingError ? (
        <Failed error={settings.error} again={() => void settings.refetch()} />
      ) : settings.isPending ? (
        <Loading rows={8} label="Loading settings" />
      ) : (
        <DataTable label="Settings" columns={columns} rows={settings.data} rowId={(row) => row.name} />
      )}
    </Panel>
  );
}
