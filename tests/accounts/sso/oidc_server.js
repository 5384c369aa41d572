// A real OpenID Connect provider (oidc-provider) on loopback. The person who signs in and what is wrong with the ID token are
// set by POST /control; POST /sign signs the claims of an identity assertion (ID-JAG), as the provider's token exchange would; tokens that are wrong are signed with the provider's own key, but where they say otherwise.
import http from "node:http";
import { SignJWT, decodeJwt, exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const redirectUri = process.argv[3];
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const strange = await generateKeyPair("RS256");
const key = { ...(await exportJWK(privateKey)), kid: "first", use: "sig", alg: "RS256" };

let person = { sub: "nobody" };
let wrong = {};

const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  clients: [
    {
      client_id: "console",
      client_secret: "client-secret-of-tests",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  scopes: ["openid", "groups"],
  cookies: { keys: ["cookie-key-of-tests"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...person, sub: id }) }),
  loadExistingGrant: async (context) => {
    const grant = new context.oidc.provider.Grant({
      clientId: context.oidc.client.clientId,
      accountId: context.oidc.session.accountId,
    });
    grant.addOIDCScope("openid email profile groups");
    await grant.save();
    return grant;
  },
});

// The console has a redirect URI for each provider that it stores, which no test knows before it is stored.
provider.Client.prototype.redirectUriAllowed = (value) => value.startsWith(redirectUri);

async function spoil(idToken) {
  const claims = { ...decodeJwt(idToken), ...wrong.claims };
  const header = { alg: "RS256", kid: "first" };
  if (wrong.unsigned) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part({ alg: "none" })}.${part(claims)}.`;
  }
  if (wrong.hmac)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .sign(Buffer.from("client-secret-of-tests"));
  if (wrong.payload) {
    const [head, , signature] = idToken.split(".");
    return `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
  }
  return new SignJWT(claims)
    .setProtectedHeader(header)
    .sign(wrong.strangeKey ? strange.privateKey : privateKey);
}

// The secret of HMAC is the provider's public key: what a verifier that confuses the two would use.
async function sign({ header, claims, by = "provider" }) {
  const protectedHeader = { alg: "RS256", kid: "first", typ: "oauth-id-jag+jwt", ...header };
  if (by === "nobody") {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part({ ...protectedHeader, alg: "none" })}.${part(claims)}.`;
  }
  const { d, dp, dq, p, q, qi, ...publicKey } = key;
  const keys = {
    provider: privateKey,
    stranger: strange.privateKey,
    "public key": Buffer.from(JSON.stringify(publicKey)),
  };
  const alg = by === "public key" ? "HS256" : protectedHeader.alg;
  return new SignJWT(claims).setProtectedHeader({ ...protectedHeader, alg }).sign(keys[by]);
}

function spoilAnswer(response) {
  const end = response.end.bind(response);
  response.end = (body) => {
    const answer = JSON.parse(String(body));
    if (!answer.id_token) return end(body);
    spoil(answer.id_token).then((idToken) => {
      const changed = JSON.stringify({ ...answer, id_token: idToken });
      response.setHeader("content-length", Buffer.byteLength(changed));
      end(changed);
    });
    return response;
  };
}

async function readJson(request) {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text);
}

const callback = provider.callback();
http
  .createServer(async (request, response) => {
    const { pathname } = new URL(request.url, issuer);
    if (pathname === "/control") {
      ({ person, wrong = {} } = await readJson(request));
      response.end("{}");
    } else if (pathname === "/sign") {
      response.end(await sign(await readJson(request)));
    } else if (pathname.startsWith("/interaction/")) {
      await provider.interactionFinished(request, response, { login: { accountId: person.sub } });
    } else {
      if (pathname === "/token" && Object.keys(wrong).length) spoilAnswer(response);
      callback(request, response);
    }
  })
  .listen(port, "127.0.0.1", () => console.log("ready"));
