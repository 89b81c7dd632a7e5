// The JavaScript @a2a-js/sdk 0.3.14 drives every sample agent over JSON-RPC and HTTP+JSON of A2A 0.3.
//
// Takes AGENTS_URL from the environment; gives one line per check. Lies beside the SDK and `checks.mjs` when it runs.

import { randomUUID } from "node:crypto";

import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
} from "@a2a-js/sdk-0.3/client";

import { Checks, collect, ensure, equal, throws } from "./checks.mjs";

const { AGENTS_URL } = process.env;
const NAMES = {
  echo: "Echo Agent", weather: "Weather Agent", "travel-planner": "Travel Planner Agent", approval: "Approval Agent",
  flaky: "Flaky Agent", secure: "Secure Agent", reject: "Reject Agent",
};
const ENDS = [
  ["echo", "hello agent", "completed"],
  ["weather", "What is the weather in Paris?", "completed"],
  ["travel-planner", "Weekend to Kyoto", "completed"],
  ["approval", "Approve my 120 dollar taxi expense", "input-required"],
  ["flaky", "do something", "failed"],
  ["flaky", "please succeed", "completed"],
  ["secure", "who am I?", "auth-required"],
  ["reject", "book a flight", "rejected"],
];

/** One agent on one binding. */
class Caller {
  constructor(name, binding, token) {
    Object.assign(this, { name, binding, rpc: binding === "JSONRPC" });
    this.fetchImpl = (url, init = {}) => {
      const headers = new Headers(init.headers);
      if (token) headers.set("Authorization", `Bearer ${token}`);
      return fetch(url, { ...init, headers });
    };
  }

  client(clientConfig = {}) {
    const how = { fetchImpl: this.fetchImpl };
    const transports = [new JsonRpcTransportFactory(how), new RestTransportFactory(how)];
    const cardResolver = new DefaultAgentCardResolver(how);
    const mine = { transports, cardResolver, preferredTransports: [this.binding], clientConfig };
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, mine);
    return new ClientFactory(options).createFromUrl(`${AGENTS_URL}/a2a/${this.name}/`);
  }

  async tell(text, { wait = true, ...more } = {}) {
    return (await this.client({ polling: !wait })).sendMessage(request(text, more));
  }

  async *stream(text, more = {}) {
    yield* (await this.client()).sendMessageStream(request(text, more));
  }
}

function request(text, { task, pace = 0, push } = {}) {
  const parts = [{ kind: "text", text }];
  const message = { kind: "message", messageId: randomUUID(), role: "user", parts, metadata: { stepDelayMs: pace } };
  if (task) Object.assign(message, { taskId: task.id, contextId: task.contextId });
  return { message, ...(push && { configuration: { pushNotificationConfig: push, blocking: true } }) };
}

async function token() {
  const answer = await fetch(`${AGENTS_URL}/oauth/token`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("rustybin:secret")}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return (await answer.json()).access_token;
}

async function resolves(name) {
  const url = `${AGENTS_URL}/a2a/${name}`;
  const card = await new DefaultAgentCardResolver().resolve(`${url}/`);
  equal([card.name, card.url, card.preferredTransport], [NAMES[name], url, "JSONRPC"], "card");
  equal(card.additionalInterfaces.map((one) => one.transport).sort(), ["HTTP+JSON", "JSONRPC"], "transports");
  const older = await new DefaultAgentCardResolver({ path: ".well-known/agent.json" }).resolve(`${url}/`);
  equal([older.name, older.url, older.protocolVersion], [card.name, card.url, "0.3.0"], "card at the older path");
}

async function ends(me, text, wanted) {
  const task = await me.tell(text);
  equal([task.kind, task.status.state], ["task", wanted], "task");
  const got = await (await me.client()).getTask({ id: task.id });
  equal([got.id, got.status.state], [task.id, wanted], "task when it is fetched");
}

async function streams(me, text, wanted) {
  const events = await collect(me.stream(text));
  equal(events[0].kind, "task", "first event");
  const last = events.at(-1);
  // An agent of 1.0 does not know which event is the last; of a state that can change, it says nothing.
  const over = !wanted.endsWith("-required");
  equal([last.kind, last.status.state, last.final], ["status-update", wanted, over], "last event");
}

async function answersDirectly(me) {
  const answer = await me.tell("msg: no task please");
  equal([answer.kind, answer.role, answer.parts[0].text], ["message", "agent", "msg: no task please"], "message");
}

async function forecasts(me) {
  const task = await me.tell("What is the weather in Paris?");
  equal(task.artifacts[0].parts[0].data.city, "Paris", "city");
}

async function plans(me) {
  const events = await collect(me.stream("Plan a 3 day trip to Lisbon"));
  const updates = events.filter((event) => event.kind === "artifact-update");
  const itinerary = updates.filter((update) => update.artifact.name === "itinerary");
  equal(itinerary.length, 4, "pieces");
  // The SDK does not read these two from HTTP+JSON.
  if (me.rpc) {
    equal(itinerary.map((update) => Boolean(update.append)), [false, true, true, true], "append");
    equal(itinerary.map((update) => Boolean(update.lastChunk)), [false, false, false, true], "lastChunk");
  }
  const kinds = new Set(updates.flatMap((update) => update.artifact.parts.map((part) => part.kind)));
  equal([...kinds].sort(), ["data", "file", "text"], "kinds of parts");
}

async function cancels(me) {
  const task = await me.tell("trip", { wait: false, pace: 5000 });
  const client = await me.client();
  const events = client.resubscribeTask({ id: task.id });
  equal((await events.next()).value.id, task.id, "first event");
  equal((await client.cancelTask({ id: task.id })).status.state, "canceled", "answer");
  const seen = await collect(events);
  equal([seen.at(-1).status.state, seen.at(-1).final], ["canceled", true], "last event");
  await throws(client.cancelTask({ id: task.id }), (error) => error instanceof TaskNotCancelableError, "TaskNotCancelableError");
  await throws(client.getTask({ id: "no-such-task" }), (error) => error instanceof TaskNotFoundError, "TaskNotFoundError");
}

async function approves(me) {
  for (const [answer, approved] of [["approve", true], ["deny", false]]) {
    const asked = await me.tell("Approve my 120 dollar taxi expense");
    const done = await me.tell(answer, { task: asked });
    const decision = done.artifacts[0].parts[0].data.approved;
    equal([done.status.state, done.id, decision], ["completed", asked.id, approved], "task");
  }
}

async function authenticates(binding) {
  const asked = await new Caller("secure", binding).tell("who am I?");
  equal(asked.status.state, "auth-required", "state");
  const known = new Caller("secure", binding, await token());
  const done = await known.tell("who am I?", { task: asked });
  equal([done.status.state, done.id], ["completed", asked.id], "task with a token");
  const extended = await (await known.client()).getAgentCard();
  ensure(extended.skills.some((skill) => skill.id === "audit"), "the extended card's skill is missing");
}

async function notifies(me) {
  const url = `${AGENTS_URL}/a2a/webhook-sink/${randomUUID()}`;
  const authentication = { schemes: ["Bearer"], credentials: "s3cret" };
  const task = await me.tell("trip", { push: { id: "first", url, token: "t-1", authentication } });
  let told = [];
  const done = () => told.some((one) => one.body.status?.state === "completed");
  for (let round = 0; round < 200 && !done(); round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    told = (await (await fetch(url)).json()).notifications;
  }
  ensure(done(), JSON.stringify(told.map((one) => one.body)));
  equal([told[0].body.kind, told[0].body.id], ["task", task.id], "what was told");
  equal(told[0].headers["x-a2a-notification-token"], "t-1", "token");
  equal(told[0].headers.authorization, "Bearer s3cret", "credentials");
  await keepsConfigs(me, task.id, url);
}

async function keepsConfigs(me, taskId, url) {
  const client = await me.client();
  const named = { id: taskId, pushNotificationConfigId: "mine" };
  const made = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id: "mine", url } });
  equal([made.pushNotificationConfig.id, made.pushNotificationConfig.url], ["mine", url], "made");
  equal((await client.getTaskPushNotificationConfig(named)).pushNotificationConfig.url, url, "got");
  const listed = await client.listTaskPushNotificationConfig({ id: taskId });
  equal(listed.map((one) => one.pushNotificationConfig.id).sort(), ["first", "mine"], "listed");
  ensure(!JSON.stringify(listed).includes("s3cret"), "credentials come back");
  await client.deleteTaskPushNotificationConfig(named);
  const left = await client.listTaskPushNotificationConfig({ id: taskId });
  equal(left.map((one) => one.pushNotificationConfig.id), ["first"], "left");
  const inside = { id: "inside", url: "http://169.254.169.254/latest/meta-data" };
  await throws(client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: inside }), () => true, "an error");
}

const checks = new Checks();
for (const name of Object.keys(NAMES)) await checks.run(`the resolver reads the card of ${name}`, () => resolves(name));
for (const binding of ["JSONRPC", "HTTP+JSON"]) {
  const of = (name) => new Caller(name, binding);
  for (const [name, text, wanted] of ENDS) {
    await checks.run(`${binding} ${name}: ${text}`, () => ends(of(name), text, wanted));
    await checks.run(`${binding} ${name}, streamed: ${text}`, () => streams(of(name), text, wanted));
  }
  await checks.run(`${binding} echo answers directly`, () => answersDirectly(of("echo")));
  await checks.run(`${binding} weather is structured`, () => forecasts(of("weather")));
  await checks.run(`${binding} travel-planner makes artifacts in pieces`, () => plans(of("travel-planner")));
  await checks.run(`${binding} travel-planner is followed and cancelled`, () => cancels(of("travel-planner")));
  await checks.run(`${binding} approval takes several turns`, () => approves(of("approval")));
  await checks.run(`${binding} secure wants a token`, () => authenticates(binding));
  await checks.run(`${binding} travel-planner notifies`, () => notifies(of("travel-planner")));
}
process.exit(checks.close());
