// The host of an MCP App, by JSON-RPC over postMessage (SEP-1865, revision 2026-01-26).
//
// The SDK of the extension does the same in 665 KB, of which a view may have 400; ECharts would be 582.

const REVISION = "2026-01-26";

export class HostError extends Error {}

/** `on` has a function for each notification of the host that the view wants, by its method. */
export class Host {
  #frame;
  #on;
  #next = 1;
  #waiting = new Map();
  context = {};
  capabilities = {};

  constructor(frame, on) {
    this.#frame = frame;
    this.#on = on;
    window.addEventListener("message", (event) => this.#receive(event));
  }

  /** The handshake. Resolves to the host's context: theme, locale, styles, size. */
  async connect(name, version) {
    const answer = await this.#request("ui/initialize", {
      protocolVersion: REVISION,
      appInfo: { name, version },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    this.capabilities = answer.hostCapabilities ?? {};
    this.context = answer.hostContext ?? {};
    this.#notify("ui/notifications/initialized", {});
    return this.context;
  }

  get canCallTools() {
    return this.capabilities.serverTools !== undefined;
  }

  get canOpenLinks() {
    return this.capabilities.openLinks !== undefined;
  }

  get canGoFullscreen() {
    return (this.context.availableDisplayModes ?? []).includes("fullscreen");
  }

  /** A tool's answer. Rejects with HostError, whose message is the tool's own text. */
  async callTool(name, args) {
    const result = await this.#request("tools/call", { name, arguments: args });
    if (result.isError) throw new HostError(result.content?.[0]?.text ?? "The call failed.");
    return answerOf(result);
  }

  openLink(url) {
    return this.#request("ui/open-link", { url });
  }

  requestDisplayMode(mode) {
    return this.#request("ui/request-display-mode", { mode });
  }

  sizeChanged(height) {
    this.#notify("ui/notifications/size-changed", { height });
  }

  #request(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#post({ id, method, params });
    });
  }

  #notify(method, params) {
    this.#post({ method, params });
  }

  #post(message) {
    // The origin of a host is its own affair: the view is sandboxed, and what it sends is what the host gave it.
    this.#frame.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  #receive(event) {
    const message = event.data;
    if (event.source !== this.#frame || message?.jsonrpc !== "2.0") return;
    if (message.method === undefined) this.#settle(message);
    else if (message.id === undefined) this.#on[message.method]?.(message.params ?? {});
    else this.#answer(message);
  }

  #settle(message) {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) waiting?.reject(new HostError(message.error.message));
    else waiting?.resolve(message.result ?? {});
  }

  #answer({ id, method }) {
    if (method === "ping" || method === "ui/resource-teardown") this.#post({ id, result: {} });
    else this.#post({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

/** The structured answer of a tool; of a host that hands on text alone, the same out of the text. */
export function answerOf(result) {
  if (result.structuredContent) return result.structuredContent;
  try {
    return JSON.parse(result.content?.[0]?.text ?? "");
  } catch {
    throw new HostError(result.content?.[0]?.text ?? "The answer is empty.");
  }
}
