// The official TypeScript client. Reads one JSON object from standard input and writes one to standard output:
// in: {url, token, mode: "legacy" | "auto" | {pin: revision}, calls: [{name, arguments}]}
// out: {revision, tools, prompts, resources, results: the answer of each call, or {rpcError: {code, message}}}

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { text } from 'node:stream/consumers';

const asked = JSON.parse(await text(process.stdin));
const client = new Client(
  { name: 'finops-tests', version: '1' },
  { versionNegotiation: { mode: asked.mode } },
);
await client.connect(
  new StreamableHTTPClientTransport(new URL(asked.url), { authProvider: { token: async () => asked.token } }),
);
const { tools } = await client.listTools();
const { prompts } = await client.listPrompts();
const { resources } = await client.listResources();

async function call(asked) {
  try {
    return await client.callTool(asked);
  } catch (error) {
    return { rpcError: { code: error.code, message: error.message } };
  }
}

const results = [];
for (const one of asked.calls) results.push(await call(one));
const revision = client.getNegotiatedProtocolVersion();
await client.close();
process.stdout.write(JSON.stringify({ revision, tools, prompts, resources, results }));
