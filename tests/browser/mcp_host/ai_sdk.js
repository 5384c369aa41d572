// A host of MCP Apps by the AI SDK. The page of the test has the functions callTool, opened and resized, and SANDBOX.

import { MCPAppRenderer } from "@ai-sdk/react";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const MIME_TYPE = "text/html;profile=mcp-app";
const URI = "ui://finops-console/view.html";

window.showApp = ({ html, tool, args, result, context }) => {
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  const part = {
    type: "dynamic-tool",
    toolName: tool,
    toolCallId: "call-1",
    state: "output-available",
    input: args,
    output: result,
    toolMetadata: { app: { resourceUri: URI, mimeType: MIME_TYPE } },
  };
  const handlers = {
    allowedTools: [tool],
    callTool: (params) => window.callTool(params),
    openLink: ({ url }) => window.opened(url),
    requestDisplayMode: ({ mode }) => ({ mode }),
    onSizeChange: ({ height }) => {
      document.querySelector("iframe").style.height = `${height}px`;
      window.resized(height);
    },
  };
  const props = { part, handlers, hostContext: context, resource: { uri: URI, mimeType: MIME_TYPE, html } };
  const sandbox = { url: window.SANDBOX, style: { border: 0, width: "100%" } };
  createRoot(root).render(createElement(MCPAppRenderer, { ...props, sandbox }));
};
