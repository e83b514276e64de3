/** The last screen of an episode, small: fetched once its row is on the screen, and kept by the browser. */

import { useState } from "react";

import type { TrajectorySummary } from "../api/words";

export function Thumbnail({ trajectory }: { trajectory: TrajectorySummary }) {
  const image = trajectory.last_image;
  const [failed, setFailed] = useState(false);
  if (image === null || failed)
    return <span aria-hidden className="block h-7 w-11 shrink-0 rounded-sm bg-raised" />;
  return (
    <img
      src={`${image.url}?width=80`}
      alt=""
      width={44}
      height={28}
      loading="lazy"
      decoding="async"
      className="h-7 w-11 shrink-0 rounded-sm bg-raised object-cover object-top"
      onError={() => setFailed(true)}
    />
  );
}
