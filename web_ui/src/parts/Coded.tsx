/** Text in which what stands between backticks is code. */
export function Coded({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <code key={at} className="font-mono text-[0.92em]">
        {part}
      </code>
    ),
  );
}
