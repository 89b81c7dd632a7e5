// The JavaScript @a2a-js/sdk 1.3.0 drives every sample agent over JSON-RPC and HTTP+JSON, in 1.0 and in its layer for 0.3.
//
// Takes AGENTS_URL from the environment; gives one line per check. Lies beside the SDK and `checks.mjs` when it runs.

import { randomUUID } from "node:crypto";

import { Role, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { TaskNotCancelableError, TaskNotFoundError } from "@a2a-js/sdk/errors";

import { Checks, collect, ensure, equal, throws } from "./checks.mjs";

console.debug = () => {};

const { AGENTS_URL } = process.env;
const NAMES = {
  echo: "Echo Agent", weather: "Weather Agent", "travel-planner": "Travel Planner Agent", approval: "Approval Agent",
  flaky: "Flaky Agent", secure: "Secure Agent", reject: "Reject Agent",
};
const ENDS = [
  ["echo", "hello agent", TaskState.TASK_STATE_COMPLETED],
  ["weather", "What is the weather in Paris?", TaskState.TASK_STATE_COMPLETED],
  ["travel-planner", "Weekend to Kyoto", TaskState.TASK_STATE_COMPLETED],
  ["approval", "Approve my 120 dollar taxi expense", TaskState.TASK_STATE_INPUT_REQUIRED],
  ["flaky", "do something", TaskState.TASK_STATE_FAILED],
  ["flaky", "please succeed", TaskState.TASK_STATE_COMPLETED],
  ["secure", "who am I?", TaskState.TASK_STATE_AUTH_REQUIRED],
  ["reject", "book a flight", TaskState.TASK_STATE_REJECTED],
];

/** One agent on one binding, in 1.0 or in the SDK's layer for 0.3. */
class Caller {
  constructor(name, binding, { legacy = false, token } = {}) {
    this.name = name;
    this.binding = binding;
    this.legacy = legacy;
    this.fetchImpl = (url, init = {}) => {
      const headers = new Headers(init.headers);
      if (token) headers.set("Authorization", `Bearer ${token}`);
      return fetch(url, { ...init, headers });
    };
  }

  async client(config = {}) {
    const how = { fetchImpl: this.fetchImpl, ...(this.legacy && { legacyCompat: { enabled: true } }) };
    const transports = [new JsonRpcTransportFactory(how), new RestTransportFactory(how)];
    const options = { transports, preferredTransports: [this.binding], clientConfig: config };
    options.cardResolver = new DefaultAgentCardResolver(how);
    const url = `${AGENTS_URL}/a2a/${this.name}/`;
    if (!this.legacy) return new ClientFactory(options).createFromUrl(url);
    // The layer for 0.3 is taken when a card lists nothing newer.
    const card = await options.cardResolver.resolve(url);
    card.supportedInterfaces = card.supportedInterfaces.filter((one) => one.protocolVersion === "0.3");
    return new ClientFactory(options).createFromAgentCard(card);
  }

  async tell(text, { task, wait = true, pace = 0, push } = {}) {
    const client = await this.client({ polling: !wait });
    return client.sendMessage(request(text, { task, pace, push }));
  }

  async *stream(text, pace = 0) {
    yield* (await this.client()).sendMessageStream(request(text, { pace }));
  }
}

function request(text, { task, pace = 0, push } = {}) {
  const part = { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
  const message = {
    messageId: randomUUID(), contextId: task?.contextId ?? "", taskId: task?.id ?? "", role: Role.ROLE_USER,
    parts: [part], metadata: { stepDelayMs: pace }, extensions: [], referenceTaskIds: [],
  };
  const configuration = push && {
    acceptedOutputModes: [], taskPushNotificationConfig: push, historyLength: undefined, returnImmediately: false,
  };
  return { tenant: "", message, configuration, metadata: undefined };
}

async function token() {
  const answer = await fetch(`${AGENTS_URL}/oauth/token`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("rustybin:secret")}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return (await answer.json()).access_token;
}

const data = (task) => task.artifacts[0].parts[0].content.value;
const state = (task) => TaskState[task.status.state];

async function resolves(name) {
  const card = await new DefaultAgentCardResolver().resolve(`${AGENTS_URL}/a2a/${name}/`);
  equal(card.name, NAMES[name], "name");
  const listed = card.supportedInterfaces.map((one) => `${one.protocolBinding} ${one.protocolVersion}`);
  for (const one of ["JSONRPC 1.0", "HTTP+JSON 1.0", "JSONRPC 0.3", "HTTP+JSON 0.3"]) ensure(listed.includes(one), `${listed}`);
}

async function ends(me, text, wanted) {
  const task = await me.tell(text);
  equal(state(task), TaskState[wanted], "state");
  const got = await (await me.client()).getTask({ id: task.id, tenant: "", historyLength: undefined });
  equal([got.id, state(got)], [task.id, TaskState[wanted]], "task when it is fetched");
}

async function streams(me, text, wanted) {
  const events = await collect(me.stream(text));
  const last = events.at(-1).payload;
  equal([last.$case, TaskState[last.value.status.state]], ["statusUpdate", TaskState[wanted]], "last event");
}

async function answersDirectly(me) {
  const answer = await me.tell("msg: no task please");
  ensure(!("status" in answer) && answer.role === Role.ROLE_AGENT, JSON.stringify(answer));
}

async function plans(me) {
  const events = await collect(me.stream("Plan a 3 day trip to Lisbon"));
  const updates = events.map((event) => event.payload).filter((payload) => payload.$case === "artifactUpdate");
  const itinerary = updates.map((update) => update.value).filter((update) => update.artifact.name === "itinerary");
  // The SDK's layer for HTTP+JSON of 0.3 does not pass `append` on.
  const lost = me.legacy && me.binding === "HTTP+JSON";
  if (!lost) equal(itinerary.map((update) => Boolean(update.append)), [false, true, true, true], "append");
  equal(itinerary.map((update) => Boolean(update.lastChunk)), [false, false, false, true], "lastChunk");
  const kinds = new Set(updates.flatMap((update) => update.value.artifact.parts.map((part) => part.content.$case)));
  equal([...kinds].sort(), ["data", "raw", "text", "url"], "kinds of parts");
}

async function cancels(me) {
  const task = await me.tell("trip", { wait: false, pace: 5000 });
  const client = await me.client();
  equal(state(await client.cancelTask({ id: task.id, tenant: "", metadata: undefined })), "TASK_STATE_CANCELED", "answer");
  const again = client.cancelTask({ id: task.id, tenant: "", metadata: undefined });
  await throws(again, (error) => error instanceof TaskNotCancelableError, "TaskNotCancelableError");
  const none = client.getTask({ id: "no-such-task", tenant: "", historyLength: undefined });
  await throws(none, (error) => error instanceof TaskNotFoundError, "TaskNotFoundError");
}

async function approves(me) {
  for (const [answer, approved] of [["approve", true], ["deny", false]]) {
    const asked = await me.tell("Approve my 120 dollar taxi expense");
    const done = await me.tell(answer, { task: asked });
    equal([state(done), done.id, data(done).approved], ["TASK_STATE_COMPLETED", asked.id, approved], "task");
  }
}

async function authenticates(binding, legacy) {
  const asked = await new Caller("secure", binding, { legacy }).tell("who am I?");
  equal(state(asked), "TASK_STATE_AUTH_REQUIRED", "state");
  const known = new Caller("secure", binding, { legacy, token: await token() });
  equal(state(await known.tell("who am I?", { task: asked })), "TASK_STATE_COMPLETED", "state with a token");
  const extended = await (await known.client()).getAgentCard();
  ensure(extended.skills.some((skill) => skill.id === "audit"), "the extended card's skill is missing");
}

async function notifies(me) {
  const url = `${AGENTS_URL}/a2a/webhook-sink/${randomUUID()}`;
  const authentication = { scheme: "Bearer", credentials: "s3cret" };
  const push = { tenant: "", id: "first", taskId: "", url, token: "t-1", authentication };
  const { id: taskId } = await me.tell("trip", { push });
  let told = [];
  const text = () => JSON.stringify(told.map((one) => one.body));
  for (let round = 0; round < 200 && !/TASK_STATE_COMPLETED|"state":"completed"/.test(text()); round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    told = (await (await fetch(url)).json()).notifications;
  }
  ensure(/TASK_STATE_COMPLETED|"state":"completed"/.test(text()), text());
  equal(told[0].headers["x-a2a-notification-token"], "t-1", "token");
  equal(told[0].headers.authorization, "Bearer s3cret", "credentials");
  await keepsConfigs(me, taskId, url);
}

async function keepsConfigs(me, taskId, url) {
  const client = await me.client();
  const named = { tenant: "", taskId, id: "mine" };
  const query = { tenant: "", taskId, pageSize: 0, pageToken: "" };
  const made = await client.createTaskPushNotificationConfig({ ...named, url, token: "", authentication: undefined });
  equal([made.id, made.url], ["mine", url], "made");
  equal((await client.getTaskPushNotificationConfig(named)).url, url, "got");
  const listed = await client.listTaskPushNotificationConfig(query);
  equal(listed.configs.map((one) => one.id).sort(), ["first", "mine"], "listed");
  ensure(!JSON.stringify(listed).includes("s3cret"), "credentials come back");
  await client.deleteTaskPushNotificationConfig(named);
  const left = await client.listTaskPushNotificationConfig(query);
  equal(left.configs.map((one) => one.id), ["first"], "left");
  const inside = { ...named, url: "http://169.254.169.254/latest/meta-data", token: "", authentication: undefined };
  await throws(client.createTaskPushNotificationConfig(inside), () => true, "an error");
}

async function forecasts(me) {
  equal(data(await me.tell("What is the weather in Paris?")).city, "Paris", "city");
}

const checks = new Checks();
for (const name of Object.keys(NAMES)) await checks.run(`the resolver reads the card of ${name}`, () => resolves(name));
for (const legacy of [false, true]) {
  for (const binding of ["JSONRPC", "HTTP+JSON"]) {
    const tag = `${binding} ${legacy ? "0.3" : "1.0"}`;
    const of = (name) => new Caller(name, binding, { legacy });
    for (const [name, text, wanted] of ENDS) {
      await checks.run(`${tag} ${name}: ${text}`, () => ends(of(name), text, wanted));
      await checks.run(`${tag} ${name}, streamed: ${text}`, () => streams(of(name), text, wanted));
    }
    await checks.run(`${tag} echo answers directly`, () => answersDirectly(of("echo")));
    await checks.run(`${tag} weather is structured`, () => forecasts(of("weather")));
    await checks.run(`${tag} travel-planner makes artifacts in pieces`, () => plans(of("travel-planner")));
    await checks.run(`${tag} travel-planner is cancelled`, () => cancels(of("travel-planner")));
    await checks.run(`${tag} approval takes several turns`, () => approves(of("approval")));
    await checks.run(`${tag} secure wants a token`, () => authenticates(binding, legacy));
    await checks.run(`${tag} travel-planner notifies`, () => notifies(of("travel-planner")));
  }
}
process.exit(checks.close());
