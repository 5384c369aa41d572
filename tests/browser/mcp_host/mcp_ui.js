// A host of MCP Apps by MCP-UI. The page of the test has the functions callTool, opened and resized, and SANDBOX.

import { AppRenderer } from "@mcp-ui/client";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

window.showApp = ({ html, tool, args, result, context, capabilities }) => {
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  const handlers = {
    onCallTool: (params) => window.callTool(params),
    onOpenLink: async ({ url }) => {
      await window.opened(url);
      return {};
    },
    onSizeChanged: ({ height }) => window.resized(height),
  };
  const sandbox = { url: new URL(window.SANDBOX) };
  const given = { html, toolName: tool, toolInput: args, toolResult: result, hostContext: context };
  createRoot(root).render(
    createElement(AppRenderer, { ...given, ...handlers, hostCapabilities: capabilities, sandbox }),
  );
};
