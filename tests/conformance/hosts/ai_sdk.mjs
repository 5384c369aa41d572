// Writes the requests that the AI SDK's providers send with the tools of an MCP server: folder of the hosts, URL, key.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, url, key] = process.argv.slice(2);
const { resolve } = createRequire(`${folder}/`);
const load = (name) => import(pathToFileURL(resolve(name)));

const { createMCPClient } = await load("@ai-sdk/mcp");
const client = await createMCPClient({
  transport: { type: "http", url, headers: { Authorization: `Bearer ${key}` } },
});
const listed = await client.tools();
const tools = Object.entries(listed).map(([name, { description, inputSchema }]) => ({
  type: "function",
  name,
  description,
  inputSchema: inputSchema.jsonSchema,
}));
await client.close();

async function requestOf(model, toolsOfRequest) {
  let request;
  const fetch = async (_url, { body }) => {
    request = JSON.parse(body);
    return new Response("{}", { status: 500 });
  };
  const prompt = [{ role: "user", content: [{ type: "text", text: "Which tools are there?" }] }];
  await model(fetch).doGenerate({ prompt, tools: toolsOfRequest }).catch(() => {});
  return request;
}

const { createGoogle } = await load("@ai-sdk/google");
const { createGoogleGenerativeAI: createGoogle3 } = await load("ai-sdk-google-3");
const { createOpenAI } = await load("@ai-sdk/openai");
const apiKey = "unused";
const strictTools = tools.map((tool) => ({ ...tool, strict: true }));
console.log(
  JSON.stringify({
    google: await requestOf((fetch) => createGoogle({ apiKey, fetch })("gemini-2.5-flash"), tools),
    google3: await requestOf((fetch) => createGoogle3({ apiKey, fetch })("gemini-2.5-flash"), tools),
    openai: await requestOf((fetch) => createOpenAI({ apiKey, fetch })("gpt-5"), strictTools),
  }),
);
