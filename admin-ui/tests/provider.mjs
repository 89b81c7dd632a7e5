// An OpenID provider for the browser's test: it says yes at once to whoever comes, and checks what the gateway must send.
// `GET /become?groups=a,b` decides what the next person is.

import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const port = Number(process.argv[2])
const issuer = `http://127.0.0.1:${port}`
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const codes = new Map()
let groups = ['admins']

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
function token(claims) {
  const signed = `${part({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`
}
async function body(request) {
  let text = ''
  for await (const piece of request) text += piece
  return new URLSearchParams(text)
}

createServer(async (request, response) => {
  const url = new URL(request.url, issuer)
  const json = (value, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  const asked = url.searchParams
  if (url.pathname === '/.well-known/openid-configuration') {
    return json({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`, authorization_response_iss_parameter_supported: true })
  }
  if (url.pathname === '/jwks') return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] })
  if (url.pathname === '/become') {
    groups = asked.get('groups').split(',')
    return json({})
  }
  if (url.pathname === '/authorize') {
    const code = randomUUID()
    codes.set(code, { nonce: asked.get('nonce'), challenge: asked.get('code_challenge'), redirect: asked.get('redirect_uri') })
    const back = new URL(asked.get('redirect_uri'))
    for (const [name, value] of [['code', code], ['state', asked.get('state')], ['iss', issuer]]) back.searchParams.set(name, value)
    return response.writeHead(303, { location: back.href }).end()
  }
  if (url.pathname === '/token') {
    const form = await body(request)
    const known = codes.get(form.get('code'))
    codes.delete(form.get('code'))
    const proven = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
    if (!known || proven !== known.challenge || form.get('redirect_uri') !== known.redirect) return json({ error: 'invalid_grant' }, 400)
    const now = Math.floor(Date.now() / 1000)
    const person = { sub: 'u-1', email: 'ann@example.com', email_verified: true, name: 'Ann Example', groups }
    return json({ access_token: 'opaque', token_type: 'Bearer', id_token: token({ iss: issuer, aud: 'chancery', nonce: known.nonce, iat: now, exp: now + 300, ...person }) })
  }
  return json({}, 404)
}).listen(port, '127.0.0.1')
