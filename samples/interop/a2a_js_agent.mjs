// @a2a-js/sdk 1.3.0 behind a gateway: an echo over JSON-RPC and HTTP+JSON, each at a URL of its own. Takes its port.
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import { TaskState } from "@a2a-js/sdk";
import express from "express";

const port = Number(process.argv[2]);
const url = `http://127.0.0.1:${port}`;
const card = {
  name: "@a2a-js/sdk",
  description: "Echoes.",
  version: "1.0.0",
  supportedInterfaces: [
    { url: `${url}/a2a/jsonrpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" },
    { url: `${url}/a2a/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "" },
  ],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "echo", name: "Echo", description: "Echoes.", tags: ["echo"], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  signatures: [],
};

const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });

class Echo {
  async execute(context, bus) {
    const ids = { taskId: context.taskId, contextId: context.contextId };
    const { userMessage } = context;
    bus.publish(AgentEvent.task({
      id: ids.taskId, contextId: ids.contextId, status: status(TaskState.TASK_STATE_SUBMITTED),
      history: [userMessage], artifacts: [], metadata: {},
    }));
    const artifact = { artifactId: "echo", name: "echo", description: "", parts: userMessage.parts, metadata: {}, extensions: [] };
    bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: false, lastChunk: true, metadata: {} }));
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_COMPLETED), metadata: {} }));
    bus.finished();
  }

  async cancelTask() {}
}

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Echo());
const userBuilder = UserBuilder.noAuthentication;
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/a2a/jsonrpc", jsonRpcHandler({ requestHandler, userBuilder }));
app.use("/a2a/rest", restHandler({ requestHandler, userBuilder }));
app.listen(port, "127.0.0.1");
