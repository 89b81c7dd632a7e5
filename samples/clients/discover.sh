#!/usr/bin/env bash
# Fetches the signed card of an agent, in the registry's wrapper, and the tenant's public keys.
# Reads GATEWAY_URL and TENANT, as demo-data/demo.env has them; takes the card's name.
set -euo pipefail
gateway=${GATEWAY_URL:-http://localhost:8100} tenant=${TENANT:-default} card=${1:-hello-world-a2a}
curl -fsS "$gateway/.well-known/agent-card/$tenant/$card"
echo
curl -fsS "$gateway/.well-known/a2a-jwks/$tenant"
echo
