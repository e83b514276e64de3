/** The frame of a page: its title line and its content. The browser's tab and history name it too. */

import { useEffect, type ReactNode } from "react";

export function Page({
  title,
  beside,
  actions,
  children,
}: {
  title: string;
  beside?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Deskhand`;
    return () => {
      document.title = "Deskhand";
    };
  }, [title]);
  return (
    <main className="mx-auto flex w-full max-w-[90rem] min-w-0 flex-1 flex-col gap-3 px-3 pt-3 pb-20 sm:px-5 sm:pb-6">
      <header className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 text-lg font-semibold tracking-tight break-words">{title}</h1>
        {beside}
        {actions ? (
          <div className="ml-auto flex flex-wrap items-center justify-end gap-2">{actions}</div>
        ) : null}
      </header>
      {children}
    </main>
  );
}

export function Panel({
  title,
  beside,
  children,
  className = "",
}: {
  title?: ReactNode;
  beside?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`panel min-w-0 ${className}`}>
      {title ? (
        <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-3 py-1.5">
          <h2 className="panel-title">{title}</h2>
          {beside}
        </div>
      ) : null}
      {children}
    </section>
  );
}
