// Calls to copy: they work as they are where a key is at hand, else they take it from the environment.

export interface Place {
  /** Where callers reach the gateway, without a slash at the end. */
  base: string
  tenant: string
  name: string
  /** A key that was just made; else `$API_KEY`. */
  key?: string | undefined
}

export type Language = 'curl' | 'python' | 'javascript' | 'chancery'

export function address({ base, tenant, name }: Place): string {
  return `${base}/a2a/${tenant}/${name}`
}

export function snippet(language: Language, place: Place): string {
  const url = address(place)
  const { key } = place
  switch (language) {
    case 'curl':
      return [
        `curl -s ${url} \\`,
        `  -H "Authorization: Bearer ${key ?? '$API_KEY'}" \\`,
        `  -H "Content-Type: application/json" -H "A2A-Version: 1.0" \\`,
        `  -d '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":`,
        `       {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}}'`,
      ].join('\n')
    case 'python':
      return [
        `# pip install 'a2a-sdk[http-server]'`,
        `import asyncio, httpx, os`,
        `from a2a.client import ClientConfig, create_client`,
        `from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest`,
        ``,
        `async def main():`,
        `    key = ${key ? JSON.stringify(key) : 'os.environ["API_KEY"]'}`,
        `    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"})`,
        `    client = await create_client("${url}", ClientConfig(httpx_client=http))`,
        `    message = Message(message_id="m-1", role=Role.ROLE_USER, parts=[Part(text="hello")])`,
        `    async for event in client.send_message(SendMessageRequest(message=message)):`,
        `        print(event)`,
        ``,
        `asyncio.run(main())`,
      ].join('\n')
    case 'javascript':
      return [
        `// npm install @a2a-js/sdk; node call.mjs`,
        `import { Role } from "@a2a-js/sdk"`,
        `import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client"`,
        ``,
        `const key = ${key ? JSON.stringify(key) : 'process.env.API_KEY'}`,
        `const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, Authorization: \`Bearer \${key}\` } })`,
        `const factory = new ClientFactory({`,
        `  transports: [new JsonRpcTransportFactory({ fetchImpl })],`,
        `  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),`,
        `})`,
        `const client = await factory.createFromUrl("${url}/")`,
        `const parts = [{ content: { $case: "text", value: "hello" } }]`,
        `const answer = await client.sendMessage({ message: { messageId: "m-1", role: Role.ROLE_USER, parts } })`,
        `console.log(JSON.stringify(answer, null, 2))`,
      ].join('\n')
    case 'chancery':
      return `CHANCERY_KEY=${key ?? '$API_KEY'} chancery call ${url} "hello" --stream`
  }
}
