// Runs the official conformance suite of the Model Context Protocol.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

// The agent that is the server, the program that is the client, and the lists of what cannot be met.
export const FIXTURE = join(process.env.REPOSITORY, "acceptance/fixtures/conformance");

const SUITE = join(process.env.PACKAGES, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

// Runs what a revision requires of a side, `server` or `client`. Returns what is not as the list says, or nothing.
export async function findSurprises(side, revision, ...words) {
  const list = join(FIXTURE, `${side}-${revision}.yaml`);
  const surprises = await run(side, "--requirements", revision, "--expected-failures", list, ...words);
  return surprises && `${revision}:\n${surprises}`;
}

// Runs one scenario of a side. Returns what failed, or nothing.
export function findFailures(side, scenario, ...words) {
  return run(side, "--scenario", scenario, ...words);
}

async function run(...words) {
  const env = { ...process.env, NO_COLOR: "1" };
  try {
    await promisify(execFile)(process.execPath, [SUITE, ...words], { env, maxBuffer: 1 << 28 });
    return "";
  } catch (error) {
    return `${error.stdout?.split("SUMMARY ===").pop()}\n${error.stderr}`;
  }
}
