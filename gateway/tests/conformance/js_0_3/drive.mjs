// The JavaScript @a2a-js/sdk 0.3.14 as an outside client of a running gateway.
//
// Takes GATEWAY_URL, TENANT and the keys of `demo.env`, and AGENT, the name of a card (`echo`), from the environment;
// gives one line per check. This SDK knows A2A 0.3 only: its `Client` is called over both of its HTTP bindings, its older
// `A2AClient` over JSON-RPC, which is all that one has. It reads no signatures.

import { randomUUID } from "node:crypto";

import {
  A2AClient,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransport,
  JsonRpcTransportFactory,
  PushNotificationNotSupportedError,
  RestTransport,
  RestTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk-0.3/client";

import { Checks, collect, ensure, equal, throws } from "./checks.mjs";

const { GATEWAY_URL, TENANT, API_KEY, SECOND_API_KEY, PARTNER_API_KEY, AGENT: NAME = "echo" } = process.env;
const AGENT = `${GATEWAY_URL}/a2a/${TENANT}/${NAME}`;
const TITLE = NAME === "echo" ? "Echo Agent" : "Old Echo";
const HOOK = { id: "c1", url: "https://hooks.example/x" };

/** The SDK's own way to authenticate: a header for every request, nothing to retry with. */
function fetchWith(key) {
  if (!key) return fetch;
  const headers = async () => ({ Authorization: `Bearer ${key}` });
  return createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
}

/** One principal on one binding, by the `Client` of the SDK's factory. */
class Caller {
  constructor(binding, key) {
    this.binding = binding;
    this.fetchImpl = fetchWith(key);
    this.rpc = binding === "JSONRPC";
  }

  client(clientConfig = {}) {
    const how = { fetchImpl: this.fetchImpl };
    const transports = [new JsonRpcTransportFactory(how), new RestTransportFactory(how)];
    const cardResolver = new DefaultAgentCardResolver(how);
    const mine = { transports, cardResolver, preferredTransports: [this.binding], clientConfig };
    return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, mine)).createFromUrl(`${AGENT}/`);
  }

  async tell(text, { wait = true, ...more } = {}) {
    return (await this.client({ polling: !wait })).sendMessage(request(text, more));
  }

  async *stream(text, more = {}) {
    yield* (await this.client()).sendMessageStream(request(text, more));
  }

  async get(id, historyLength) {
    return (await this.client()).getTask({ id, historyLength });
  }

  async cancel(id) {
    return (await this.client()).cancelTask({ id });
  }

  async *resubscribe(id) {
    yield* (await this.client()).resubscribeTask({ id });
  }

  async card() {
    return (await this.client()).getAgentCard();
  }

  /** On the transport, because the client refuses on its own what the card does not offer. */
  async push(call, id) {
    const options = { endpoint: AGENT, fetchImpl: this.fetchImpl };
    const transport = this.rpc ? new JsonRpcTransport(options) : new RestTransport(options);
    const calls = {
      set: () => transport.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: HOOK }),
      get: () => transport.getTaskPushNotificationConfig({ id, pushNotificationConfigId: HOOK.id }),
      list: () => transport.listTaskPushNotificationConfig({ id }),
      delete: () => transport.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: HOOK.id }),
      inline: () => this.tell("inline", { configuration: { pushNotificationConfig: HOOK } }),
    };
    return calls[call]();
  }
}

/** One principal by the SDK's older client, which gives envelopes; opened here, errors thrown like those of the newer. */
class OldCaller {
  binding = "JSONRPC";
  rpc = true;

  constructor(key) {
    this.fetchImpl = fetchWith(key);
  }

  client() {
    return A2AClient.fromCardUrl(`${AGENT}/.well-known/agent-card.json`, { fetchImpl: this.fetchImpl });
  }

  async call(method, ...params) {
    const envelope = await (await this.client())[method](...params);
    if (!("error" in envelope)) return envelope.result;
    const { code, message } = envelope.error;
    const types = { [-32001]: TaskNotFoundError, [-32002]: TaskNotCancelableError, [-32003]: PushNotificationNotSupportedError };
    throw code in types ? new types[code](message) : new Error(`${message} (Code: ${code})`);
  }

  tell(text, { wait = true, ...more } = {}) {
    const params = request(text, more);
    return this.call("sendMessage", { ...params, configuration: { blocking: wait, ...params.configuration } });
  }

  async *stream(text, more = {}) {
    yield* (await this.client()).sendMessageStream(request(text, more));
  }

  get(id, historyLength) {
    return this.call("getTask", { id, historyLength });
  }

  cancel(id) {
    return this.call("cancelTask", { id });
  }

  async *resubscribe(id) {
    yield* (await this.client()).resubscribeTask({ id });
  }

  push(call, id) {
    const calls = {
      get: () => this.call("getTaskPushNotificationConfig", { id, pushNotificationConfigId: HOOK.id }),
      list: () => this.call("listTaskPushNotificationConfig", { id }),
      delete: () => this.call("deleteTaskPushNotificationConfig", { id, pushNotificationConfigId: HOOK.id }),
      inline: () => this.tell("inline", { configuration: { pushNotificationConfig: HOOK } }),
    };
    return calls[call]();
  }
}

function textPart(text) {
  return { kind: "text", text };
}

function request(text, { parts, task, configuration } = {}) {
  const message = { kind: "message", messageId: randomUUID(), role: "user", parts: parts ?? [textPart(text)] };
  if (task) Object.assign(message, { taskId: task.id, contextId: task.contextId });
  return { message, ...(configuration && { configuration }) };
}

function texts(parts) {
  return parts.filter((part) => part.kind === "text").map((part) => part.text).join("");
}

// The card.

async function resolvesTheCard() {
  const card = await new DefaultAgentCardResolver().resolve(`${AGENT}/`);
  equal([card.name, card.url, card.preferredTransport], [TITLE, AGENT, "JSONRPC"], "card");
  equal(card.protocolVersion, "0.3.0", "protocol version");
  const listed = card.additionalInterfaces.map((one) => `${one.transport} ${one.url}`);
  for (const binding of ["JSONRPC", "HTTP+JSON"]) ensure(listed.includes(`${binding} ${AGENT}`), `interfaces ${listed}`);
  // A scheme without `type` would send the SDK into its reading of protobuf cards, which loses members.
  const schemes = Object.values(card.securitySchemes);
  ensure(schemes.length > 0 && schemes.every((scheme) => scheme.type), `schemes ${JSON.stringify(schemes)}`);
  const older = await new DefaultAgentCardResolver({ path: ".well-known/agent.json" }).resolve(`${AGENT}/`);
  equal(older, card, "card at the older path");
}

async function createsClients() {
  const { transport } = await new ClientFactory().createFromUrl(`${AGENT}/`);
  ensure(transport instanceof JsonRpcTransport, "the card's own choice is JSON-RPC");
  await new ClientFactory().createFromUrl(`${AGENT}/.well-known/agent-card.json`, "");
  const misled = new ClientFactory().createFromUrl(AGENT);
  await throws(misled, (error) => error.message.includes("404"), "a 404 without the trailing slash");
}

async function oldClientReadsCards() {
  const client = await new OldCaller().client();
  const card = await client.getAgentCard();
  equal([card.name, card.url], [TITLE, AGENT], "card");
  equal(await client.getAgentCard(AGENT), card, "card by the agent's URL");
}

// Calls.

async function sends(me) {
  const task = await me.tell("Grüße, Welt 🌍");
  equal([task.kind, task.status.state], ["task", "completed"], "task");
  equal(task.artifacts.map((artifact) => artifact.name), ["echo"], "artifacts");
  equal(texts(task.artifacts[0].parts), "Grüße, Welt 🌍", "text");
}

async function keepsParts(me) {
  const bytes = Buffer.from([0, 1, 98, 255]).toString("base64");
  const file = { kind: "file", file: { bytes, name: "some.bin", mimeType: "application/octet-stream" } };
  const parts = [
    textPart("three kinds"),
    { kind: "data", data: { n: 7, deep: { list: [1, "two", null, true] } } },
    file,
  ];
  const task = await me.tell(undefined, { parts });
  equal(task.status.state, "completed", "state");
  // The SDK's own reading of HTTP+JSON has no name for files.
  if (!me.rpc) delete file.file.name;
  const bare = (part) => Object.fromEntries(Object.entries(part).filter(([name]) => name !== "metadata"));
  equal(task.artifacts[0].parts.map(bare), parts, "parts");
  const metadata = task.artifacts[0].parts.map((part) => Object.keys(part.metadata ?? {})).flat();
  equal(metadata, [], "metadata that nobody sent");
}

async function answersDirectly(me) {
  const answer = await me.tell("msg: hello");
  equal([answer.kind, answer.role, texts(answer.parts)], ["message", "agent", "msg: hello"], "message");
}

async function endsAs(me, text, wanted) {
  equal((await me.tell(text)).status.state, wanted, "state");
}

async function streams(me) {
  const said = "Grüße in vier Stücken, bitte";
  const events = await collect(me.stream(`stream 4 ${said}`));
  const kinds = events.map((event) => event.kind);
  equal([kinds[0], kinds.at(-1)], ["task", "status-update"], `ends of ${kinds}`);
  equal([events.at(-1).status.state, events.at(-1).final], ["completed", true], "last status");
  const finals = events.slice(0, -1).filter((event) => event.kind === "status-update" && event.final);
  equal(finals.length, 0, "final before the end");
  const pieces = events.filter((event) => event.kind === "artifact-update");
  equal(pieces.map((piece) => texts(piece.artifact.parts)).join(""), said, "joined text");
  // The SDK does not read these two from HTTP+JSON.
  if (!me.rpc) return;
  equal(pieces.map((piece) => Boolean(piece.append)), [false, true, true, true], "append");
  equal(pieces.map((piece) => Boolean(piece.lastChunk)), [false, false, false, true], "lastChunk");
}

async function streamsAMessage(me) {
  const events = await collect(me.stream("msg: hello"));
  equal(events.map((event) => [event.kind, texts(event.parts)]), [["message", "msg: hello"]], "events");
}

async function gets(me) {
  const sent = await me.tell("remember me");
  const got = await me.get(sent.id);
  equal([got.kind, got.id, got.contextId, got.status.state], ["task", sent.id, sent.contextId, "completed"], "task");
  equal(texts(got.artifacts[0].parts), "remember me", "text");
  ensure(got.history.length >= 1, "the task's history does not hold what was said");
  equal((await me.get(sent.id, 1)).history.length, 1, "history of length 1");
}

async function slowTask(me) {
  const task = await me.tell("slow, please", { wait: false });
  ensure(["submitted", "working"].includes(task.status.state), `state ${task.status.state}`);
  return task;
}

async function cancels(me) {
  const task = await slowTask(me);
  equal((await me.cancel(task.id)).status.state, "canceled", "answer");
  equal((await me.get(task.id)).status.state, "canceled", "state afterwards");
  await throws(me.cancel(task.id), (error) => error instanceof TaskNotCancelableError, "TaskNotCancelableError");
}

/** One client listens while another one of the same principal cancels. */
async function resubscribes(me, other) {
  const task = await slowTask(me);
  const events = me.resubscribe(task.id);
  const first = (await events.next()).value;
  if (NAME === "echo") equal([first.kind, first.id], ["task", task.id], "first event");
  // An agent of 0.3 begins with whatever comes next.
  else equal([first.kind, first.taskId], ["status-update", task.id], "first event");
  await other.cancel(task.id);
  const seen = await collect(events);
  ensure(seen.length > 0, "nothing after the cancel");
  equal([seen.at(-1).kind, seen.at(-1).status.state, seen.at(-1).final], ["status-update", "canceled", true], "last event");
}

async function followsUp(me) {
  const asked = await me.tell("ask me");
  equal(asked.status.state, "input-required", "state");
  ensure(texts(asked.status.message.parts), "the agent does not say what it wants");
  const done = await me.tell("here you are", { task: asked });
  equal([done.id, done.status.state], [asked.id, "completed"], "task");
  equal(texts(done.artifacts.at(-1).parts), "here you are", "text");
}

async function refusesPush(me, call) {
  const task = await me.tell("push");
  const typed = (error) => error instanceof PushNotificationNotSupportedError;
  await throws(me.push(call, task.id), typed, "PushNotificationNotSupportedError");
}

/** The card offers no push, so the client itself says no to these; deletions it sends. */
async function clientKnowsOfNoPush(me) {
  const [{ id }, client] = [await me.tell("push"), await me.client()];
  const typed = (error) => error instanceof PushNotificationNotSupportedError;
  const calls = [
    () => client.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: HOOK }),
    () => client.getTaskPushNotificationConfig({ id, pushNotificationConfigId: HOOK.id }),
    () => client.listTaskPushNotificationConfig({ id }),
    () => client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: HOOK.id }),
  ];
  for (const call of calls) await throws((async () => call())(), typed, "PushNotificationNotSupportedError");
}

/** Its error for that has no type, and it asks the card for this one call only. */
async function oldClientKnowsOfNoPush(me) {
  const call = me.call("setTaskPushNotificationConfig", { taskId: "t1", pushNotificationConfig: HOOK });
  await throws(call, (error) => error.message.includes("does not support push notifications"), "an error by the card");
}

async function refusesMethods(me) {
  const call = me.call("callExtensionMethod", "elsewhere/doThings");
  await throws(call, (error) => error.message.includes("(Code: -32601)"), "an error of code -32601");
}

async function getsExtendedCard(me) {
  const card = await me.card();
  ensure(card.skills.some((skill) => skill.id === "trace"), `skills ${card.skills.map((skill) => skill.id)}`);
  equal(card.url, AGENT, "url");
}

// Refusals.

/** The text of the error of every call on a task. */
async function taskCalls(me, id) {
  const followUp = { task: { id, contextId: undefined } };
  const calls = [
    () => me.get(id),
    () => me.cancel(id),
    () => collect(me.resubscribe(id)),
    () => me.tell("follow-up", followUp),
    () => collect(me.stream("follow-up", followUp)),
  ];
  const told = [];
  for (const call of calls) {
    // An error inside a stream of JSON-RPC is wrapped: the typed one is its cause.
    const missing = (error) => error instanceof TaskNotFoundError || error.cause instanceof TaskNotFoundError;
    told.push((await throws(call(), missing, "TaskNotFoundError")).message);
  }
  return told;
}

async function hidesForeignTasks(me, second) {
  const task = await slowTask(me);
  const missing = randomUUID();
  const foreign = (await taskCalls(second, task.id)).map((text) => text.replaceAll(task.id, missing));
  equal(foreign, await taskCalls(second, missing), "errors");
  ensure((await me.get(task.id)).status.state !== "canceled", "a stranger's cancel was heard");
  await me.cancel(task.id);
}

/** The SDK has no type for these: the gateway's code is in the text. */
async function refuses(caller, code) {
  const told = (error) => error.message.includes(`(Code: ${code})`);
  for (const call of [() => caller.tell("hello"), () => collect(caller.stream("hello")), () => caller.get("t1")]) {
    await throws(call(), told, `an error of code ${code}`);
  }
}

async function refusesEmptyMessages(me) {
  const malformed = (error) => error.message.includes("(Code: -32602)");
  await throws(me.tell(undefined, { parts: [] }), malformed, "an error of code -32602");
  await throws(collect(me.stream(undefined, { parts: [] })), malformed, "an error of code -32602 in place of a stream");
}

async function callChecks(run, caller) {
  const [me, again, second, stranger, partner] = [API_KEY, API_KEY, SECOND_API_KEY, undefined, PARTNER_API_KEY].map(caller);
  await run("send gives a task with the text", () => sends(me));
  await run("text, data and file parts survive", () => keepsParts(me));
  await run("send gives a direct message", () => answersDirectly(me));
  await run("a failed task is a task", () => endsAs(me, "fail now", "failed"));
  await run("a rejected task is a task", () => endsAs(me, "reject this", "rejected"));
  await run("stream: task first, final status last, text whole", () => streams(me));
  await run("stream of a direct message", () => streamsAMessage(me));
  await run("get honours historyLength", () => gets(me));
  await run("cancel ends a slow task", () => cancels(me));
  await run("resubscribe ends canceled when another client cancels", () => resubscribes(me, again));
  await run("input-required is followed up", () => followsUp(me));
  await run("unknown tasks are not found, typed, with text", () => taskCalls(me, randomUUID()));
  await run("another principal's task looks missing", () => hidesForeignTasks(me, second));
  await run("without a key: not authenticated", () => refuses(stranger, -32040));
  await run("with the partner's key: no such card", () => refuses(partner, -32046));
  await run("a message without parts is refused", () => refusesEmptyMessages(me));
  return me;
}

const checks = new Checks();
await checks.run("the resolver reads the card at both paths", resolvesTheCard);
await checks.run("createFromUrl needs the trailing slash", createsClients);
await checks.run("the older client reads the card", oldClientReadsCards);
for (const binding of ["JSONRPC", "HTTP+JSON"]) {
  const run = (name, check) => checks.run(`${binding}: ${name}`, check);
  await run("the factory chose the binding", async () => {
    const { transport } = await new Caller(binding, API_KEY).client();
    ensure(transport instanceof (binding === "JSONRPC" ? JsonRpcTransport : RestTransport), "another transport");
  });
  const me = await callChecks(run, (key) => new Caller(binding, key));
  for (const call of ["set", "get", "list", "delete", "inline"]) {
    await run(`push ${call} is not supported, typed`, () => refusesPush(me, call));
  }
  await run("the client knows by the card that there is no push", () => clientKnowsOfNoPush(me));
  await run("the extended card has more skills", () => getsExtendedCard(me));
}
const run = (name, check) => checks.run(`older client: ${name}`, check);
const old = await callChecks(run, (key) => new OldCaller(key));
await run("push set fails in the client, by the card", () => oldClientKnowsOfNoPush(old));
await run("a method of an extension that the gateway does not know is refused", () => refusesMethods(old));
for (const call of ["get", "list", "delete", "inline"]) {
  await run(`push ${call} is not supported`, () => refusesPush(old, call));
}
process.exit(checks.close());
