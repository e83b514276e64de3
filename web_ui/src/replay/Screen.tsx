/** The screenshot of a step, grown to the room there is, with the actions drawn on it. */

import { useState, type ReactNode } from "react";

import type { ImageRef } from "../api/words";
import { Trouble } from "../parts/Notice";
import { useBox } from "../parts/useBox";
import { fitScale, type Mark } from "./marks";
import { Overlay } from "./Overlay";

export type Zoom = "fit" | 1 | 2 | 3 | 4;

export function Screen({
  image,
  marks,
  zoom,
  pixelated,
  alt,
  over,
}: {
  image: ImageRef;
  marks: readonly Mark[];
  zoom: Zoom;
  pixelated: boolean;
  alt: string;
  /** Lies over the picture, as large as it is shown. */
  over?: ReactNode;
}) {
  const [box, ref] = useBox({ width: 320, height: 420 });
  const [failed, setFailed] = useState<string | null>(null);
  const size = { width: image.width_px, height: image.height_px };
  const scale = zoom === "fit" ? fitScale(size, box) : zoom;
  return (
    <div ref={ref} className="grid min-h-0 min-w-0 flex-1 place-items-center overflow-auto">
      <div
        className="relative m-auto shrink-0 shadow-[0_0_0_1px_var(--line)]"
        style={{ width: size.width * scale, height: size.height * scale }}
      >
        {failed === image.url ? (
          <div className="absolute inset-0 z-10 grid place-items-center bg-raised">
            <Trouble error={new Error("The picture cannot be fetched.")} again={() => setFailed(null)} />
          </div>
        ) : (
          <img
            src={image.url}
            alt={alt}
            width={size.width * scale}
            height={size.height * scale}
            className={`block max-w-none bg-raised ${pixelated ? "[image-rendering:pixelated]" : ""}`}
            onError={() => setFailed(image.url)}
          />
        )}
        <Overlay marks={marks} width={size.width} height={size.height} scale={scale} />
        {over}
      </div>
    </div>
  );
}
