// A host of MCP Apps, by the host side of the extension's own SDK. The page of the test has these functions:
// callTool (asks the MCP server), opened (a link), resized (a height).

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

window.showApp = async ({ html, tool, args, result, context, capabilities }) => {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.title = "App";
  frame.setAttribute("sandbox", "allow-scripts");
  frame.srcdoc = html.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  document.body.append(frame);
  const hostContext = { displayMode: "inline", toolInfo: { tool: { name: tool, inputSchema: { type: "object" } } }, ...context };
  const bridge = new AppBridge(null, { name: "tests", version: "1" }, capabilities, { hostContext });
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.onopenlink = async ({ url }) => {
    await window.opened(url);
    return {};
  };
  bridge.onrequestdisplaymode = async ({ mode }) => {
    frame.style.height = "900px";
    return { mode };
  };
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
    window.resized(height);
  };
  const ready = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await ready;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
  window.bridge = bridge;
};
