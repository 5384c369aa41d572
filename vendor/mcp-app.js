// `npm run build`: the view of the MCP server as one HTML, script and style inlined, as hosts want it.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const FOLDER = "node_modules/.bundles/mcp-app";
const options = { bundle: true, minify: true, write: false, target: "es2022", legalComments: "none", charset: "utf8" };
const script = await build({ ...options, entryPoints: ["mcp_app/main.js"], format: "esm" });
const style = await build({ ...options, entryPoints: ["mcp_app/style.css"] });
// What would end the element early is written otherwise in JavaScript.
const code = script.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const html = (await readFile("mcp_app/index.html", "utf8"))
  .replace("/*style*/", () => style.outputFiles[0].text.trim())
  .replace("/*script*/", () => code);
await mkdir(FOLDER, { recursive: true });
await writeFile(`${FOLDER}/view.html`, html);
