/** The mark: a screen and the hand on it. */
export function Mark({ size = 18 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden className="shrink-0 text-accent">
      <rect
        x="0.8"
        y="2"
        width="14.4"
        height="11"
        rx="2"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
      />
      <path d="M6 5.2l5.6 2.3-2.3.9-.9 2.4z" fill="currentColor" />
    </svg>
  );
}
