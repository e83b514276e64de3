/** The address of a sandbox's screen as pictures: another one whenever they have to be asked for anew. */

import { useEffect, useRef, useState } from "react";

import { Reopening } from "./reopening";

/** `answering`: whether the platform answers what else the page asks of the sandbox. */
export function usePictures(id: string, answering: boolean) {
  const [opened, setOpened] = useState(0);
  const [reopening] = useState(() => new Reopening(() => setOpened((before) => before + 1)));
  const answered = useRef(answering);
  useEffect(() => reopening.watch(), [reopening]);
  useEffect(() => {
    if (answering && !answered.current) reopening.now();
    answered.current = answering;
  }, [answering, reopening]);
  const src = `/v1/sandboxes/${id}/screen.mjpeg?opened=${opened}`;
  return { src, shown: reopening.shown, failed: reopening.failed } as const;
}
