// Events as the AI SDK subscribes to and receives them. Reads one JSON object from standard input: {url, token, event}, and
// writes lines of JSON to standard output: {subscribed}, then {event} for each that arrives; {terminated} is the last.

import {
    experimental_createMCPClient as createMCPClient,
    experimental_createMCPEventWebhook as createWebhook,
} from "@ai-sdk/mcp";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const rows = new Map();
const store = {
    get: async (key) => rows.get(key),
    getById: async (id) => [...rows.values()].find((row) => row.id === id),
    set: async (row) => rows.set(row.key, row),
    update: async (key, patch) => rows.set(key, { ...rows.get(key), ...patch }),
    delete: async (key) => rows.delete(key),
};
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const handle = createWebhook({
    store,
    onEvent: async ({ event }) => say({ event }),
    onTerminated: async ({ termination }) => {
        say({ terminated: termination.error });
        setTimeout(() => process.exit(0), 200);
    },
});

const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await handle(
        new Request(`http://${request.headers.host}${request.url}`, {
            method: request.method,
            headers: request.headers,
            body: Buffer.concat(chunks),
        }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));

const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
    const asked = JSON.parse(line);
    const client = await createMCPClient({
        transport: { type: "http", url: asked.url, headers: { Authorization: `Bearer ${asked.token}` } },
        experimental_events: { store },
    });
    const url = `http://127.0.0.1:${receiver.address().port}/hooks/events`;
    const { events } = await client.experimental_events.list();
    const subscribed = await client.experimental_events.subscribe({
        name: asked.event,
        delivery: { mode: "webhook", url, allowInsecureLocalhost: true },
    });
    say({ names: events.map((each) => each.name), subscribed });
}
