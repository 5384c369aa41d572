// The official TypeScript client. Reads one JSON object from standard input and writes one to standard output:
// in: {url, token, mode: "legacy" | "auto" | {pin: revision}, calls: [{name, arguments}], prompts: [{name, arguments}],
//      completions: [{ref, argument, context}]}
// out: {revision, tools, prompts, resources, skills, results, texts, completed: the answer of each call, prompt and
//      completion, or
//      {rpcError: {code, message}}}

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
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

async function each(list, ask) {
  const answers = [];
  for (const one of list ?? []) {
    try {
      answers.push(await ask(one));
    } catch (error) {
      answers.push({ rpcError: { code: error.code, message: error.message } });
    }
  }
  return answers;
}

// The URIs of all files of all skills, each checked against its entry.
async function readSkills() {
  const reader = new SkillsClient(client, { skipInvalid: true });
  if (!reader.supported) return { supported: false };
  const { skills: entries, invalid } = await reader.list();
  const verified = [];
  for (const entry of entries) {
    const { skill } = await reader.get(entry.uri);
    for (const { uri } of skill.resources) {
      const file = await reader.read(skill, uri);
      if (file.verified) verified.push(file.uri);
    }
  }
  return { supported: true, invalid, verified };
}

const results = await each(asked.calls, (one) => client.callTool(one));
const texts = await each(asked.prompts, (one) => client.getPrompt(one));
const completed = await each(asked.completions, (one) => client.complete(one));
const skills = await readSkills();
const revision = client.getNegotiatedProtocolVersion();
await client.close();
process.stdout.write(JSON.stringify({ revision, tools, prompts, resources, results, texts, completed, skills }));
