// Fails the build when the page's scripts, gzipped, outgrow their budget.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 400;
const LATER = /^rfb-/; // noVNC: loaded only where a live desktop is looked at
const folder = "../platform/deskhand_platform/static/assets";
const bytes = readdirSync(folder)
  .filter((name) => name.endsWith(".js") && !LATER.test(name))
  .map((name) => gzipSync(readFileSync(join(folder, name))).length)
  .reduce((sum, size) => sum + size, 0);
const kilobytes = bytes / 1024;
console.log(`scripts: ${kilobytes.toFixed(1)} kB gzip of ${BUDGET_KB}`);
if (kilobytes > BUDGET_KB) {
  console.error("the page's scripts outgrew their budget: load the new part lazily or drop a dependency");
  process.exit(1);
}
