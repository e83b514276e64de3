/** Draws marks over a screenshot. Sizes are of the screen, positions of the screenshot times `scale`. */

import type { ReactNode } from "react";

import { inside, keyCap, onScreen, scrollArrow, shownText, type Mark, type Point } from "./marks";

interface Props {
  marks: readonly Mark[];
  width: number;
  height: number;
  scale: number;
}

const RING = 13;

export function Overlay({ marks, width, height, scale }: Props) {
  const numbered = marks.length > 1;
  return (
    <div
      className="pointer-events-none absolute inset-0 text-[var(--mark)] [--halo:#fff] [--mark:#7a1fff]"
      data-testid="overlay"
    >
      <svg
        width={width * scale}
        height={height * scale}
        className="absolute inset-0 overflow-visible"
        aria-hidden
      >
        <defs>
          <marker
            id="tip"
            viewBox="0 0 10 10"
            refX="8"
            refY="5"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
            markerUnits="userSpaceOnUse"
          >
            <path d="M0 0L10 5L0 10z" fill="currentColor" />
          </marker>
        </defs>
        {marks.map((mark) => (
          <Shape key={mark.order} mark={mark} scale={scale} number={numbered ? mark.order + 1 : null} />
        ))}
      </svg>
      {tagGroups(marks, width, height).map((group) => (
        <div
          key={group.key}
          className="absolute flex max-w-[90%] flex-col items-start gap-1"
          style={tagPlace(group.at, width, height, scale)}
        >
          {group.tags}
        </div>
      ))}
    </div>
  );
}

function Shape({ mark, scale, number }: { mark: Mark; scale: number; number: number | null }) {
  switch (mark.kind) {
    case "click": {
      const { x, y } = onScreen(mark.at, scale);
      return (
        <g data-mark="click" data-x={mark.at.x} data-y={mark.at.y}>
          <Haloed>
            <circle
              cx={x}
              cy={y}
              r={RING}
              fill="none"
              strokeDasharray={mark.button === "right" ? "5 4" : undefined}
            />
            {mark.count > 1 || mark.long ? <circle cx={x} cy={y} r={RING + 5} fill="none" /> : null}
          </Haloed>
          <circle cx={x} cy={y} r={2.5} fill="currentColor" stroke="var(--halo)" strokeWidth={1} />
          <Order number={number} at={{ x: x + RING, y: y - RING }} />
        </g>
      );
    }
    case "hover": {
      const { x, y } = onScreen(mark.at, scale);
      return (
        <g data-mark="hover">
          <Haloed>
            <path d={`M${x - 8} ${y}h16M${x} ${y - 8}v16`} fill="none" />
          </Haloed>
          <Order number={number} at={{ x: x + 9, y: y - 9 }} />
        </g>
      );
    }
    case "path": {
      const on = mark.points.map((point) => onScreen(point, scale));
      const [start] = on;
      if (!start) return null;
      return (
        <g data-mark="path">
          <Haloed>
            <polyline
              points={on.map(({ x, y }) => `${x},${y}`).join(" ")}
              fill="none"
              strokeLinejoin="round"
              markerEnd="url(#tip)"
            />
          </Haloed>
          <circle cx={start.x} cy={start.y} r={5} fill="var(--halo)" stroke="currentColor" strokeWidth={2} />
          <Order number={number} at={{ x: start.x + 9, y: start.y - 9 }} />
        </g>
      );
    }
    case "scroll": {
      const { x, y } = onScreen(mark.at, scale);
      const sideways = Math.abs(mark.dx) > Math.abs(mark.dy);
      const way = Math.sign(sideways ? mark.dx : mark.dy) || 1;
      const d = sideways ? `M${x - way * 4} ${y}h${way * 30}` : `M${x} ${y - way * 4}v${way * 30}`;
      return (
        <g data-mark="scroll">
          <Haloed>
            <circle cx={x} cy={y} r={6} fill="none" />
            <path d={d} fill="none" markerEnd="url(#tip)" />
          </Haloed>
          <Order number={number} at={{ x: x + 9, y: y - 9 }} />
        </g>
      );
    }
    default:
      return null;
  }
}

/** Twice the same shape: a light outline under the coloured line keeps it visible on any page. */
function Haloed({ children }: { children: ReactNode }) {
  return (
    <>
      <g stroke="var(--halo)" strokeWidth={4.5} strokeOpacity={0.85}>
        {children}
      </g>
      <g stroke="currentColor" strokeWidth={2}>
        {children}
      </g>
    </>
  );
}

function Order({ number, at }: { number: number | null; at: Point }) {
  if (number === null) return null;
  return (
    <g>
      <circle cx={at.x} cy={at.y} r={7} fill="currentColor" />
      <text x={at.x} y={at.y + 3.5} textAnchor="middle" fontSize={10} fontWeight={700} fill="var(--halo)">
        {number}
      </text>
    </g>
  );
}

interface TagGroup {
  key: string;
  at: Point | null;
  tags: ReactNode[];
}

/** The parts of marks that are text, those of one place together so that they never cover each other. */
function tagGroups(marks: readonly Mark[], width: number, height: number): TagGroup[] {
  const groups = new Map<string, TagGroup>();
  for (const mark of marks) {
    const body = tagBody(mark, width, height);
    if (body === null) continue;
    const at = "at" in mark ? mark.at : null;
    const key = at === null ? "foot" : `${at.x} ${at.y}`;
    const group = groups.get(key) ?? { key, at, tags: [] };
    group.tags.push(
      <div key={mark.order} data-tag={mark.kind}>
        {body}
      </div>,
    );
    groups.set(key, group);
  }
  return [...groups.values()];
}

function tagBody(mark: Mark, width: number, height: number): ReactNode {
  switch (mark.kind) {
    case "text":
      return (
        <span className="inline-block rounded-sm border border-[var(--mark)] bg-white/95 px-1.5 py-0.5 font-mono text-xs break-all whitespace-pre-wrap text-black">
          {shownText(mark.text)}
          <span className="pulse ml-px text-[var(--mark)]">▏</span>
        </span>
      );
    case "keys":
      return (
        <span className="inline-flex items-center gap-1">
          {mark.keys.map((key, position) => (
            <kbd
              key={position}
              className="inline-flex h-6 min-w-6 items-center justify-center rounded border border-black/30 border-b-2 bg-white px-1.5 font-mono text-xs text-black"
            >
              {keyCap(key)}
            </kbd>
          ))}
          {mark.phase === "press" ? null : (
            <span className="rounded bg-white/90 px-1 text-xs text-black">{mark.phase}</span>
          )}
        </span>
      );
    case "scroll":
      return (
        <span className="rounded-sm bg-white/95 px-1 font-mono text-xs text-black">
          {scrollArrow(mark.dx, mark.dy)} {Math.max(Math.abs(mark.dx), Math.abs(mark.dy))} px
        </span>
      );
    case "click": {
      const words = [
        ...(mark.button === "left" ? [] : [mark.button]),
        ...(mark.count > 1 ? [`×${mark.count}`] : []),
        ...(mark.long ? ["long press"] : []),
        ...(inside(mark.at, width, height) ? [] : ["outside the screen"]),
      ];
      return words.length === 0 ? null : (
        <span className="rounded-sm bg-white/95 px-1 text-xs font-medium text-black">{words.join(" ")}</span>
      );
    }
    case "note":
      return (
        <span className="inline-block rounded-sm bg-black/75 px-1.5 py-0.5 font-mono text-xs break-all text-[var(--halo)]">
          {shownText(mark.text, 80)}
        </span>
      );
    default:
      return null;
  }
}

/** Beside the pointer, turned inwards near an edge; at the foot of the screen when there is no pointer. */
function tagPlace(at: Point | null, width: number, height: number, scale: number): React.CSSProperties {
  if (at === null) return { left: 6, bottom: 6 };
  const { x, y } = onScreen({ x: clamp(at.x, width), y: clamp(at.y, height) }, scale);
  const gap = RING + 6;
  const sideways =
    x > (width * scale) / 2
      ? { right: Math.max(width * scale - x - gap, 2) }
      : { left: Math.max(x - gap, 2) };
  const upright = y > height * scale * 0.75 ? { bottom: height * scale - y + gap } : { top: y + gap };
  return { ...sideways, ...upright };
}

function clamp(value: number, size: number): number {
  return Math.min(Math.max(value, 0), size - 1);
}
