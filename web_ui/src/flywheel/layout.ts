/** Where the nodes of a lineage stand: in columns by how far from its root, sources to the right. Pure. */

import type { Lineage } from "../api/words";

export interface Node {
  id: string;
  lineage: Lineage;
  column: number;
  row: number;
}

export interface Edge {
  from: string;
  to: string;
  relation: string;
}

export interface Graph {
  nodes: readonly Node[];
  edges: readonly Edge[];
  columns: number;
  rows: number;
}

/**
 * A tree in which "drawn above" stands for a node met before becomes a graph: such a node is drawn once, and
 * each node stands one column right of the farthest node it is a source of.
 */
export function layout(root: Lineage): Graph {
  const found = new Map<string, Lineage>();
  const edges: Edge[] = [];
  visit(root, "", found, edges);
  const columns = new Map<string, number>();
  place(idOf(root, ""), edges, columns, 0, new Set());
  const used = new Map<number, number>();
  const nodes = [...found].map(([id, lineage]) => {
    const column = columns.get(id) ?? 0;
    const row = used.get(column) ?? 0;
    used.set(column, row + 1);
    return { id, lineage, column, row };
  });
  return { nodes, edges, columns: Math.max(...used.keys()) + 1, rows: Math.max(...used.values()) };
}

function visit(lineage: Lineage, above: string, found: Map<string, Lineage>, edges: Edge[]): string {
  const id = idOf(lineage, above);
  const known = found.get(id);
  if (known === undefined || known.above || known.cut) found.set(id, lineage);
  for (const source of lineage.sources) {
    const from = visit(source, id, found, edges);
    if (!edges.some((edge) => edge.from === from && edge.to === id)) {
      edges.push({ from, to: id, relation: source.relation });
    }
  }
  return id;
}

/** Trajectories are those of one dataset or run: another node's are others. */
function idOf(lineage: Lineage, above: string): string {
  return lineage.kind === "trajectories"
    ? `${above} > ${lineage.relation} ${lineage.name}`
    : `${lineage.kind} ${lineage.name}`;
}

function place(
  id: string,
  edges: readonly Edge[],
  columns: Map<string, number>,
  column: number,
  path: Set<string>,
) {
  if (path.has(id) || (columns.get(id) ?? -1) >= column) return;
  columns.set(id, column);
  path.add(id);
  for (const edge of edges) {
    if (edge.to === id) place(edge.from, edges, columns, column + 1, path);
  }
  path.delete(id);
}
