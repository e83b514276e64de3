/** Forgets a suite that somebody put together. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { Confirm } from "../parts/Dialog";
import { suitesQuery } from "./queries";

export function DeleteSuite({ name, onDeleted }: { name: string; onDeleted: () => void }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const forget = useMutation({
    mutationFn: () => answer(api.DELETE("/v1/evaluations/suites/{name}", { params: { path: { name } } })),
    onSuccess: async () => {
      setAsking(false);
      onDeleted();
      await client.invalidateQueries({ queryKey: suitesQuery.queryKey });
    },
  });
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Delete the suite
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title={`Delete the suite ${name}?`}
        text="It goes for everybody. What was measured on it stays."
        action="Delete it"
        keep="Keep it"
        busy={forget.isPending}
        error={forget.error}
        onConfirm={() => forget.mutate()}
      />
    </>
  );
}
