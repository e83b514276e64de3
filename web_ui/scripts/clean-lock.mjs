// Takes every address out of package-lock.json: `npm ci` asks whichever registry the machine is set up for.
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
