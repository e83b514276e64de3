/** Views: filters under a name. Choosing one shows it; the filters in force can be kept as another. */

import { useState } from "react";

import type { TrajectoryFilter } from "../api/queries";
import { Confirm, Dialog } from "../parts/Dialog";
import { keepViews, loadViews, same, withView, type View } from "./views";

export function SavedViews({
  filter,
  onChoose,
}: {
  filter: TrajectoryFilter;
  onChoose: (filter: TrajectoryFilter) => void;
}) {
  const [views, setViews] = useState(loadViews);
  const [asking, setAsking] = useState(false);
  const [forgetting, setForgetting] = useState(false);
  const shown = views.find((view) => same(view.filter, filter));
  const keep = (next: View[]) => {
    keepViews(next);
    setViews(next);
  };
  const filtered = Object.keys(filter).length > 0;
  if (views.length === 0 && !filtered) return null;
  return (
    <>
      {views.length === 0 ? null : (
        <select
          aria-label="Saved view"
          className="field sm:w-40"
          value={shown?.name ?? ""}
          onChange={(event) => onChoose(views.find((view) => view.name === event.target.value)?.filter ?? {})}
        >
          <option value="">{filtered ? "No saved view" : "Every trajectory"}</option>
          {views.map((view) => (
            <option key={view.name} value={view.name}>
              {view.name}
            </option>
          ))}
        </select>
      )}
      {shown ? (
        <button
          type="button"
          className="button"
          onClick={() => setForgetting(true)}
          aria-label={`Forget the view ${shown.name}`}
        >
          Forget view
        </button>
      ) : filtered ? (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          Save view
        </button>
      ) : null}
      <Confirm
        open={forgetting}
        onOpen={setForgetting}
        title={`Forget the view ${shown?.name ?? ""}?`}
        text="The name and its filters leave this browser. No trajectory is touched, and the filters stay in force."
        action="Forget it"
        keep="Keep it"
        busy={false}
        error={null}
        onConfirm={() => {
          keep(views.filter((view) => view !== shown));
          setForgetting(false);
        }}
      />
      <Dialog open={asking} onOpen={setAsking} title="Save view">
        <NameForm
          taken={views.map((view) => view.name)}
          onName={(name) => {
            keep(withView(views, { name, filter }));
            setAsking(false);
          }}
        />
      </Dialog>
    </>
  );
}

function NameForm({ taken, onName }: { taken: string[]; onName: (name: string) => void }) {
  const [name, setName] = useState("");
  const told = name.trim();
  return (
    <form
      className="grid gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (told !== "") onName(told);
      }}
    >
      <label className="grid gap-1">
        <span className="label">Name</span>
        <input
          className="field"
          maxLength={60}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <p className="text-muted">
        {taken.includes(told)
          ? "There is a view of this name: it will be replaced."
          : "The filters in force are kept under this name in this browser."}
      </p>
      <div className="flex justify-end">
        <button type="submit" className="button button-main" disabled={told === ""}>
          Save
        </button>
      </div>
    </form>
  );
}
