#!/usr/bin/env bash
# Calls an agent through the gateway with message:send and a JSON-RPC envelope.
# Reads GATEWAY_URL, TENANT and API_KEY, as demo-data/demo.env has them; takes a text without quotes and the card's name.
set -euo pipefail
gateway=${GATEWAY_URL:-http://localhost:8100} tenant=${TENANT:-default}
text=${1:-Hello from my agent} card=${2:-hello-world-a2a}
curl -sS --no-buffer -X POST "$gateway/a2a/$tenant/$card/message:send" \
  -H "Authorization: Bearer ${API_KEY:?set API_KEY, for example: source demo-data/demo.env}" \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "message/send",
    "params": {"message": {"role": "user", "parts": [{"kind": "text", "text": "'"$text"'"}]}}
  }'
echo
