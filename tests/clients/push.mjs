// Pushes what stands on its input with the client for Node, and prints what came of it and how long it waited.
import { readFileSync } from "node:fs";
import { PushFailed, RejectedEvents, UsageClient } from "../../clients/node/finops-usage.mjs";

const { url, key, events, options, pushOptions } = JSON.parse(readFileSync(0, "utf8"));
const waits = [];
const sleep = async (milliseconds) => waits.push(milliseconds / 1000);
const client = new UsageClient(url, key, { sleep, ...options });
let outcome;
try {
    outcome = { result: await client.push(events, pushOptions) };
} catch (error) {
    if (error instanceof RejectedEvents) {
        outcome = { rejected: error.message, result: error.result };
    } else if (error instanceof PushFailed) {
        const { message, status, code, result, unsent, idempotencyKey } = error;
        outcome = { failed: message, status, code, result, unsent: unsent.length, idempotencyKey };
    } else {
        throw error;
    }
}
process.stdout.write(JSON.stringify({ ...outcome, waits }));
