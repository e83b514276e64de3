/** A sandbox's screen as it changes: by noVNC where its kind serves that, as pictures until then and elsewhere. */

import { useState } from "react";

import type { LiveSandbox } from "../api/words";
import { Pointing } from "../parts/Pointing";
import { useBox } from "../parts/useBox";
import { fitScale } from "../replay/marks";
import type { Steering } from "./useSteering";
import { usePictures } from "./usePictures";
import { useVnc, type Size } from "./useVnc";

const LABEL = "The screen, live";

export function LiveScreen({
  one,
  answering,
  steering,
}: {
  one: LiveSandbox;
  /** What is asked of it beside its pictures is answered. */
  answering: boolean;
  steering: Steering | null;
}) {
  const [box, room] = useBox({ width: 320, height: 420 });
  const [pictured, setPictured] = useState<Size | null>(null);
  const pictures = usePictures(one.id, answering);
  const [screen, drawn] = useVnc(one.id, one.vnc && one.task_id !== null);
  const size = drawn ?? pictured;
  const scale = size === null ? 1 : fitScale(size, box);
  return (
    <div
      ref={room}
      className="grid h-[27.5rem] min-w-0 place-items-center overflow-hidden bg-raised/60 lg:h-[max(27.5rem,calc(100dvh-10rem))]"
    >
      <div
        className="relative"
        style={size === null ? undefined : { width: size.width * scale, height: size.height * scale }}
      >
        {drawn === null ? (
          <img
            src={pictures.src}
            alt={LABEL}
            className="block size-full"
            onError={pictures.failed}
            onLoad={(event) => {
              pictures.shown();
              const { naturalWidth: width, naturalHeight: height } = event.currentTarget;
              if (width > 0 && (pictured?.width !== width || pictured.height !== height))
                setPictured({ width, height });
            }}
          />
        ) : null}
        {one.vnc ? (
          <div
            ref={screen}
            role="img"
            aria-label={LABEL}
            // noVNC takes touches for itself even where it sends nothing: the page is to scroll
            className={`pointer-events-none absolute inset-0 ${drawn === null ? "invisible" : ""}`}
          />
        ) : null}
        {steering && size ? (
          <Pointing
            size={size}
            label="The screen: what you do here is done there; Shift and Escape leave it"
            keys
            onGesture={steering.act}
          />
        ) : null}
      </div>
    </div>
  );
}
