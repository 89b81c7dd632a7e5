// @voltagent/a2a-server 2.0.3 behind a gateway, with a model that only echoes. Takes its port.
import { A2AServer } from "@voltagent/a2a-server";
import { Agent, VoltAgent } from "@voltagent/core";
import { honoServer } from "@voltagent/server-hono";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

const port = Number(process.argv[2]);
const usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const finishReason = { unified: "stop", raw: "stop" };

const said = ({ prompt }) => {
  const asked = prompt.filter((message) => message.role === "user").at(-1);
  return asked.content.map((part) => part.text ?? "").join("");
};
const model = new MockLanguageModelV3({
  doGenerate: async (call) => ({ content: [{ type: "text", text: said(call) }], finishReason, usage, warnings: [] }),
  doStream: async (call) => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: said(call) },
        { type: "text-end", id: "1" },
        { type: "finish", finishReason, usage },
      ],
    }),
  }),
});

new VoltAgent({
  agents: { echo: new Agent({ id: "echo", name: "echo", instructions: "Echo.", model }) },
  a2aServers: { a2a: new A2AServer({ name: "echo", version: "1.0.0", description: "Echoes." }) },
  server: honoServer({ port, hostname: "127.0.0.1" }),
});
