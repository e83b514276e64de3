/** The whole episodes of a list as an archive; a browser that saves an answer shows nothing of a refusal. */

import { useMutation } from "@tanstack/react-query";

import { exportAddress, exportBegins, type TrajectoryFilter } from "../api/queries";
import { Trouble } from "../parts/Notice";

export function Download({ filter }: { filter: TrajectoryFilter }) {
  const address = exportAddress(filter);
  const asked = useMutation({
    mutationFn: () => exportBegins(filter),
    onSuccess: () => Object.assign(document.createElement("a"), { href: address, download: "" }).click(),
  });
  return (
    <>
      <Trouble error={asked.error} />
      <a
        className="button"
        href={address}
        download
        aria-busy={asked.isPending}
        title="The whole episodes of this list, with pictures and scores, as Parquet files in a tar archive"
        onClick={(event) => {
          event.preventDefault();
          if (!asked.isPending) asked.mutate();
        }}
      >
        {asked.isPending ? "Asking…" : "Download"}
      </a>
    </>
  );
}
