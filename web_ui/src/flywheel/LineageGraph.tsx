/** Where a policy or a dataset comes from, drawn: what it came of stands to its right. */

import { Link } from "@tanstack/react-router";

import type { Lineage } from "../api/words";
import { count, counted } from "../format/numbers";
import { usePolicyNames } from "../parts/PolicyName";
import { layout, type Node } from "./layout";

type Names = ReadonlyMap<string, string>;

const BOX = { width: 196, height: 48, gapX: 56, gapY: 16 };
const COLOUR = { policy: "var(--accent)", dataset: "var(--good)", trajectories: "var(--muted)" } as const;

export function LineageGraph({ root }: { root: Lineage }) {
  const names = usePolicyNames();
  const graph = layout(root);
  const places = new Map(graph.nodes.map((node) => [node.id, placeOf(node)]));
  const width = graph.columns * (BOX.width + BOX.gapX) - BOX.gapX + 2;
  const height = graph.rows * (BOX.height + BOX.gapY) - BOX.gapY + 2;
  return (
    <div className="flex flex-col gap-2 p-3">
      <div className="overflow-x-auto" tabIndex={0} role="group" aria-label={`Lineage of ${nameOf(root, names)}`}>
        <svg
          width={width}
          height={height}
          viewBox={`-1 -1 ${width} ${height}`}
          aria-hidden
          data-testid="lineage"
        >
          {graph.edges.map((edge) => {
            const [from, to] = [places.get(edge.from), places.get(edge.to)];
            if (!from || !to) return null;
            const [x1, y1, x2, y2] = [
              to.x + BOX.width,
              to.y + BOX.height / 2,
              from.x,
              from.y + BOX.height / 2,
            ];
            const bend = (x1 + x2) / 2;
            return (
              <path
                key={`${edge.from} ${edge.to}`}
                d={`M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`}
                fill="none"
                stroke="var(--faint)"
                strokeWidth="1.5"
              >
                <title>{edge.relation}</title>
              </path>
            );
          })}
          {graph.nodes.map((node) => (
            <Box key={node.id} node={node} names={names} />
          ))}
        </svg>
      </div>
      <details>
        <summary className="cursor-pointer text-muted">As a list</summary>
        <ul className="mt-2">
          <Branch lineage={{ ...root, relation: "" }} names={names} />
        </ul>
      </details>
    </div>
  );
}

function placeOf(node: Node) {
  return { x: node.column * (BOX.width + BOX.gapX), y: node.row * (BOX.height + BOX.gapY) };
}

function Box({ node, names }: { node: Node; names: Names }) {
  const { x, y } = placeOf(node);
  const { lineage } = node;
  return (
    <g transform={`translate(${x} ${y})`} opacity={lineage.kept ? 1 : 0.65}>
      <title>{`${nameOf(lineage, names)}: ${aboutOf(lineage, names)}`}</title>
      <rect
        width={BOX.width}
        height={BOX.height}
        rx="6"
        fill="var(--surface)"
        stroke={COLOUR[lineage.kind]}
        strokeDasharray={lineage.kept ? undefined : "4 3"}
      />
      <text x="10" y="20" fontSize="12" fontWeight="600" fill="var(--ink)">
        {short(nameOf(lineage, names), 27)}
      </text>
      <text x="10" y="37" fontSize="11" fill="var(--muted)">
        {short(aboutOf(lineage, names), 32)}
      </text>
    </g>
  );
}

function Branch({ lineage, names }: { lineage: Lineage; names: Names }) {
  return (
    <li className="border-l border-line pl-3">
      <span className="text-muted">{lineage.relation ? `${lineage.relation}: ` : ""}</span>
      {lineage.kind === "policy" && lineage.kept ? (
        <Link className="link" to="/flywheel" search={{ policy: lineage.name }}>
          {nameOf(lineage, names)}
        </Link>
      ) : lineage.kind === "dataset" && lineage.kept ? (
        <Link className="link" to="/flywheel" search={{ dataset: lineage.name }}>
          {lineage.name}
        </Link>
      ) : (
        <span>{nameOf(lineage, names)}</span>
      )}{" "}
      <span className="text-muted">{aboutOf(lineage, names)}</span>
      {lineage.sources.length > 0 ? (
        <ul className="pl-2">
          {lineage.sources.map((source, at) => (
            <Branch key={at} lineage={source} names={names} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}

/** Episodes go by the name of the policy that played them. */
function nameOf({ kind, name }: Lineage, names: Names): string {
  return kind === "dataset" ? name : (names.get(name) ?? name);
}

function aboutOf({ kind, name, details, kept, above, cut, relation }: Lineage, names: Names): string {
  if (!kept) return `${kind}, not in the store`;
  if (kind === "trajectories") {
    return `${counted(Number(details.trajectories), "episode")}, ${count(Number(details.successes))} succeeded`;
  }
  const said = [kind === "dataset" ? `dataset, ${counted(Number(details.trajectories), "episode")}` : "policy"];
  if (kind === "policy" && names.has(name)) said[0] = name;
  else if (typeof details.run === "string") said.push(details.run);
  if (above) said.push("drawn above");
  if (cut) said.push("goes on in its own lineage");
  return relation && said[0] === "policy" && said.length === 1 ? `policy, ${relation}` : said.join(", ");
}

function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
