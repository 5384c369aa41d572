// A real SAML identity provider (samlp) on loopback. POST /control sets the person and the options of samlp that are wrong.
const fs = require("node:fs");
const http = require("node:http");
const samlp = require("samlp");

const [port, keyFile, certFile] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}/metadata`;
let person = {};
let wrong = {};

class Profile {
  getClaims() {
    return { email: person.email, displayName: person.name, groups: person.groups };
  }
  getNameIdentifier() {
    return {
      nameIdentifier: person.sub,
      nameIdentifierFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
    };
  }
}

async function readJson(request) {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text);
}

function signOn(request, response, query) {
  request.query = query;
  response.set = (name, value) => response.setHeader(name, value);
  response.send = (body) => response.end(String(body));
  samlp.parseRequest(request, {}, (error, asked) => {
    if (error) throw error;
    const options = {
      issuer,
      key: fs.readFileSync(wrong.keyFile || keyFile),
      cert: fs.readFileSync(wrong.certFile || certFile),
      profileMapper: () => new Profile(),
      getUserFromRequest: () => person,
      getPostURL: (_audience, _document, _request, done) => done(null, asked.assertionConsumerServiceURL),
      recipient: asked.assertionConsumerServiceURL,
      destination: asked.assertionConsumerServiceURL,
      lifetimeInSeconds: 300,
      ...wrong.options,
    };
    samlp.auth(options)(request, response, (failure) => {
      response.statusCode = 500;
      response.end(String(failure));
    });
  });
}

http
  .createServer(async (request, response) => {
    const url = new URL(request.url, issuer);
    if (url.pathname === "/control") {
      ({ person, wrong = {} } = await readJson(request));
      response.end("{}");
    } else if (url.pathname === "/metadata") {
      request.query = {};
      request.originalUrl = "/metadata";
      response.set = (name, value) => response.setHeader(name, value);
      response.send = (body) => response.end(String(body));
      samlp.metadata({ issuer, cert: fs.readFileSync(certFile), redirectEndpointPath: "/sign-on" })(
        Object.assign(request, { headers: { ...request.headers, host: `127.0.0.1:${port}` }, protocol: "http" }),
        response,
      );
    } else {
      signOn(request, response, Object.fromEntries(url.searchParams));
    }
  })
  .listen(Number(port), "127.0.0.1", () => console.log("ready"));
