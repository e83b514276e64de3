/** A text of any length that a model or a person wrote: a long one scrolls in its own place, by keys too. */

/** Characters, or lines, from which on a text may need to scroll. */
const LONG = { characters: 200, lines: 4 };

export function LongText({
  text,
  className = "",
  testId,
}: {
  text: string;
  /** `max-h-…` other than that of six lines, and how it looks. */
  className?: string;
  testId?: string;
}) {
  const long = text.length > LONG.characters || text.split("\n").length > LONG.lines;
  return (
    <p
      tabIndex={long ? 0 : undefined}
      className={`overflow-y-auto break-words whitespace-pre-wrap ${className.includes("max-h-") ? "" : "max-h-32"} ${className}`}
      data-testid={testId}
    >
      {text}
    </p>
  );
}
