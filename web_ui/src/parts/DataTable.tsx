/** A table of few rows. Long lists are virtualised where they stand. */

import {
  tableFeatures,
  useTable,
  createColumnHelper,
  type ColumnDef,
  type RowData,
} from "@tanstack/react-table";

interface Look {
  /** Classes of the column's cells: alignment, and from which width it is shown. */
  className?: string;
}

const look: Look = {};
export const features = tableFeatures({ columnMeta: look });

export type Columns<Row extends RowData> = ColumnDef<typeof features, Row>[];

export function columnsOf<Row extends RowData>() {
  return createColumnHelper<typeof features, Row>();
}

export function DataTable<Row extends RowData>({
  label,
  columns,
  rows,
  rowId,
  onRow,
}: {
  label: string;
  columns: Columns<Row>;
  rows: Row[];
  rowId: (row: Row) => string;
  /** Opens a row. Its first cell holds the real link; this makes the rest of the row a larger target. */
  onRow?: (row: Row) => void;
}) {
  const table = useTable({ features, columns, data: rows, getRowId: rowId });
  return (
    <div className="relative overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-left">
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="border-b border-line">
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  scope="col"
                  className={`h-8 px-3 text-xs font-medium whitespace-nowrap text-muted ${header.column.columnDef.meta?.className ?? ""}`}
                >
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              onClick={onRow ? () => onRow(row.original) : undefined}
              className={`border-b border-line last:border-0 ${onRow ? "cursor-pointer hover:bg-raised" : ""}`}
            >
              {row.getAllCells().map((cell) => (
                <td key={cell.id} className={`h-9 px-3 py-1 ${cell.column.columnDef.meta?.className ?? ""}`}>
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
