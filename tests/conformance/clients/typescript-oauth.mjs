// The official TypeScript client's own OAuth flow. It speaks with the test line by line, JSON each:
// in, first: {url, mode, calls: [{name, arguments}]}; then, for each {authorize: url} it writes, the URL it was sent back to.
// out, last: {revision, tools, results: the answer of each call, or {rpcError}, scopes: of the tokens it was given}

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { createInterface } from 'node:readline';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);
const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

const kept = { scopes: [] };
const provider = {
  redirectUrl: 'http://localhost:7654/callback',
  clientMetadata: {
    client_name: 'TypeScript tests',
    redirect_uris: ['http://localhost:7654/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => (kept.state = crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => {
    kept.tokens = tokens;
    kept.scopes.push(tokens.scope);
  },
  redirectToAuthorization: (url) => (kept.authorize = url.href),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => (kept.discovery = state),
  discoveryState: () => kept.discovery,
};

const asked = await read();
let client, transport;

async function connect() {
  client = new Client({ name: 'finops-tests', version: '1' }, { versionNegotiation: { mode: asked.mode } });
  transport = new StreamableHTTPClientTransport(new URL(asked.url), { authProvider: provider });
  await client.connect(transport);
}

async function authorized(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    say({ authorize: kept.authorize });
    const back = new URL(await read()).searchParams;
    if (back.get('state') !== kept.state) throw new Error('another state');
    await transport.finishAuth(back);
    await client.close();
    await connect();
    return work === connect ? undefined : await work();
  }
}

async function call(one) {
  try {
    return await authorized(() => client.callTool(one));
  } catch (error) {
    return { rpcError: { code: error.code, message: error.message } };
  }
}

await authorized(connect);
const { tools } = await client.listTools();
const results = [];
for (const one of asked.calls) results.push(await call(one));
const revision = client.getNegotiatedProtocolVersion();
await client.close();
say({ revision, tools: tools.map((tool) => tool.name), results, scopes: kept.scopes });
process.exit(0);
