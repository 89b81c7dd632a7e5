// An agent made with @a2a-js/sdk 1.3.0, for the client's tests: every binding of 1.0, and those of 0.3 that the SDK serves.
//
// Takes `PORT GRPC_PORT`. Serves JSON-RPC at `/rpc`, HTTP+JSON below `/rest` and gRPC at its own port, and plays the part of the
// sample agent `echo`: `msg:` is answered by a message, `stream N` in pieces, `slow` works until it is cancelled, `ask` asks.
import { Role, TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { randomUUID } from "node:crypto";

const [port, grpcPort] = process.argv.slice(2).map(Number);
const url = `http://127.0.0.1:${port}`;
const at = (where, protocolBinding, protocolVersion) => ({ url: where, protocolBinding, protocolVersion, tenant: "" });
const skill = { id: "echo", name: "Echo", description: "Echoes.", tags: ["echo"], examples: [], inputModes: [], outputModes: [], securityRequirements: [] };
const card = {
  name: "@a2a-js/sdk 1.3.0",
  description: "Echoes.",
  version: "1.0.0",
  supportedInterfaces: [
    at(`${url}/rpc`, "JSONRPC", "1.0"),
    at(`${url}/rest`, "HTTP+JSON", "1.0"),
    at(`127.0.0.1:${grpcPort}`, "GRPC", "1.0"),
    at(`${url}/rpc`, "JSONRPC", "0.3"),
    at(`${url}/rest`, "HTTP+JSON", "0.3"),
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [skill],
  signatures: [],
};

const textOf = (message) => message.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
const text = (value) => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" });
const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });

class Echo {
  #waiting = new Map();

  async execute(context, bus) {
    const ids = { taskId: context.taskId, contextId: context.contextId };
    const { userMessage } = context;
    const said = textOf(userMessage);
    const message = (parts) => ({
      messageId: randomUUID(), role: Role.ROLE_AGENT, parts, ...ids, metadata: {}, extensions: [], referenceTaskIds: [],
    });
    const update = (state, saying) => bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(state, saying), metadata: {} }));
    const make = (parts, more) => {
      const artifact = { artifactId: "echo", name: "echo", description: "", parts, metadata: {}, extensions: [] };
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: false, lastChunk: true, metadata: {}, ...more }));
    };
    if (said.startsWith("msg:")) {
      bus.publish(AgentEvent.message({ ...message(userMessage.parts), taskId: "" }));
      return bus.finished();
    }
    if (!context.task) {
      bus.publish(AgentEvent.task({
        id: ids.taskId, contextId: ids.contextId, status: status(TaskState.TASK_STATE_SUBMITTED),
        history: [userMessage], artifacts: [], metadata: {},
      }));
      if (said === "ask") {
        update(TaskState.TASK_STATE_INPUT_REQUIRED, message([text("What shall I echo?")]));
        return bus.finished();
      }
    }
    update(TaskState.TASK_STATE_WORKING);
    if (said === "slow") {
      await new Promise((resolve) => this.#waiting.set(ids.taskId, resolve));
      update(TaskState.TASK_STATE_CANCELED);
      return bus.finished();
    }
    if (said.startsWith("stream ")) {
      const [, count, rest] = said.match(/^stream (\d+) (.*)$/);
      const size = Math.floor(rest.length / count);
      for (let piece = 0; piece < count; piece++) {
        const last = piece === count - 1;
        const cut = rest.slice(piece * size, last ? undefined : (piece + 1) * size);
        make([text(cut)], { append: piece > 0, lastChunk: last });
      }
    } else {
      make(userMessage.parts);
    }
    update(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.#waiting.get(taskId)?.();
    this.#waiting.delete(taskId);
  }
}

const requestHandler = new DefaultRequestHandler(
  card, new InMemoryTaskStore(), new Echo(), undefined, new InMemoryPushNotificationStore(), { send: async () => {} }, card,
);
const shared = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } };
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/rpc", jsonRpcHandler(shared));
app.use("/rest", restHandler(shared));
app.listen(port, "127.0.0.1");
const overGrpc = new Server();
overGrpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
overGrpc.bindAsync(`127.0.0.1:${grpcPort}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
