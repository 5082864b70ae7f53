// node server.mjs '{"port": 24224, "shared_key": "...", "certificate": "...", "key": "...", "user": "...", "password": "..."}'
// Prints every record it takes as a line of JSON on standard output.
import { readFileSync } from "node:fs";
import fluent from "@fluent-org/logger";

const options = JSON.parse(process.argv[2]);
const server = new fluent.FluentServer({
  listenOptions: { host: "127.0.0.1", port: options.port },
  tlsOptions: options.certificate && { cert: readFileSync(options.certificate), key: readFileSync(options.key) },
  security: {
    serverHostname: "aggregator.test",
    sharedKey: options.shared_key,
    authorize: Boolean(options.user),
    userDict: { [options.user]: options.password },
  },
});
server.on("entry", (tag, time, fields) => {
  console.log(JSON.stringify({ tag, seconds: time.epoch ?? time, nanoseconds: time.nano ?? 0, fields }));
});
await server.listen();
console.error(`listening on 127.0.0.1:${server.port}`);
process.on("SIGTERM", () => process.exit(0));
