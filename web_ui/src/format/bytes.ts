/** Sizes as an operator reads them: powers of 1000, three digits: "1.23 GB". */
export function bytes(size: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, size)) / 3)));
  const value = size / 1000 ** step;
  return `${step === 0 ? value : Number(value.toPrecision(3))} ${units[step]}`;
}
